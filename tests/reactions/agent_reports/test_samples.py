"""The samples of events/agent_reports are what the agents' code makes, and tell one story."""

import json
from typing import Any

import pytest

from proctor.domain.agent_protocol import Role
from proctor.domain.agents import AgentState
from tests.fakes.agent_events import as_text, samples
from tests.fakes.agent_world import AgentWorld
from tests.template.samples import EVENTS

FOLDER = EVENTS / "agent_reports"
BY_HAND = {"sweep", "policy_changed", "manual", "manual_approve_key"}
STORY = [name for name in samples() if name != "sqs_batch"]


def load(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def test_every_file_is_made_here_or_by_hand() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == samples().keys() | BY_HAND


@pytest.mark.parametrize("name", samples())
def test_a_sample_is_what_the_agent_would_send(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == as_text(samples()[name])


def world() -> AgentWorld:
    made = AgentWorld()
    made.nodes.launch("i-0c0c0c0c0c0c0c0c0", "ip-10-1-0-1", group="controller-machine")
    made.nodes.launch("i-0123456789abcdef0", "ip-10-1-0-7")
    return made


def test_the_story_ends_as_it_should() -> None:
    here = world()
    for name in STORY:
        assert here.batch(load(name)["Records"]) == [], name

    assert {key: row["state"] for key, row in here.observed.section("partitions").items()} == {
        "dev": "UP",
        "gpu": "DOWN",
    }
    assert {key: row["reason"] for key, row in here.observed.section("jobs").items()} == {
        "4712": "PartitionDown"
    }
    assert list(here.observed.section("usage")) == ["20260901T09|physics|gpu"]
    assert here.observed.section("heartbeat")["i-0c0c0c0c0c0c0c0c0"]["slurm_read_at"] is not None
    assert here.agents.rows["alpha", "i-0123456789abcdef0"].state is AgentState.DISPUTED
    assert {n: c for n, c in here.telemetry.counts.items() if n.startswith("ReportDropped")} == {
        "ReportDropped": 2,
        "ReportDroppedForged": 1,
        "ReportDroppedReplayed": 1,
    }
    assert sorted(notice.headline for notice in here.operators.published) == [
        "Proctor: 1 hold(s) on alpha were undone",
        "Proctor: two keys claim one agent on alpha",
    ]

    (outcome,) = here.manual(**load("manual_approve_key"))
    assert outcome["outcome"] == "applied"


def test_the_batch_leaves_nothing_in_the_queue() -> None:
    here = world()
    for name in ("controller_enrolment", "node_enrolment"):
        here.batch(load(name)["Records"])
    assert here.batch(load("sqs_batch")["Records"]) == []
    assert here.telemetry.counts["ReportApplied"] == 2
    assert here.telemetry.counts["ReportDroppedMalformed"] == 1


def test_the_operators_question_is_harmless() -> None:
    here = world()
    here.batch(load("node_enrolment")["Records"])
    (outcome,) = here.manual(**load("manual"))
    assert (outcome["reason"], outcome["outcome"]) == ("enrolled", "none")


@pytest.mark.parametrize("role", list(Role))
def test_samples_speak_of_both_roles(role: Role) -> None:
    assert any(name.startswith(role.value) for name in STORY)
