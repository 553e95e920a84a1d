"""The bundle: the same bytes every time, nothing but the standard library, a clear word to an old Python."""

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "agent" / "build_agent.py"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    subprocess.run([sys.executable, str(BUILD), "--output", str(folder)], check=True, capture_output=True)
    return folder


def test_two_builds_are_the_same_bytes(built: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(BUILD), "--output", str(tmp_path)], check=True, capture_output=True)
    for name in ("proctor-agent.pyz", "proctor-agent.pyz.sha256", "proctor-agent.tar.gz"):
        assert (built / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_the_hash_beside_it_is_its_own(built: Path) -> None:
    digest = hashlib.sha256((built / "proctor-agent.pyz").read_bytes()).hexdigest()
    assert (built / "proctor-agent.pyz.sha256").read_text(
        encoding="ascii"
    ) == f"{digest}  proctor-agent.pyz\n"


def test_it_runs_on_the_standard_library_alone(built: Path) -> None:
    argv = [sys.executable, "-I", "-S", str(built / "proctor-agent.pyz"), "--version"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env={}, cwd="/")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "1.0.0", "")


def test_it_holds_the_agent_and_the_protocol_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(built / "proctor-agent.pyz") as archive:
        names = archive.namelist()
    wanted = ("proctor_agent/", "proctor/domain/agent_protocol/")
    rest = [name for name in names if not name.startswith(wanted)]
    assert sorted(rest) == ["__main__.py", "proctor/__init__.py", "proctor/domain/__init__.py"]


def test_an_old_python_is_told(built: Path) -> None:
    with zipfile.ZipFile(built / "proctor-agent.pyz") as archive:
        main = archive.read("__main__.py").decode("ascii")
    program = f"import sys; sys.version_info = (3, 9, 18); exec({main!r})"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.returncode == 78
    assert "Python 3.10 or later is needed" in done.stderr


def test_the_tarball_has_everything_an_install_needs(built: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO((built / "proctor-agent.tar.gz").read_bytes())) as archive:
        modes = {entry.name.removeprefix("proctor-agent/"): entry.mode for entry in archive}
    assert modes == {
        "accounting.sh": 0o755,
        "install-agent.sh": 0o755,
        "proctor-agent.pyz": 0o755,
        "proctor-agent.pyz.sha256": 0o644,
        "proctor-agent.service": 0o644,
        "rollout.sh": 0o755,
    }
