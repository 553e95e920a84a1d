"""The lifecycle scripts on a real Slurm, below a prefix instead of `/`: twice the same, checked, and clean again."""

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.domain.agent_protocol import LimitAccount, Outcome, PartitionState, SetPartitionState
from proctor_slurm import ClusterShape, NodeGroup, SlurmStack
from tests.agent.agent_process import CLUSTER, INSTANCE_ID, AgentProcess, intent, seconds_until
from tests.agent.hold_desk import HoldDesk
from tests.agent.loopback_aws import LoopbackAws

pytestmark = pytest.mark.slurm

ROOT = Path(__file__).resolve().parents[2]
HOLD = SetPartitionState("vision", PartitionState.DOWN)


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    argv = [sys.executable, str(ROOT / "agent" / "build_agent.py"), "--output", str(folder)]
    subprocess.run(argv, check=True, capture_output=True)
    return folder / "proctor-agent.tar.gz"


class Node:
    """A node's file system below a prefix, and what scripts see as environment."""

    def __init__(self, stack: SlurmStack, aws: LoopbackAws, tarball: Path, folder: Path) -> None:
        self.prefix = folder / "root"
        self.scripts = folder / "unpacked" / "proctor-agent"
        with tarfile.open(tarball) as archive:
            archive.extractall(folder / "unpacked", filter="data")
        (self.prefix / "etc" / "proctor").mkdir(parents=True)
        kept = stack.environment
        self.environment = kept | {
            "PROCTOR_PREFIX": str(self.prefix),
            "PROCTOR_SLURM_BIN": "/usr/bin",
            "PROCTOR_SLURM_CONF": str(stack.layout.slurm_conf),
            "PROCTOR_SLURM_ETC": str(stack.layout.root),
            "PROCTOR_RESOURCE_CONFIG": str(folder / "resource_config.json"),
            "AWS_ENDPOINT_URL": aws.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        self.install_words = (
            "--cluster", CLUSTER, "--region", "us-west-2", "--table", "intents",
            "--report-queue", f"{aws.url}/1/reports", "--wakeup-queue", f"{aws.url}/1/wakeup",
            "--node", "ip-10-0-0-1", "--instance-id", INSTANCE_ID,
        )  # fmt: skip

    def run(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = ["bash", str(self.scripts / script), *words]
        return subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, timeout=100, check=False
        )

    def agent(self, *words: str) -> subprocess.CompletedProcess[str]:
        bundle = self.prefix / "opt" / "proctor-agent" / "proctor-agent.pyz"
        settings = self.prefix / "etc" / "proctor" / "agent.json"
        argv = [sys.executable, "-I", str(bundle), "--settings", str(settings), *words]
        return subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, timeout=100, check=False
        )

    def files(self) -> dict[str, tuple[int, bytes]]:
        return {
            str(path.relative_to(self.prefix)): (path.stat().st_mtime_ns, path.read_bytes())
            for path in sorted(self.prefix.rglob("*"))
            if path.is_file() and "var/lib" not in str(path)
        }


@pytest.fixture
def node(stack: SlurmStack, aws: LoopbackAws, tarball: Path, tmp_path: Path) -> Node:
    return Node(stack, aws, tarball, tmp_path)


def test_install_enrols_once_and_a_second_run_changes_nothing(node: Node, aws: LoopbackAws) -> None:
    first = node.run("install-agent.sh", "--role", "controller", *node.install_words)
    assert first.returncode == 0, first.stderr
    settings = json.loads((node.prefix / "etc/proctor/agent.json").read_text(encoding="utf-8"))
    assert (settings["role"], settings["cluster"]) == ("controller", CLUSTER)
    assert (node.prefix / "etc/proctor/agent.json").stat().st_mode & 0o777 == 0o600
    assert (node.prefix / "var/lib/proctor-agent").stat().st_mode & 0o777 == 0o700
    unit = (node.prefix / "etc/systemd/system/proctor-agent.service").read_text(encoding="utf-8")
    assert f"-I {node.prefix}/opt/proctor-agent/proctor-agent.pyz run" in unit
    assert "@" not in unit.partition("ExecStart=")[2].partition("\n")[0]
    before = node.files()
    second = node.run("install-agent.sh", "--role", "controller", *node.install_words)
    assert (second.returncode, second.stdout) == (0, "install-agent: done\n")
    assert node.files() == before
    assert len(aws.enrolled_keys()) == 1
    assert node.run("install-agent.sh", "--check").returncode == 0


def test_role_name_and_instance_come_from_hyperpods_file(node: Node, tmp_path: Path) -> None:
    instances = [
        {"InstanceName": "w-1", "CustomerIpAddress": "127.0.0.1", "InstanceId": "i-0aaaaaaaaaaaaaaaa"},
        {"InstanceName": "w-2", "CustomerIpAddress": "10.1.2.4", "InstanceId": "i-0bbbbbbbbbbbbbbbb"},
    ]
    resources = {
        "InstanceGroups": [{"Name": "w", "Instances": instances}, {"Name": "empty", "Instances": None}],
        "SlurmConfig": {"PrimaryControllerIp": "127.0.0.1", "SecondaryControllerIps": []},
    }
    (tmp_path / "resource_config.json").write_text(json.dumps(resources), encoding="utf-8")
    assert node.run("install-agent.sh", *node.install_words[:-4]).returncode == 0
    settings = json.loads((node.prefix / "etc/proctor/agent.json").read_text(encoding="utf-8"))
    assert (settings["role"], settings["node"], settings["instance_id"]) == (
        "controller", "ip-127-0-0-1", "i-0aaaaaaaaaaaaaaaa",
    )  # fmt: skip


def test_what_is_missing_is_named_and_nothing_is_written(node: Node) -> None:
    done = node.run("install-agent.sh", "--cluster", CLUSTER)
    assert done.returncode == 2
    assert "region, intents_table, report_queue_url, instance_id, role" in done.stderr
    assert not (node.prefix / "etc/proctor/agent.json").exists()
    assert node.run("install-agent.sh", "--check").returncode == 1
    assert node.run("install-agent.sh", "--surprise").returncode == 2


def test_a_changed_bundle_is_refused(node: Node) -> None:
    with (node.scripts / "proctor-agent.pyz").open("ab") as bundle:
        bundle.write(b"x")
    done = node.run("install-agent.sh", "--role", "controller", *node.install_words)
    assert done.returncode == 1
    assert "does not have the hash" in done.stderr
    assert not (node.prefix / "opt/proctor-agent").exists()


def test_uninstall_releases_first(stack: SlurmStack, node: Node, aws: LoopbackAws) -> None:
    node.run("install-agent.sh", "--role", "controller", *node.install_words)
    aws.put(intent(HOLD))
    assert node.agent("run", "--once").returncode == 0
    assert stack.run("sinfo", "-h", "-p", "vision", "-o", "%a").startswith("down")
    done = node.run("install-agent.sh", "--uninstall")
    assert done.returncode == 0, done.stderr
    assert stack.run("sinfo", "-h", "-p", "vision", "-o", "%a").startswith("up")
    assert node.files() == {}
    assert node.run("install-agent.sh", "--uninstall").stdout == "install-agent: not installed\n"


def test_an_uninstall_that_can_not_release_removes_nothing(
    stack: SlurmStack, node: Node, aws: LoopbackAws
) -> None:
    node.run("install-agent.sh", "--role", "controller", *node.install_words)
    aws.put(intent(HOLD))
    node.agent("run", "--once")
    stack.end("slurmctld")
    try:
        done = node.run("install-agent.sh", "--uninstall")
    finally:
        stack.start_slurmctld()
    assert done.returncode == 1
    assert "nothing was removed" in done.stderr
    assert (node.prefix / "opt/proctor-agent/proctor-agent.pyz").exists()


@pytest.fixture
def loose_stack() -> Iterator[SlurmStack]:
    with SlurmStack(ClusterShape(groups=(NodeGroup("nlp", 1),), enforce=())) as stack:
        stack.add_accounts(["lab1"], ["games"])
        yield stack


def test_accounting_turns_enforcement_on(loose_stack: SlurmStack, tmp_path: Path) -> None:
    stack = loose_stack
    environment = stack.environment | {
        "PROCTOR_SLURM_BIN": "/usr/bin",
        "PROCTOR_SLURM_ETC": str(stack.layout.root),
        "PROCTOR_RESTART_SLURMCTLD": "/bin/true",
    }

    def accounting(*words: str) -> subprocess.CompletedProcess[str]:
        argv = ["bash", str(ROOT / "lifecycle" / "accounting.sh"), *words]
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=100, check=False)

    orphan = stack.jobs.submit(login_name="news")
    refused = accounting("--check")
    assert refused.returncode == 1
    assert "AccountingStorageEnforce=none; limits are recorded and never bind" in refused.stderr
    assert "no association, would be refused: news" in refused.stdout
    stack.jobs.cancel(orphan)

    original = (stack.layout.root / "accounting.conf").read_text(encoding="utf-8")
    assert accounting().returncode == 0
    written = (stack.layout.root / "accounting.conf").read_text(encoding="utf-8")
    assert written.endswith("AccountingStorageEnforce=associations,limits,qos\n")
    assert accounting().returncode == 0
    assert (stack.layout.root / "accounting.conf").read_text(encoding="utf-8") == written
    stack.end("slurmctld")
    stack.start_slurmctld()
    assert accounting("--check").returncode == 0
    stack.wait_for_idle_nodes()

    assert HoldDesk(stack, tmp_path / "state").hold(LimitAccount("lab1")).outcome is Outcome.APPLIED

    assert accounting("--remove").returncode == 0
    assert (stack.layout.root / "accounting.conf").read_text(encoding="utf-8") == original


def test_rollout_brings_the_agent_to_a_live_node(stack: SlurmStack, node: Node, tarball: Path) -> None:
    argv = ["bash", str(node.scripts / "rollout.sh"), "--bundle", str(tarball), "--nodes", "ip-10-2-0-1"]
    environment = node.environment | {"PROCTOR_PYTHON": sys.executable}
    done = subprocess.run(
        [*argv, "--", *node.install_words],
        env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["ip-10-2-0-1 ok", "rollout: 1 nodes, 0 failed"]
    settings = json.loads((node.prefix / "etc/proctor/agent.json").read_text(encoding="utf-8"))
    assert settings["role"] == "node"
    failed = subprocess.run(
        [*argv, "--", "--cluster", "x"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert failed.returncode == 1
    assert "ip-10-2-0-1 FAILED install-agent: settings" in failed.stdout


def pythons() -> list[str]:
    """Every Python 3.10 to 3.12 on this machine, beside the one that runs the tests."""
    found = [sys.executable]
    for name in ("python3.10", "python3.11", "python3.12", "/usr/bin/python3"):
        path = shutil.which(name)
        words = [path or name, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"]
        if path and subprocess.run(words, check=False, capture_output=True).returncode == 0:
            found.append(path)
    return found


@pytest.mark.parametrize("python", pythons())
def test_the_bundle_acts_on_every_python_here(
    stack: SlurmStack, node: Node, aws: LoopbackAws, tmp_path: Path, python: str
) -> None:
    program = (python, "-I", str(node.scripts / "proctor-agent.pyz"))
    agent = AgentProcess(stack, aws, tmp_path, program)
    with agent:
        aws.put(intent(HOLD))
        seconds_until(lambda: "applied" in aws.outcomes("partition#vision"), 10, "applied")
        stack.run("scontrol", "update", "PartitionName=vision", "State=UP")
        seconds_until(lambda: any(report.undone for report in aws.reports()), 10, "put back")
        seconds_until(lambda: any(report.chunk for report in aws.reports()), 20, "a snapshot")
    assert agent.log_text() == ""


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_are_shellcheck_clean() -> None:
    scripts = sorted(str(path) for path in (ROOT / "lifecycle").glob("*.sh"))
    assert len(scripts) >= 3
    done = subprocess.run(
        ["/usr/bin/env", "shellcheck", *scripts], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")
