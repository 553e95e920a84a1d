"""The applier of an operator's word on an agent's key."""

from collections.abc import Mapping, Sequence

from proctor.domain.actions import Action
from proctor.domain.agent_writes import ApproveAgentKey
from proctor.domain.agents import AgentRecord, fingerprint
from proctor.domain.errors import ContendedError, LostRaceError, TerminalError
from proctor.ports.agents import AgentRegistry


class KeyApproval:
    """Makes a key the agent's own. Costs one read before, one write, and one read after."""

    def __init__(self, agents: AgentRegistry) -> None:
        """Take the registry."""
        self._agents = agents

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        """A key that is no longer offered can't be approved."""
        return {
            a.subject: "that key is not offered any more"
            for a in map(_approval, actions)
            if self._key(self._record(a), a.fingerprint) is None
        }

    def apply(self, action: Action) -> None:
        """Approve. Raises ContendedError when the agent changed in between."""
        approval = _approval(action)
        record = self._record(approval)
        key = self._key(record, approval.fingerprint)
        if record is None or key is None:
            message = "that key is not offered any more"
            raise TerminalError(message)
        try:
            self._agents.approve(record, key)
        except LostRaceError as lost:
            message = "the agent reported in between; ask again"
            raise ContendedError(message) from lost

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """The key in force is the one, and nobody disputes it."""
        found: dict[str, bool] = {}
        for approval in map(_approval, actions):
            record = self._record(approval)
            found[approval.subject] = (
                record is not None
                and record.key is not None
                and record.contender is None
                and fingerprint(record.key) == approval.fingerprint
            )
        return found

    def settled(self, action: Action, *, has_taken_effect: bool, token: str) -> None:
        """Nothing to clean up."""

    def _record(self, approval: ApproveAgentKey) -> AgentRecord | None:
        return self._agents.get(approval.cluster, approval.instance_id)

    @staticmethod
    def _key(record: AgentRecord | None, wanted: str) -> bytes | None:
        offered = (record.key, record.contender) if record is not None else ()
        return next((key for key in offered if key is not None and fingerprint(key) == wanted), None)


def _approval(action: Action) -> ApproveAgentKey:
    if not isinstance(action, ApproveAgentKey):
        message = f"{action.verb} reached the wrong applier"
        raise TerminalError(message)
    return action
