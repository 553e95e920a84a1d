"""Carries out a decision: guardrails, then per action claim → re-read → apply → read back → settle.

May do nothing but what the function's appliers do. Costs per action one claim, one settlement, and the applier's own calls;
a verdict without an action costs at most one write.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from proctor.domain.actions import Action
from proctor.domain.decision import (
    Case,
    Decision,
    Mode,
    Outcome,
    OutcomeStatus,
    RunContext,
    Verdict,
)
from proctor.domain.errors import LostRaceError, TerminalError, TransientError
from proctor.domain.refusals import is_protected, refusals
from proctor.ports import (
    Applier,
    ClaimStore,
    Counters,
    EventPublisher,
    MemorySwap,
    PauseSwitch,
    Telemetry,
    VerdictStore,
)
from proctor.runtime.claiming import Claimer

CHUNK = 10
"""Actions between two re-reads: few enough that the truth is at most seconds old, enough to share a listing."""

LOST_RACE = "another evaluator decided about this subject first"

_NOTHING_TO_TELL = "what it tells of did not take effect"

_SAME_AGAIN = frozenset({OutcomeStatus.NONE, OutcomeStatus.DRY_RUN, OutcomeStatus.ALREADY_APPLIED})
"""Outcomes that a known verdict repeats at every sweep; saying them once is enough."""

_NOTHING_DONE = frozenset({OutcomeStatus.NONE, OutcomeStatus.CONTENDED})

_TOOK_EFFECT = frozenset({OutcomeStatus.APPLIED, OutcomeStatus.UNCONFIRMED, OutcomeStatus.ALREADY_APPLIED})


@dataclass(frozen=True, slots=True)
class Stores:
    """What the executor writes to."""

    claims: ClaimStore
    verdicts: VerdictStore
    memory: MemorySwap
    counters: Counters
    pause: PauseSwitch
    events: EventPublisher
    telemetry: Telemetry


class Executor:
    """Runs decisions with one function's appliers: the dict is the function's whole reach."""

    def __init__(self, appliers: Mapping[type[Action], Applier], stores: Stores) -> None:
        """Take the reach and the stores; nothing is read or written yet."""
        self._appliers = appliers
        self._stores = stores

    def run(self, decision: Decision, context: RunContext) -> tuple[Outcome, ...]:
        """Do what the decision says as far as modes, guardrails, pause and claims allow.

        Returns one outcome per verdict, in order. Raises TerminalError, before anything happens, for an action type without
        an applier; TransientError when a record can't be written (then nothing more is done). A TerminalError of one case is
        raised after all the others are done: it would come again, and hold them up for ever.
        """
        self._require_appliers(decision)
        withheld = self._withheld_clusters(decision, context)
        outcomes: list[Outcome] = []
        not_stored: set[str] = set()
        failure: TerminalError | None = None
        for case in decision.cases:
            statuses: dict[str, Outcome] = {}
            try:
                if not_stored.intersection(case.rests_on):
                    statuses = _lost(case)
                    not_stored |= _memory_of(case)
                elif not self._run_case(case, statuses, decision, withheld, context):
                    not_stored |= _memory_of(case)
            except TransientError:
                self._record(statuses.values(), context)
                raise
            except TerminalError as error:
                not_stored |= _memory_of(case)
                failure = failure or error
            found = [statuses[v.subject] for v in case.verdicts if v.subject in statuses]
            self._record(found, context)
            outcomes += found
        self._publish(outcomes, context)
        if failure is not None:
            raise failure
        return tuple(outcomes)

    def _record(self, outcomes: Iterable[Outcome], context: RunContext) -> None:
        """Case by case, so that a run that is cut off has recorded what it did. A lost race is no verdict."""
        for outcome in filter(_is_news, outcomes):
            if outcome.detail != LOST_RACE:
                self._stores.verdicts.record(outcome, context)
            self._stores.telemetry.outcome(outcome, context)

    def _publish(self, outcomes: list[Outcome], context: RunContext) -> None:
        """Others build on these events, Proctor does not: a bus that refuses them holds nothing up."""
        acted = [o for o in outcomes if _is_news(o) and o.status not in _NOTHING_DONE]
        if not acted:
            return
        try:
            self._stores.events.publish(acted, context)
        except (TransientError, TerminalError) as error:
            self._stores.telemetry.count("EventsNotPublished")
            self._stores.telemetry.warn("events not published", why=str(error))

    def _require_appliers(self, decision: Decision) -> None:
        for verdict in decision.verdicts:
            if verdict.action is not None and type(verdict.action) not in self._appliers:
                message = f"{verdict.action.verb} is not among this function's appliers"
                raise TerminalError(message)

    def _withheld_clusters(self, decision: Decision, context: RunContext) -> dict[str, str]:
        """Guardrails and pause; the pause is read only when something would be done."""
        if not any(_is_due(v, context) for v in decision.verdicts):
            return {}
        withheld = refusals(decision, context.lifted)
        for cluster, why in withheld.items():
            self._stores.telemetry.warn("guardrail refused", cluster=cluster, why=why)
            self._stores.telemetry.count("GuardrailRefused")
        paused = self._stores.pause.paused_clusters()
        return withheld | {cluster: f"paused: {why}" for cluster, why in paused.items()}

    def _run_case(
        self,
        case: Case,
        statuses: dict[str, Outcome],
        decision: Decision,
        withheld: Mapping[str, str],
        context: RunContext,
    ) -> bool:
        """Fills `statuses`, subject → outcome, as far as it comes. False when the race for its memory was lost."""
        statuses |= self._not_acting(case, decision, withheld, context)
        due = [v for v in case.verdicts if v.subject not in statuses]
        is_withheld = not due and any(_is_due(v, context) for v in case.verdicts)
        if case.memory is not None and not is_withheld:
            try:
                self._stores.memory.swap(case.memory.subject, case.memory.data, case.memory.expected_rev)
            except LostRaceError:
                statuses |= _lost(case)
                return False
            self._let_go(statuses.values(), context)
        for stage in ([v for v in due if not v.requires], [v for v in due if v.requires]):
            for chunk in _chunks(stage):
                for outcome in self._act(chunk, statuses, decision, context):
                    statuses[outcome.verdict.subject] = outcome
        return True

    def _not_acting(
        self, case: Case, decision: Decision, withheld: Mapping[str, str], context: RunContext
    ) -> dict[str, Outcome]:
        """Subject → outcome of the verdicts that lead to no act; a message about nothing but such ends is none either."""
        found: dict[str, Outcome] = {}
        for verdict in case.verdicts:
            if early := self._without_acting(verdict, decision, withheld, context):
                found[verdict.subject] = early
        acting = {v.subject for v in case.verdicts if v.subject not in found}
        return found | {
            v.subject: Outcome(v, OutcomeStatus.WITHHELD, _NOTHING_TO_TELL)
            for v in case.verdicts
            if v.subject in acting and v.requires and acting.isdisjoint(v.requires)
        }

    def _let_go(self, early: Iterable[Outcome], context: RunContext) -> None:
        """What the swapped memory shows as under way and is withheld after all."""
        for outcome in early:
            action = outcome.verdict.action
            is_due = _is_due(outcome.verdict, context)
            if action is not None and is_due and outcome.status is OutcomeStatus.WITHHELD:
                applier = self._appliers[type(action)]
                applier.settled(action, has_taken_effect=False, token=context.token)

    def _without_acting(
        self, verdict: Verdict, decision: Decision, withheld: Mapping[str, str], context: RunContext
    ) -> Outcome | None:
        """The outcome of a verdict that leads to no act, or None when the act is due."""
        mode = verdict.mode_under(context.bound)
        if verdict.action is None:
            return Outcome(verdict, OutcomeStatus.NONE)
        if mode is Mode.OFF:
            return Outcome(verdict, OutcomeStatus.NONE, "the rule is off")
        rails = decision.rails.get(verdict.cluster)
        if rails is not None and is_protected(verdict, rails):
            return Outcome(verdict, OutcomeStatus.WITHHELD, "a protected subject")
        if verdict.cluster in withheld and verdict.action.budget and not verdict.is_closing:
            return Outcome(verdict, OutcomeStatus.WITHHELD, withheld[verdict.cluster])
        if mode is Mode.DRY_RUN:
            return Outcome(verdict, OutcomeStatus.DRY_RUN)
        return None

    def _act(
        self,
        verdicts: Iterable[Verdict],
        statuses: Mapping[str, Outcome],
        decision: Decision,
        context: RunContext,
    ) -> Iterable[Outcome]:
        """One chunk of actions of any types; grouped by type so that each applier re-reads once."""
        by_type: dict[type[Action], list[Verdict]] = {}
        for verdict in verdicts:
            if verdict.requires and not any(_took_effect(statuses.get(name)) for name in verdict.requires):
                yield Outcome(verdict, OutcomeStatus.WITHHELD, _NOTHING_TO_TELL)
            elif verdict.action is not None:
                by_type.setdefault(type(verdict.action), []).append(verdict)
        for action_type, group in by_type.items():
            claimer = Claimer(self._appliers[action_type], self._stores.claims, context)
            yield from claimer.close([v for v in group if v.is_closing])
            yield from claimer.run([v for v in group if not v.is_closing], self._spend(decision, context))

    def _spend(self, decision: Decision, context: RunContext) -> Callable[[Verdict], str | None]:
        """A check of the windowed budget, spent one action at a time just before the act."""

        def spend(verdict: Verdict) -> str | None:
            name = verdict.action.budget if verdict.action else None
            if name is None or name in context.lifted:
                return None
            budget = decision.rails[verdict.cluster].budgets[name]
            counter = f"{context.function}#{verdict.cluster}#{name}"
            if self._stores.counters.spend(counter, budget.per_window, context.now, budget.window_minutes):
                return None
            self._stores.telemetry.count("GuardrailRefused")
            return f"{budget.per_window} {name} in {budget.window_minutes} minutes are already spent"

        return spend


def _lost(case: Case) -> dict[str, Outcome]:
    return {v.subject: Outcome(v, OutcomeStatus.CONTENDED, LOST_RACE) for v in case.verdicts}


def _memory_of(case: Case) -> set[str]:
    return set() if case.memory is None else {case.memory.subject}


def _is_news(outcome: Outcome) -> bool:
    is_same = outcome.status in _SAME_AGAIN or outcome.detail == _NOTHING_TO_TELL
    return not (outcome.verdict.is_known and is_same)


def _is_due(verdict: Verdict, context: RunContext) -> bool:
    return verdict.action is not None and verdict.mode_under(context.bound) is Mode.APPLY


def _took_effect(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.status in _TOOK_EFFECT


def _chunks(verdicts: list[Verdict]) -> Iterable[list[Verdict]]:
    return (verdicts[i : i + CHUNK] for i in range(0, len(verdicts), CHUNK))


def as_summary(outcome: Outcome) -> dict[str, object]:
    """One outcome as plain values, for the answer to a manual request."""
    verdict = outcome.verdict
    return {
        "subject": verdict.subject,
        "cluster": verdict.cluster,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "text": verdict.text,
        "action": verdict.action.verb if verdict.action else None,
        "outcome": outcome.status.value,
        "detail": outcome.detail,
    }
