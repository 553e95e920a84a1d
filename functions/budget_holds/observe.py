"""Trigger → Snapshot for budget_holds. Reads only.

Calls per cluster: one query of intents, of memories and of each observed section; two calls per AWS budget that is asked about;
one read of the directory for each person that may have to be told.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from budget_holds.assess import assess
from budget_holds.definition import BudgetDefinition
from budget_holds.gone import undefined
from budget_holds.holds import all_wanted
from budget_holds.notices import begins_to_hold, people_to_tell
from budget_holds.orders import Asked, is_meant, refuse_ambiguous, refuse_odd_ends, unknown_requests
from budget_holds.policy import MOST_LAG_HOURS, BudgetHoldsPolicy
from budget_holds.snapshot import ClusterView, Order, Path, Situation, Snapshot
from budget_holds.trigger import BudgetMessage, Manual, ObservedChange, Trigger
from proctor.domain.budgets_memory import BudgetMemory, memory_subject
from proctor.domain.budgets_reading import BudgetAnswer, BudgetUnread
from proctor.domain.decision import Mode, RunContext
from proctor.domain.policy import PolicyDraft, PolicyInForce
from proctor.domain.slurm_state import SlurmView
from proctor.domain.triggers import NoEvent, PolicyChanged, Sweep
from proctor.ports import PauseSwitch, PeopleDirectory, PolicyStore
from proctor.ports.budgets import BudgetDefinitions, BudgetExemptionStore, BudgetLedger, BudgetMemoryStore
from proctor.ports.slurm import IntentStore, SlurmState

_AWS_IS_BEHIND = timedelta(hours=MOST_LAG_HOURS)

type _Wants = Callable[[str, str, BudgetDefinition], bool]
"""(cluster, budget, definition) → whether this evaluation is about it."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything budget_holds reads. `account_id` is the account whose AWS budgets `ledger` reads.

    `pause`: None where nobody is told of holds.
    """

    ledger: BudgetLedger
    slurm: SlurmState
    intents: IntentStore
    memory: BudgetMemoryStore
    policies: PolicyStore[BudgetHoldsPolicy]
    definitions: BudgetDefinitions[BudgetDefinition]
    exemptions: BudgetExemptionStore
    people: PeopleDirectory
    governed: tuple[str, ...]
    account_id: str
    pause: PauseSwitch | None = None


class Observer:
    """Observes for one batch: a cluster's Slurm is read once, and again only after a lost race."""

    def __init__(self, ports: Ports) -> None:
        """Take the ports; nothing is read yet."""
        self._ports = ports
        self._slurm: dict[tuple[str, datetime | None], SlurmView] = {}

    def __call__(self, trigger: Trigger, context: RunContext) -> Snapshot:
        """Read what this trigger needs."""
        if context.attempt:
            self._slurm = {}
        match trigger:
            case NoEvent():
                return Snapshot(now=context.now, path=Path.EVENT, bound=context.bound)
            case Sweep():
                return self._sweep(context)
            case PolicyChanged():
                drafts = self._drafts(trigger)
                return Snapshot(now=context.now, path=Path.EVENT, bound=context.bound, drafts=drafts)
            case ObservedChange():
                return self._snapshot(context, Path.EVENT, _in_cluster(trigger.cluster), [trigger.cluster])
            case BudgetMessage():
                return self._message(trigger, context)
            case Manual():
                return self._manual(trigger, context)

    def _sweep(self, context: RunContext) -> Snapshot:
        drafts = [draft for cluster in self._ports.governed for draft in self._all_drafts(cluster)]
        snapshot = self._snapshot(context, Path.SWEEP, lambda *_: True, self._ports.governed)
        return replace(snapshot, drafts=tuple(drafts))

    def _message(self, message: BudgetMessage, context: RunContext) -> Snapshot:
        """The AWS budget itself, and allocations whose bill it is."""
        subject = f"aws_budget#{message.account_id}#{message.budget_name}"

        def wants(_cluster: str, _name: str, budget: BudgetDefinition) -> bool:
            account_id = budget.aws_account_id or self._ports.account_id
            bill = budget.allocation.bill if budget.allocation else None
            return account_id == message.account_id and message.budget_name in {budget.aws_budget, bill}

        found = self._snapshot(context, Path.EVENT, wants, self._ports.governed, afresh=True)
        if any(s.is_asked for view in found.clusters for s in view.situations):
            return found
        return replace(
            found, clusters=(), not_ours=((subject, "no budget definition names this AWS budget"),)
        )

    def _manual(self, manual: Manual, context: RunContext) -> Snapshot:
        refuse_odd_ends(manual.orders, context.now)
        request = Asked(manual.scope_kind, manual.scope_id, manual.orders)
        orders = {(o.cluster, o.budget): o for o in manual.orders}

        def wants(cluster: str, name: str, budget: BudgetDefinition) -> bool:
            return is_meant(request, cluster, name, budget)

        found = self._snapshot(context, Path.MANUAL, wants, self._ports.governed, orders, afresh=True)
        asked = [s for view in found.clusters for s in view.situations if s.is_asked]
        refuse_ambiguous(manual.orders, asked)
        return replace(
            found,
            not_ours=tuple(
                (subject, "no budget definition in force is meant by that")
                for subject in unknown_requests(request, asked)
            ),
            requested_by=manual.requested_by,
            is_rehearsal=context.bound is not Mode.APPLY,
        )

    def _snapshot(
        self,
        context: RunContext,
        path: Path,
        wants: _Wants,
        clusters: Iterable[str],
        orders: Mapping[tuple[str | None, str], Order] | None = None,
        *,
        afresh: bool = False,
    ) -> Snapshot:
        policies = self._ports.policies.in_force()
        definitions = self._ports.definitions.in_force()
        named = [cluster for cluster in clusters if cluster in self._ports.governed]
        views = [
            self._view(policies[c], definitions.get(c, {}), wants, orders or {}, context, afresh=afresh)
            for c in named
            if c in policies
        ]
        snapshot = Snapshot(
            now=context.now,
            path=path,
            bound=context.bound,
            clusters=tuple(views),
            ungoverned=tuple(c for c in named if c not in policies),
        )
        return self._with_whom_to_tell(snapshot)

    def _view(
        self,
        policy: PolicyInForce[BudgetHoldsPolicy],
        definitions: Mapping[str, PolicyInForce[BudgetDefinition] | str],
        wants: _Wants,
        orders: Mapping[tuple[str | None, str], Order],
        context: RunContext,
        *,
        afresh: bool,
    ) -> ClusterView:
        cluster = policy.cluster
        memories = self._ports.memory.all(cluster)
        usable = {n: d for n, d in definitions.items() if not isinstance(d, str)}
        unusable = {n: d for n, d in definitions.items() if isinstance(d, str)}
        situations = [
            Situation(
                cluster=cluster,
                name=name,
                definition=definition,
                memory=memories.get(memory_subject(cluster, name), BudgetMemory()),
                is_asked=wants(cluster, name, definition.policy),
                order=orders.get((cluster, name)) or orders.get((None, name)),
            )
            for name, definition in sorted(usable.items())
        ]
        asked = [s.budget for s in situations if s.is_asked]
        answers = self._answers(asked, afresh=afresh)
        return ClusterView(
            cluster=cluster,
            policy=policy,
            slurm=self._read_slurm(cluster, _usage_since(asked, context.now)),
            intents=self._ports.intents.intents(cluster),
            situations=tuple(_answered(s, answers) for s in situations),
            exemptions=tuple(self._ports.exemptions.exemptions()),
            unusable=unusable,
            gone=undefined(memories, cluster, definitions),
            unusable_holding=frozenset(
                n for n in unusable if memories.get(memory_subject(cluster, n), BudgetMemory()).is_holding
            ),
        )

    def _answers(self, budgets: Iterable[BudgetDefinition], *, afresh: bool) -> Mapping[str, BudgetAnswer]:
        wanted: set[str] = set()
        foreign: dict[str, BudgetAnswer] = {}
        for budget in budgets:
            name = budget.aws_budget or (budget.allocation.bill if budget.allocation else None)
            if name is None:
                continue
            if budget.aws_account_id not in (None, self._ports.account_id):
                text = (
                    f"it is in account {budget.aws_account_id}, and this stack reads {self._ports.account_id}"
                )
                foreign[name] = BudgetUnread(name=name, error=text)
            else:
                wanted.add(name)
        return {**foreign, **self._ports.ledger.read(wanted, afresh=afresh)} if wanted else foreign

    def _read_slurm(self, cluster: str, since: datetime | None) -> SlurmView:
        key = (cluster, since)
        if key not in self._slurm:
            self._slurm[key] = self._ports.slurm.view(cluster, usage_since=since)
        return self._slurm[key]

    def _with_whom_to_tell(self, snapshot: Snapshot) -> Snapshot:
        """Directory rows of those whom this evaluation may tell something; pauses when a hold begins."""
        now, path = snapshot.now, snapshot.path
        names: set[str] = set()
        is_beginning = False
        for view in snapshot.clusters:
            judged = assess(view, snapshot.now, snapshot.bound)
            real, _ = all_wanted(judged)
            names |= people_to_tell(judged, real.values(), path, now)
            is_beginning |= any(begins_to_hold(s, now, path) for s in judged.standings)
        rows = ((name, self._ports.people.by_login_name(name)) for name in sorted(names))
        people = {name: person for name, person in rows if person is not None}
        pause = self._ports.pause if is_beginning else None
        return replace(snapshot, people=people, paused=pause.paused_clusters() if pause else {})

    def _drafts(self, changed: PolicyChanged) -> tuple[PolicyDraft, ...]:
        if changed.cluster not in self._ports.governed:
            return ()
        if changed.definition is None:
            draft = self._ports.policies.draft(changed.cluster)
        else:
            draft = self._ports.definitions.draft(changed.parameter_name)
        return (draft,) if draft is not None else ()

    def _all_drafts(self, cluster: str) -> list[PolicyDraft]:
        own = self._ports.policies.draft(cluster)
        return [*([own] if own is not None else []), *self._ports.definitions.drafts(cluster)]


def _in_cluster(cluster: str) -> _Wants:
    return lambda name, *_: name == cluster


def _answered(situation: Situation, answers: Mapping[str, BudgetAnswer]) -> Situation:
    if not situation.is_asked:
        return situation
    budget = situation.budget
    bill = budget.allocation.bill if budget.allocation else None
    return replace(situation, answer=answers.get(budget.aws_budget or ""), bill=answers.get(bill or ""))


def _usage_since(budgets: Iterable[BudgetDefinition], now: datetime) -> datetime | None:
    """The earliest hour whose usage counts: the start of an allocation's period; AWS's own numbers are at most days behind."""
    starts: list[datetime] = []
    for budget in budgets:
        if budget.allocation is None:
            starts.append(now.replace(minute=0, second=0, microsecond=0) - _AWS_IS_BEHIND)
        elif (period := budget.allocation.period(now)) is not None:
            starts.append(period.start_at)
    return min(starts, default=None)
