"""Budgets as budget_holds would judge them now: its own reads and rules, under the caller's credentials. Writes nothing.

What is in force is what memories and intents say; the judgement adds today's numbers and what the next look would conclude.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from budget_holds.assess import Assessment, assess
from budget_holds.observe import Observer, Ports
from budget_holds.snapshot import ClusterView, Order, Situation
from budget_holds.states import Standing
from budget_holds.targets import Targets, targets_of
from budget_holds.trigger import Manual
from proctor.domain.agent_protocol import intent_sk
from proctor.domain.decision import Mode, RunContext
from proctor.domain.errors import InvalidInputError, NotFoundError, TransientError
from proctor.domain.policy import policy_parameter
from proctor_cli.console import shown_age, shown_time
from proctor_cli.exits import UsageError
from proctor_cli.governed import BUDGET_HOLDS
from proctor_cli.world import World

_NOBODY = "-"
"""Nothing is written, so nobody has to answer for it."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """One cluster at `now`: all its budgets judged, and where each would take hold. `paused` is why it is, or None."""

    now: datetime
    assessment: Assessment
    paused: str | None = None

    @property
    def view(self) -> ClusterView:
        """What was read."""
        return self.assessment.view

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.view.cluster

    @property
    def is_known(self) -> bool:
        """Whether Slurm's state may be believed; older than two minutes it is unknown."""
        return self.view.slurm.is_fresh(self.now)

    @property
    def since(self) -> str:
        """How old Slurm's state is, for people."""
        seen_at = self.view.slurm.seen_at
        if seen_at is None:
            return f"unknown: no agent on the controller of {self.cluster} has reported yet"
        age = shown_age(self.now - seen_at)
        if self.is_known:
            return f"seen {age} ago"
        return f"unknown: the controller's agent is silent since {shown_time(seen_at)} ({age})"

    @property
    def paused_text(self) -> str:
        """That it is paused, why, and how to go on."""
        return f"{self.cluster} is paused: {self.paused}; go on with proctor resume {self.cluster}"

    @cached_property
    def standings(self) -> Mapping[str, Standing]:
        """Every budget by name."""
        return {s.situation.name: s for s in self.assessment.standings}

    @cached_property
    def targets(self) -> Mapping[str, Targets]:
        """Where each budget takes hold, or would."""
        tree = self.assessment.tree
        return {
            name: targets_of(s.situation, self.view, tree, self.now) for name, s in self.standings.items()
        }

    @cached_property
    def holders(self) -> Mapping[str, tuple[str, ...]]:
        """Sort key of a subject → budgets that hold it, by what they remember."""
        found: dict[str, list[str]] = {}
        for name, targets in self.targets.items():
            if not self.situation(name).memory.is_holding:
                continue
            for verb in targets.verbs:
                found.setdefault(intent_sk(verb), []).append(name)
        return {sk: tuple(sorted(names)) for sk, names in found.items()}

    def really_held(self, names: Iterable[str]) -> tuple[str, ...]:
        """Of these budgets those that hold for real: one whose own mode is below apply lets go of what it held."""
        return tuple(name for name in names if self.situation(name).budget.mode is Mode.APPLY)

    def situation(self, name: str) -> Situation:
        """One budget as it was read."""
        return self.standings[name].situation


def look_at(world: World, cluster: str | None, order: Order | None = None) -> tuple[Look, ...]:
    """One look per governed cluster with a policy, or at one. With an order: as if it were given now.

    Raises NotFoundError when no cluster has a policy of budget_holds in force, TransientError when one awaits its validation,
    UsageError for an order that means two budgets.
    """
    clusters = (world.stack.cluster(cluster),) if cluster is not None else world.stack.clusters
    context = RunContext(
        function=BUDGET_HOLDS, now=world.clock(), token=_NOBODY, trigger="Manual", bound=Mode.DRY_RUN
    )
    trigger = Manual(
        requested_by=_NOBODY,
        justification=_NOBODY,
        is_dry_run=True,
        scope_kind="all",
        orders=(order,) if order is not None else (),
    )
    world.console.progress("reading budgets and Slurm's state …")
    try:
        ports = world.budget_ports(clusters)
        snapshot = Observer(ports)(trigger, context)
    except InvalidInputError as error:
        if order is None:
            raise
        raise UsageError.of(error) from None
    finally:
        world.console.progress_over()
    if not snapshot.clusters:
        raise _not_judged(ports, clusters)
    paused = world.pause.paused_clusters()
    return tuple(
        Look(
            now=snapshot.now,
            assessment=assess(view, snapshot.now, world.stack.bound),
            paused=paused.get(view.cluster),
        )
        for view in snapshot.clusters
    )


def _not_judged(ports: Ports, clusters: Iterable[str]) -> NotFoundError | TransientError:
    """Why no cluster is judged: nothing written, a refused version, or one that nobody has validated yet. Two calls each."""
    said, is_waiting = [], False
    for cluster in clusters:
        name, draft = policy_parameter(cluster, BUDGET_HOLDS), ports.policies.draft(cluster)
        if draft is None:
            said.append(
                f"{cluster} has no policy of {BUDGET_HOLDS} in force, so no budget is judged there; "
                f"write {name}, {{}} is valid"
            )
        elif draft.error is not None:
            said.append(f"version {draft.version} of {name} is refused: {draft.error}; write it again")
        else:
            is_waiting = True
            said.append(
                f"version {draft.version} of {name} awaits validation by the next sweep, so no budget is judged on "
                f"{cluster} yet; ask again in ten minutes"
            )
    text = f"policy: {'; '.join(said)}"
    return TransientError(text) if is_waiting else NotFoundError(text)


def the_look(looks: tuple[Look, ...], budget: str) -> Look:
    """The one cluster that has this budget. Raises NotFoundError, and UsageError when several have."""
    found = [look for look in looks if budget in look.standings]
    if len(found) > 1:
        raise UsageError("--cluster", None, f"{', '.join(x.cluster for x in found)} have a budget {budget}")
    if found:
        return found[0]
    for look in looks:
        if budget in look.view.unusable:
            raise NotFoundError(
                f"budget: the definition of {budget!r} on {look.cluster} can't be read: {look.view.unusable[budget]}"
            )
    known = sorted({name for look in looks for name in look.standings})
    raise NotFoundError(
        f"budget: {budget!r} is not in force; known are {', '.join(known[:20]) or 'none'} "
        f"(parameters /proctor/<cluster>/{BUDGET_HOLDS}/<budget>)"
    )
