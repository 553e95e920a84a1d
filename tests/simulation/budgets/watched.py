"""The stores of tests/fakes that ask a check at each write, as the effect happens."""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from proctor.domain.actions import NotifyPerson
from proctor.domain.agent_protocol import Intent, LimitAccount
from proctor.domain.claims import Claim, ClaimState
from tests.fakes.people import FakePersonNotifier
from tests.fakes.records import FakeClaimStore
from tests.fakes.slurm_side import FakeBudgetMemory, FakeIntentStore
from tests.simulation.budgets import oracle
from tests.simulation.budgets.slurm import PEOPLE, above, below
from tests.simulation.core.violation import ViolationError

if TYPE_CHECKING:
    from tests.simulation.budgets.campus import Campus

_OF_BUDGET = re.compile(r"[Bb]udget ([a-z0-9-]+)")
type Key = tuple[str, str, str]


class _Watched:
    """Knows the campus; what a check raises ends the run."""

    campus: "Campus"

    def broken(self, invariant: str, text: str, *about: str) -> None:
        """End the run."""
        self.campus.scheduler.fail(ViolationError(invariant, text, about))


class WatchedIntents(FakeIntentStore, _Watched):
    """Intents: by whom, when, about whom."""

    def put(self, intent: Intent, expected_rev: int) -> None:
        super().put(intent, expected_rev)
        evaluation, scenario = self.campus.acting, self.campus.scenario
        assert evaluation is not None
        what = f"{intent.sk} rev {intent.rev} {'held' if intent.is_held else 'released'}"
        self.campus.story.tell(evaluation.name, f"writes {what}")
        for name, span in (("pause", scenario.pause), ("dry-run", scenario.dry_run)):
            if span and span[0] < evaluation.began - 61 and self.campus.scheduler.now < span[1]:
                self.broken(name, f"{what} in a {name}", intent.sk)
        if isinstance(intent.verb, LimitAccount):
            check = self._account if intent.is_held else self._release
            check(intent.verb.account, what, evaluation.began)

    def _release(self, account: str, what: str, began: float) -> None:
        """Nobody lets go of what a budget has held since before he looked."""
        campus = self.campus
        if campus.scenario.exemption is not None:
            return
        for name, raw in campus.scenario.budgets.items():
            is_old = campus.memory.changed_at.get(name, began) < began
            if raw.get("account") == account and is_old and campus.memory.get(f"alpha#{name}").is_holding:
                self.broken("lost hold", f"{what} although {name} holds", account)

    def _account(self, account: str, what: str, began: float) -> None:
        governed = {
            name
            for b in self.campus.scenario.budgets.values()
            if "account" in b
            for name in below(b["account"])
        }
        if account not in governed:
            self.broken("innocent", f"{what}: no budget is about {account}", account)
        exemption = self.campus.scenario.exemption
        if exemption is None:
            return
        start, end, kind, name = exemption
        exempt = {name} if kind == "account" else {a for a, people in PEOPLE.items() if name in people}
        stopped = {one for one in below(account) if exempt & set(above(one))}
        if (
            start < began
            and self.campus.scheduler.now < end
            and stopped
            and not self.campus.scenario.excursions
        ):
            self.broken("exempt", f"{what} although {', '.join(sorted(exempt))} is exempt", account)


class WatchedMemory(FakeBudgetMemory, _Watched):
    """Memories; counts how often each budget began or ceased to hold."""

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        before = self.get(subject)
        super().swap(subject, data, expected_rev)
        after, name = self.get(subject), subject.partition("#")[2]
        if before.is_holding is not after.is_holding:
            self.transitions[name] = self.transitions.get(name, 0) + 1
            self.changed_at[name] = self.campus.scheduler.now
        states = [f"{m.state}{' holding' if m.is_holding else ''}" for m in (before, after)]
        if states[0] != states[1]:
            why = after.why.value if after.why else "-"
            self.campus.story.tell(f"budget {name}", f"{states[0]} → {states[1]} ({why})")

    @property
    def transitions(self) -> dict[str, int]:
        """Budget → how often it changed between holding and not."""
        found: dict[str, int] = self.__dict__.setdefault("_transitions", {})
        return found

    @property
    def changed_at(self) -> dict[str, float]:
        """Budget → when that was last."""
        found: dict[str, float] = self.__dict__.setdefault("_changed_at", {})
        return found


@dataclass
class WatchedMail(FakePersonNotifier, _Watched):
    """Mails: none twice about one cause once its sender has settled it."""

    marked: dict[tuple[str, str], Key] = field(default_factory=dict)
    settled: Counter[Key] = field(default_factory=Counter)
    at: list[tuple[float, str, str]] = field(default_factory=list)

    def send(self, email: str, headline: str, text: str) -> bool:
        evaluation = self.campus.acting
        assert evaluation is not None
        key = (email, headline, self._cause(headline, evaluation.now))
        if self.settled[key]:
            self.broken("3 once", f"{email} is told twice: {headline} ({key[2]})", headline)
        self.marked[email, headline] = key
        self.at.append((self.campus.scheduler.now, email, headline))
        self.campus.story.tell("mail", f"to {email}: {headline}")
        return super().send(email, headline, text)

    def _cause(self, headline: str, now: datetime) -> str:
        found = _OF_BUDGET.search(headline)
        assert found is not None, headline
        name = found[1]
        if "%" not in headline and "limit" not in headline:
            return str(self.campus.memory.transitions.get(name, 0))
        raw = self.campus.raw_budget(name)
        unit = self.campus.billing.bills[raw["aws_budget"]].unit if "aws_budget" in raw else ""
        return str(oracle.period_of(raw, now, unit))


class WatchedClaims(FakeClaimStore, _Watched):
    """Claims; a settled one closes its mail."""

    def settle(self, claim: Claim, state: ClaimState, detail: str, now: datetime) -> None:
        super().settle(claim, state, detail, now)
        action = self.audits[str(claim.key)].verdict.action
        if state is ClaimState.APPLIED and isinstance(action, NotifyPerson) and action.email:
            key = self.campus.mail.marked.get((action.email, action.headline))
            if key is not None:
                self.campus.mail.settled[key] += 1
