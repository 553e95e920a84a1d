"""What the layer's build takes out of botocore's data: prose, compression, what nothing calls; never what a call needs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.session import Session

from scripts.lean_models import kept_endpoints, kept_operations, lean, main, with_operations

ROOT = Path(__file__).parents[2]

DESCRIPTION = {
    "metadata": {"endpointPrefix": "ssm", "protocol": "json"},
    "documentation": "<p>Prose.</p>",
    "operations": {"Do": {"name": "Do", "documentation": "More prose.", "input": {"shape": "In"}}},
    "shapes": {
        "In": {"type": "structure", "members": {"documentation": {"shape": "Text", "documentation": "x"}}},
        "Text": {"type": "string"},
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


KEPT = kept_operations((ROOT / "layers/dependencies/botocore-operations.txt").read_text())


@pytest.mark.parametrize("service", sorted(KEPT))
def test_a_client_of_lean_data_makes_the_same_requests(tmp_path: Path, service: str) -> None:
    lean_client, whole = _client(_lean_loader(tmp_path, service), service), _client(Loader(), service)
    assert lean_client.meta.endpoint_url == whole.meta.endpoint_url
    own, full = lean_client.meta.service_model, whole.meta.service_model
    assert set(own.operation_names) == KEPT[service]
    for name in own.operation_names:
        mine, theirs = own.operation_model(name), full.operation_model(name)
        assert _tree(mine.input_shape) == _tree(theirs.input_shape)
        assert _tree(mine.output_shape) == _tree(theirs.output_shape)
        assert [e.name for e in mine.error_shapes] == [e.name for e in theirs.error_shapes]


def _lean_loader(folder: Path, service: str) -> Loader:
    data = Path(Loader.BUILTIN_DATA_PATH)
    for source in [*data.glob(f"{service}/**/*"), *data.glob("*.json")]:
        if source.is_file():
            copy = folder / source.relative_to(data)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    listed = folder / "operations.txt"
    listed.write_text(f"{service}: {' '.join(KEPT[service])}")
    main(folder, listed)
    listed.unlink()
    return Loader(extra_search_paths=[str(folder)], include_default_search_paths=False)


def _client(loader: Loader, service: str) -> Any:
    session = Session()
    session.register_component("data_loader", loader)
    return session.create_client(
        service, region_name="us-east-1", aws_access_key_id="t", aws_secret_access_key="t"
    )


def _tree(shape: Any, above: tuple[str, ...] = ()) -> object:
    """A shape with everything below it; one that contains itself is followed once."""
    if shape is None or shape.name in above:
        return shape and shape.name
    below: dict[str, Any] = {}
    if shape.type_name == "structure":
        below = shape.members
    elif shape.type_name == "list":
        below = {"of": shape.member}
    elif shape.type_name == "map":
        below = {"key": shape.key, "value": shape.value}
    path = (*above, shape.name)
    return shape.name, shape.type_name, shape.metadata, {k: _tree(v, path) for k, v in below.items()}


def test_an_operation_that_the_service_does_not_have_stops_the_build() -> None:
    with pytest.raises(KeyError, match="Undo"):
        with_operations(DESCRIPTION, frozenset({"Undo"}))


def test_shapes_that_no_kept_operation_reaches_go() -> None:
    description = {
        "operations": {
            "Keep": {
                "name": "Keep",
                "input": {"shape": "In"},
                "errors": [{"shape": "Full"}],
            },
            "Drop": {"name": "Drop", "input": {"shape": "Other"}},
        },
        "shapes": {
            "In": {"type": "structure", "members": {"shape": {"shape": "Again"}}},
            "Again": {"type": "list", "member": {"shape": "In"}},
            "Full": {"type": "structure", "members": {}},
            "Other": {"type": "string"},
        },
    }
    kept = with_operations(description, frozenset({"Keep"}))
    assert list(kept["operations"]) == ["Keep"]
    assert list(kept["shapes"]) == ["In", "Again", "Full"]


@pytest.mark.parametrize("line", ["ssm", "ssm:", "ssm: A\nssm: B"])
def test_a_line_that_is_no_list_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="write each service once"):
        kept_operations(f"# a comment\n{line}\n")


def test_what_was_compressed_is_plain_and_older_versions_go(tmp_path: Path) -> None:
    folder = tmp_path / "ssm/2014-11-06"
    folder.mkdir(parents=True)
    (tmp_path / "ssm/2011-01-01").mkdir()
    (folder / "service-2.json.gz").write_bytes(gzip.compress(json.dumps(DESCRIPTION).encode()))
    (tmp_path / "endpoints.json").write_text('{"partitions": []}')
    listed = tmp_path / "operations.txt"
    listed.write_text("ssm: Do")
    main(tmp_path, listed)
    assert [p.name for p in folder.iterdir()] == ["service-2.json"]
    assert [p.name for p in (tmp_path / "ssm").iterdir()] == ["2014-11-06"]
