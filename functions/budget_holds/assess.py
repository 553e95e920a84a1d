"""One cluster's budgets, judged: the part of the decision that also tells the observer whom it may have to look up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from budget_holds.allocations import allocation_numbers
from budget_holds.aws_numbers import aws_budget
from budget_holds.facts import Finding, Unknown
from budget_holds.policy import Rule
from budget_holds.snapshot import ClusterView, Situation
from budget_holds.states import Standing, stand
from budget_holds.targets import Targets, targets_of
from proctor.domain.decision import Mode, lowest
from proctor.domain.slurm_state import AccountTree
from proctor.domain.spend import Books, JobIndex, Rates, UsageIndex

NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """Standings of all budgets of a cluster, and the targets of those that hold (by budget name).

    `waiting` maps a login name to the ids of its pending jobs.
    """

    view: ClusterView
    bound: Mode
    tree: AccountTree
    standings: tuple[Standing, ...]
    targets: Mapping[str, Targets]
    waiting: Mapping[str, list[str]]

    def mode_of(self, situation: Situation, rule: Rule) -> Mode:
        """How far a rule may go for one budget."""
        return lowest(self.view.policy.policy.mode_of(rule, self.bound), situation.budget.mode)

    def holding(self, *, is_rehearsed: bool) -> list[Standing]:
        """Budgets that hold: for real, or those whose own mode is below apply."""
        return [
            s
            for s in self.standings
            if s.memory.is_holding and (s.situation.budget.mode is not Mode.APPLY) is is_rehearsed
        ]


def assess(view: ClusterView, now: datetime, bound: Mode) -> Assessment:
    """Judge every budget that is asked about; the others stand as remembered. Linear in budgets, usage rows and jobs."""
    tree = AccountTree(view.slurm.associations)
    policy = view.policy.policy
    rates = policy.rates or Rates()
    books = Books(tree, UsageIndex(view.slurm.usage, rates), JobIndex(view.slurm.jobs))
    standings: list[Standing] = []
    for situation in view.situations:
        if not situation.is_asked:
            standings.append(_as_remembered(situation))
            continue
        tells = lowest(policy.mode_of(Rule.NOTICE, bound), situation.budget.mode) is Mode.APPLY
        standings.append(stand(situation, find(situation, view, books, now), view, now, tells=tells))
    targets = {
        s.situation.name: targets_of(s.situation, view, tree, now) for s in standings if s.memory.is_holding
    }
    waiting: dict[str, list[str]] = {}
    for job in view.slurm.jobs:
        if job.state == "PENDING":
            waiting.setdefault(job.login_name, []).append(job.job_id)
    return Assessment(
        view=view, bound=bound, tree=tree, standings=tuple(standings), targets=targets, waiting=waiting
    )


def find(situation: Situation, view: ClusterView, books: Books, now: datetime) -> Finding:
    """The numbers of one budget. A doubt that a person has accepted for this period is none."""
    if situation.budget.allocation is not None:
        return allocation_numbers(situation, situation.budget.allocation, view, books, now)
    return aws_budget(situation, view, books, now)


def _as_remembered(situation: Situation) -> Standing:
    finding = Unknown(NOT_ASKED, "this evaluation was about another budget")
    return Standing(situation=situation, finding=finding, memory=situation.memory, reason=NOT_ASKED)
