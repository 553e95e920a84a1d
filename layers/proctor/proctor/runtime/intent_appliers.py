"""Appliers that change what the agents are asked to do: an intent held, an intent let go, and labels of budget definitions.

They write to Proctor's own table; whether Slurm follows is told by the agent's report on that revision, not by the write.
"""

from collections.abc import Callable, Mapping, Sequence

from proctor.domain.actions import Action, Basis, LabelPolicyVersion
from proctor.domain.errors import ContendedError, LostRaceError, TerminalError, TransientError
from proctor.domain.slurm_actions import WithdrawIntent, WriteIntent
from proctor.ports import PolicyStore
from proctor.ports.budgets import BudgetDefinitions, BudgetMemoryStore
from proctor.ports.slurm import IntentStore
from proctor.runtime.appliers import PolicyLabel

type _Tell = Callable[[str], None]


class _IntentApplier:
    """What writing and withdrawing share. Costs one read before and one after, one write, and one wake-up message."""

    def __init__(self, intents: IntentStore, memory: BudgetMemoryStore, wake: _Tell, warn: _Tell) -> None:
        """Take the intents, the budgets' memory, how to wake a cluster's agent and how to warn."""
        self._intents = intents
        self._memory = memory
        self._wake = wake
        self._warn = warn

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        """Spare what has been written since, and what other evaluators have decided otherwise by now."""
        found: dict[str, str] = {}
        for action in map(_intent_action, actions):
            stored = self._intents.get(action.intent.pk, action.intent.sk)
            if (stored.rev if stored is not None else 0) != action.expected_rev:
                found[action.subject] = "another evaluator has written this intent since"
            elif why := self._is_moot(action):
                found[action.subject] = why
        return found

    def apply(self, action: Action) -> None:
        """Write over the expected revision. Raises ContendedError when another evaluator was first."""
        wanted = _intent_action(action)
        try:
            self._intents.put(wanted.intent, wanted.expected_rev)
        except LostRaceError as error:
            if self._intents.get(wanted.intent.pk, wanted.intent.sk) != wanted.intent:
                raise ContendedError(f"{wanted.intent.sk}: another evaluator wrote first") from error

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """The stored intent says so; of a later revision too, since only its owner writes it."""
        found: dict[str, bool] = {}
        for action in map(_intent_action, actions):
            stored = self._intents.get(action.intent.pk, action.intent.sk)
            found[action.subject] = (
                stored is not None
                and stored.rev >= action.intent.rev
                and stored.is_held == action.intent.is_held
            )
        return found

    def settled(self, action: Action, *, has_taken_effect: bool, token: str) -> None:
        """Wake the agent; without the message it reads within 20 s, so a failure holds nothing up."""
        del token
        if not has_taken_effect:
            return
        cluster = _intent_action(action).cluster
        try:
            self._wake(cluster)
        except (TransientError, TerminalError) as error:
            self._warn(f"the agent of {cluster} was not woken: {error}")

    def _is_moot(self, action: WriteIntent | WithdrawIntent) -> str | None:
        if isinstance(action, WriteIntent):
            is_wanted = any(stands(self._memory, basis) for basis in action.holders)
            return None if is_wanted else "no budget holds it any more as it was decided"
        holding = [name for name in action.holders if self._memory.get(name).is_holding]
        return f"{', '.join(holding[:3])} holds it by now" if holding else None


class IntentWriter(_IntentApplier):
    """Writes held intents."""


class IntentWithdrawer(_IntentApplier):
    """Lets intents go."""


def stands(memory: BudgetMemoryStore, basis: Basis) -> bool:
    """Whether a budget still holds, by the very change that was decided on."""
    found = memory.get(basis.memory)
    return found.is_holding and found.level_at == basis.since_at


class BudgetLabel[P, D]:
    """Moves the label `in-force`, of the function's policy or of one budget's definition."""

    def __init__(self, policies: PolicyStore[P], definitions: BudgetDefinitions[D]) -> None:
        """Take both stores."""
        self._policy = PolicyLabel(policies)
        self._definitions = definitions

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        """Nothing can have changed."""
        del actions
        return {}

    def apply(self, action: Action) -> None:
        """Move the label."""
        label = _label(action)
        if _is_definition(label):
            self._definitions.put_in_force(label.parameter_name, label.version)
        else:
            self._policy.apply(label)

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """Read the newest version back; a still newer one means the label was right when it moved."""
        found: dict[str, bool] = {}
        for label in map(_label, actions):
            if not _is_definition(label):
                found |= self._policy.verify([label])
                continue
            draft = self._definitions.draft(label.parameter_name)
            found[label.subject] = draft is not None and (draft.is_in_force or draft.version > label.version)
        return found

    def settled(self, action: Action, *, has_taken_effect: bool, token: str) -> None:
        """Nothing to clean up."""


def _is_definition(label: LabelPolicyVersion) -> bool:
    """`/proctor/<cluster>/<function>/<budget>` against `/proctor/<cluster>/<function>`."""
    return label.parameter_name.count("/") == 4


def _label(action: Action) -> LabelPolicyVersion:
    if not isinstance(action, LabelPolicyVersion):
        raise _wrong(action)
    return action


def _intent_action(action: Action) -> WriteIntent | WithdrawIntent:
    if not isinstance(action, WriteIntent | WithdrawIntent):
        raise _wrong(action)
    return action


def _wrong(action: Action) -> TerminalError:
    return TerminalError(f"{action.verb} reached the wrong applier")
