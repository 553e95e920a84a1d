"""One local AWS and one deployed stack for the whole run; its figures are printed last."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from proctor.domain.agent_protocol import Role
from proctor_local.control import LocalAwsClient, running, wait_until
from proctor_local.deploy import deploy
from proctor_local.deployed import ROOT, DeployedStack, seed_sender
from proctor_local.identities import Identities
from tests.e2e import directory, money
from tests.e2e.agents import Agents
from tests.e2e.figures import FIGURES, contention
from tests.e2e.scenarios import SCENARIOS
from tests.e2e.statements import listed_in_docs, of_the_template
from tests.e2e.world import World

EMULATOR = ROOT / ".emulator" / "bin" / "python"
TEMPLATE = ROOT / ".aws-sam-local" / "build" / "template.yaml"
_NODE_ROLES = {Role.CONTROLLER: "HyperPodController", Role.NODE: "HyperPodNodes"}
_NOTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "iam:*", "Resource": "*"}]}
_PASSED: set[str] = set()


@pytest.fixture(scope="session")
def local() -> Iterator[LocalAwsClient]:
    for needed in (EMULATOR, TEMPLATE):
        if not needed.exists():
            pytest.fail(f"{needed} is missing: run `make e2e`, which makes it")
    with running(EMULATOR) as client:
        yield client


@pytest.fixture(scope="session")
def world(local: LocalAwsClient) -> World:
    """The stack as a team would have it: deployed unmodified, people loaded, policies in force."""
    before, began = contention(), time.monotonic()
    local.settings(
        trail_delay_seconds=0.0,
        parameter_event_delay_seconds=0.0,
        calls_per_second={},
        connecting_seconds=0.05,
        terminating_seconds=0.1,
    )
    clusters = {name: local.seed_cluster(name, groups) for name, groups in directory.CLUSTERS.items()}
    seed_sender(local, directory.SENDER)
    roles = {role: Identities(local).role(name, _NOTHING) for role, name in _NODE_ROLES.items()}
    more = ",".join(name for name in clusters if name != directory.ALPHA)
    parameters = {
        "ClusterName": directory.ALPHA,
        "MoreClusterNames": more,
        "ApplyActions": "true",
        "Sender": directory.SENDER,
        "ControllerRoleArn": roles[Role.CONTROLLER],
        "NodeRoleArn": roles[Role.NODE],
    }
    stack = DeployedStack(local, "proctor", deploy(local, TEMPLATE, "proctor", parameters))
    agents = Agents(stack, roles, clusters)
    found = World(stack, clusters, stack.role_arn.rsplit("/", 1)[-1], *stack.listen(), agents)
    _load(found)
    first_reaction(found)
    FIGURES["warm_start_seconds"] = time.monotonic() - began
    FIGURES["warm_start_contention"] = max(before, contention())
    _begin_slurm_side(found)
    return found


def _begin_slurm_side(world: World) -> None:
    """Agents enrol and report, money is defined."""
    for role, name in _NODE_ROLES.items():
        policy = world.stack.outputs[f"{'Controller' if role is Role.CONTROLLER else 'Node'}AgentPolicyArn"]
        world.local.aws().query("iam", "AttachRolePolicy", RoleName=name, PolicyArn=policy)
    world.reports.put_in_force(f"/proctor/{directory.ALPHA}/agent_reports", directory.AGENTS_POLICY)
    world.agents.begin()
    money.begin(world.holds)


def _load(world: World) -> None:
    stack = world.stack
    people = Path(world.local.workers()["workspace"]) / "people.jsonl"
    people.write_text(directory.people_lines(), encoding="utf-8")
    stack.proctor("people", "load", str(people))
    grant = ("--max-sessions", "5", "--until", "8h", "--justification", "paper deadline")
    stack.proctor("exempt", "exempt000", *grant)
    versions = {name: stack.put_policy(name, policy) for name, policy in directory.POLICIES.items()}
    for cluster, version in versions.items():
        probe = partial(is_in_force, stack, cluster, version)
        wait_until(probe, 20, what=f"the policy of {cluster} in force")
    stack.recycle()


def is_in_force(stack: DeployedStack, cluster: str, version: int) -> bool:
    return stack.version_in_force(cluster) == version


def first_reaction(world: World) -> None:
    """The first session over the cap ends."""
    *_, newest = world.starts(world.someone(), 4)
    world.expect_ended(newest)
    world.leave()


@pytest.fixture(scope="session", autouse=True)
def silent_breach(request: pytest.FixtureRequest) -> float:
    """Early in the run, a session over the cap without an event, ended by the sweep; when that was."""
    if not any("world" in getattr(item, "fixturenames", ()) for item in request.session.items):
        return 0.0
    world: World = request.getfixturevalue("world")
    world.sweep()
    ada = world.someone()
    world.starts(ada, 3)
    world.settle()
    world.local.settings(lose_next_records=1)
    newest = world.start(ada)
    world.stack.sweep()
    world.expect_ended(newest)
    world.settle()
    world.leave()
    return time.monotonic()


@pytest.fixture(autouse=True)
def _leave_nothing(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "world" in request.fixturenames:
        request.getfixturevalue("world").leave()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:
        _PASSED.add(report.nodeid)


def pytest_unconfigure(config: pytest.Config) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not _PASSED or reporter is None:
        return
    caught = sum("test_a_statement_taken_away_is_missed" in name for name in _PASSED)
    figures = " ".join(f"{name}={value:.2f}" for name, value in sorted(FIGURES.items()))
    reporter.write_line(f"{figures} catalogue={len(SCENARIOS)} statements_listed={len(listed_in_docs())}")
    reporter.write_line(
        f"scenarios={len(_PASSED) - caught} statements={len(of_the_template())} mutants_caught={caught}"
    )
