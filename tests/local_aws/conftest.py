"""One launcher for the whole run; each test gets it wiped clean, or the deployed test stack."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor_local.control import LocalAwsClient, PersonClient, running
from proctor_local.deploy import deploy
from proctor_local.identities import Identities

HERE = Path(__file__).resolve().parent
EMULATOR_PYTHON = HERE.parents[1] / ".emulator" / "bin" / "python"
QUICK = {
    "trail_delay_seconds": 0.02,
    "parameter_event_delay_seconds": 0.02,
    "terminating_seconds": 0.1,
    "connecting_seconds": 0.05,
}


@pytest.fixture(scope="session")
def launched() -> Iterator[LocalAwsClient]:
    if not EMULATOR_PYTHON.exists():
        pytest.fail(f"{EMULATOR_PYTHON} is missing: run `make emulator-env`")
    with running(EMULATOR_PYTHON) as client:
        yield client


@pytest.fixture
def local(launched: LocalAwsClient) -> LocalAwsClient:
    """The local AWS, empty, with short delays."""
    launched.reset()
    launched.settings(**QUICK, calls_per_second={})
    return launched


@pytest.fixture
def identities(local: LocalAwsClient) -> Identities:
    return Identities(local)


@pytest.fixture
def target(local: LocalAwsClient) -> str:
    """A login node of a seeded cluster."""
    cluster = local.seed_cluster("demo", {"login": {"count": 1}}, cluster_id="abcdef012345")
    return str(cluster["nodes"][0]["target"])


@pytest.fixture
def researcher(identities: Identities) -> PersonClient:
    role = identities.permission_set("HyperPodUser")
    return identities.person("a.researcher@uni.example", role, run_as="aresearcher")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test stack as ``sam build`` would leave it: template, code folder, layer folder."""
    folder = tmp_path_factory.mktemp("built")
    shutil.copy(HERE / "stack" / "template.yaml", folder)
    shutil.copytree(HERE / "stack" / "handlers", folder / "code" / "handlers")
    (folder / "layer" / "python").mkdir(parents=True)
    (folder / "layer" / "python" / "layered.py").write_text("PLACE = __file__\n")
    return folder / "template.yaml"


@pytest.fixture(scope="module")
def stack(launched: LocalAwsClient, built: Path) -> dict[str, str]:
    """The test stack, freshly deployed once for a module; its outputs."""
    launched.reset()
    launched.settings(**QUICK, calls_per_second={})
    return deploy(launched, built, "test", {"ApplyActions": "true"})
