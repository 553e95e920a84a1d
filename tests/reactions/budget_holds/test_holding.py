"""The whole way: spend crosses marks, people are told, work is held and let go."""

import json
from datetime import UTC, datetime, timedelta

from proctor.domain.budgets_exemptions import BudgetExemption, ExemptKind
from proctor.domain.budgets_memory import Level
from proctor.domain.decision import Mode, OutcomeStatus
from tests.fakes.budget_values import NOW, POLICY, job, reading, usd
from tests.fakes.budget_world import SWEEP_EVENT, BudgetWorld
from tests.reactions.budget_holds.deliveries import LAB1, USAGE, lab1, mails, message, sample


def test_a_department_crosses_80_and_100_percent_and_a_new_month_releases_it() -> None:
    world = lab1()
    world.spend("lab1", 8)
    assert world.sweep() == []
    assert mails(world, "ada") == ["Budget lab1: 80 % is spent"]
    assert world.intents.held() == set()

    world.see(jobs=(job("17"),))
    world.spend("lab1-vision", 2)
    world.advance(minutes=10)
    assert world.deliver(USAGE) == []
    assert world.intents.held() == {"account#lab1"}
    assert world.wake.woken == ["alpha"]
    assert mails(world, "bob") == ["Your jobs on alpha wait: budget lab1"]
    text = next(m.text for m in world.mail.sent if m.email == "bob@uni.example")
    assert "1 of your jobs wait (17)" in text
    assert "100.0 % of 1,000.00 USD" in text
    assert "2026-10-01 00:00 UTC" in text
    assert mails(world, "dan") == []

    world.let_agent_work()
    world.advance(to=datetime(2026, 10, 1, 0, 1, tzinfo=UTC))
    assert world.sweep() == []
    assert world.intents.held() == set()
    assert world.remembered("lab1").level is Level.OK
    assert "Budget lab1: its hold is released" in mails(world, "ada")


def test_everything_is_told_once_however_often_it_is_delivered() -> None:
    world = lab1()
    world.spend("lab1", 10)
    for _ in range(3):
        assert world.deliver(USAGE, USAGE, SWEEP_EVENT, SWEEP_EVENT) == []
        world.advance(minutes=5)
        world.let_agent_work()
    assert len(world.mail.sent) == len({(m.email, m.headline) for m in world.mail.sent})
    assert len(world.intents.written) == 1
    assert len(world.headlines()) == len(set(world.headlines()))


def test_a_duplicate_batch_of_real_messages_decides_once() -> None:
    world = BudgetWorld()
    world.define("cluster", {"aws_budget": "hyperpod-alpha", "owner": "ada"})
    world.bill(reading(10000, name="hyperpod-alpha"))
    batch = sample("sqs_batch.json")
    events = [json.loads(r["body"]) for r in batch["Records"]]
    assert world.deliver(*events) == []
    assert world.intents.held() == {"account#lab1", "account#lab2"}
    assert len(world.intents.written) == 2
    assert mails(world, "ada").count("Budget cluster: new jobs are held") == 1


def test_the_message_is_a_hint_only() -> None:
    """A message that says "exceeded" about a budget that isn't: nothing happens."""
    world = BudgetWorld()
    world.define("cluster", {"aws_budget": "hyperpod-alpha"})
    world.bill(reading(100, name="hyperpod-alpha"))
    assert world.deliver(sample("budgets_actual.json")) == []
    assert (world.intents.written, world.operators.published) == ([], [])


def test_a_message_about_a_budget_that_nobody_defined_is_not_ours() -> None:
    world = lab1()
    assert world.deliver(message("somebody-elses")) == []
    verdict = world.verdicts.latest["aws_budget#123456789012#somebody-elses"].verdict
    assert (verdict.reason, verdict.action) == ("not_ours", None)
    assert world.ledger.reads == []


def test_the_message_of_a_bill_wakes_its_allocations() -> None:
    world = BudgetWorld()
    world.define("lab1", {**LAB1, "allocation": {"limit": 1000, "bill": "hyperpod-alpha"}})
    world.spend("lab1", 10)
    world.bill(reading(1000, name="hyperpod-alpha"))
    world.deliver(message("hyperpod-alpha"))
    assert world.intents.held() == {"account#lab1"}


def test_dry_run_takes_the_same_branch_and_does_nothing() -> None:
    for bound, policy in [(Mode.DRY_RUN, POLICY), (Mode.APPLY, {**POLICY, "mode": "dry_run"})]:
        world = lab1(bound=bound, policy=policy)
        world.spend("lab1", 11)
        assert world.sweep() == []
        outcome = world.verdicts.latest["account#alpha#lab1"]
        assert (outcome.status, outcome.verdict.reason) == (OutcomeStatus.DRY_RUN, "hold_written")
        assert (world.intents.written, world.mail.sent, world.claims.written) == ([], [], [])


def test_going_from_dry_run_to_apply_holds_and_tells_what_was_only_recorded() -> None:
    world = lab1(policy={**POLICY, "mode": "dry_run"})
    world.spend("lab1", 11)
    world.sweep()
    world.advance(hours=30)
    world.write_policy(POLICY)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}
    assert "Budget lab1: 90 % is spent" in mails(world, "ada")
    assert mails(world, "bob") == ["Your jobs on alpha wait: budget lab1"]


def test_an_exemption_opens_its_account_and_its_end_closes_it() -> None:
    world = lab1()
    world.exemptions.rows.append(
        BudgetExemption(
            kind=ExemptKind.PERSON,
            name="bob",
            ends_at=NOW + timedelta(hours=1),
            granted_by="ops",
            justification="thesis",
        )
    )
    world.spend("lab1", 11)
    world.sweep()
    assert world.intents.held() == {"account#lab1-nlp"}
    assert mails(world, "bob") == []
    world.let_agent_work()
    world.advance(hours=1)
    world.sweep()
    assert world.intents.held() == {"account#lab1"}


def test_a_raised_limit_releases_by_the_next_sweep() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    world.define("lab1", {**LAB1, "allocation": {"limit": 1200}})
    world.advance(minutes=10)
    world.sweep()
    assert world.intents.held() == set()
    assert "Budget lab1: its hold is released" in mails(world, "ada")


def test_the_hold_names_bill_and_limit_in_the_verdict() -> None:
    world = lab1()
    world.spend("lab1", 11)
    world.sweep()
    text = world.verdict("lab1").verdict.text
    for part in ("HELD", "110.0 % of 1,000.00 USD", "settled", "in flight", "committed", "dev: closed"):
        assert part in text
    assert usd(1000).currency in text


def test_sweeps_that_ask_again_for_a_notice_write_nothing_about_it() -> None:
    """Within the hour each notice is asked for again; its record stays what it was: applied."""
    world = lab1()
    world.spend("lab1", 10)
    world.see(jobs=(job("17"),))
    world.sweep()
    told = {s for s in world.verdicts.latest if s.startswith(("notice#", "operators#"))}
    assert len(told) > 3
    for _ in range(3):
        world.let_agent_work()
        world.advance(minutes=10)
        world.taps.journal.clear()
        world.sweep()
    assert {s for s in told if world.verdicts.history.get(s)} == set()
    assert {world.verdicts.latest[s].status for s in told} == {OutcomeStatus.APPLIED}
    assert world.taps.journal.count("verdicts.record") <= 2
