"""What the layer's build takes out of botocore's data: prose, compression, unused endpoints; nothing that a call needs."""

import gzip
import json
from pathlib import Path

import pytest
from botocore.loaders import Loader
from botocore.session import Session
from botocore.stub import Stubber

from scripts.lean_models import kept_endpoints, lean, main

DESCRIPTION = {
    "metadata": {"endpointPrefix": "ssm", "protocol": "json"},
    "documentation": "<p>Prose.</p>",
    "operations": {"Do": {"name": "Do", "documentation": "More prose.", "input": {"shape": "In"}}},
    "shapes": {
        "In": {"type": "structure", "members": {"documentation": {"shape": "Text", "documentation": "x"}}}
    },
}


def test_prose_goes_and_a_member_named_documentation_stays() -> None:
    lean_one = lean(DESCRIPTION)
    assert "documentation" not in lean_one
    assert lean_one["operations"]["Do"] == {"name": "Do", "input": {"shape": "In"}}
    assert lean_one["shapes"]["In"]["members"] == {"documentation": {"shape": "Text"}}


def test_endpoints_of_services_that_are_not_there_go() -> None:
    endpoints = {
        "partitions": [{"partition": "aws", "regions": {"r": {}}, "services": {"ssm": {"a": 1}, "ec2": {}}}]
    }
    (partition,) = kept_endpoints(endpoints, {"ssm"})["partitions"]
    assert partition == {"partition": "aws", "regions": {"r": {}}, "services": {"ssm": {"a": 1}}}


@pytest.mark.parametrize("service", ["ssm", "dynamodb", "sesv2", "sns"])
def test_a_client_of_lean_data_makes_the_same_requests(tmp_path: Path, service: str) -> None:
    data = Path(Loader.BUILTIN_DATA_PATH)
    for source in [*data.glob(f"{service}/**/*"), *data.glob("*.json")]:
        if source.is_file():
            copy = tmp_path / source.relative_to(data)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    main(tmp_path)
    session = Session()
    session.register_component(
        "data_loader", Loader(extra_search_paths=[str(tmp_path)], include_default_search_paths=False)
    )
    client = session.create_client(
        service, region_name="eu-west-1", aws_access_key_id="t", aws_secret_access_key="t"
    )
    whole = Session().create_client(
        service, region_name="eu-west-1", aws_access_key_id="t", aws_secret_access_key="t"
    )
    assert client.meta.endpoint_url == whole.meta.endpoint_url
    assert client.meta.service_model.operation_names == whole.meta.service_model.operation_names
    with Stubber(client):
        for name in whole.meta.service_model.operation_names:
            shape = whole.meta.service_model.operation_model(name).input_shape
            own = client.meta.service_model.operation_model(name).input_shape
            assert (shape is None) == (own is None)
            assert shape is None or own is None or list(shape.members) == list(own.members)


def test_what_was_compressed_is_plain(tmp_path: Path) -> None:
    folder = tmp_path / "ssm/2014-11-06"
    folder.mkdir(parents=True)
    (folder / "service-2.json.gz").write_bytes(gzip.compress(json.dumps(DESCRIPTION).encode()))
    (tmp_path / "endpoints.json").write_text('{"partitions": []}')
    main(tmp_path)
    assert [p.name for p in folder.iterdir()] == ["service-2.json"]
