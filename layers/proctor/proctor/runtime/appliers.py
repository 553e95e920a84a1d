"""Appliers that more than one function uses. Each does one type of action and reads back what came of it."""

from collections.abc import Callable, Mapping, Sequence

from proctor.domain.actions import (
    Action,
    Basis,
    LabelPolicyVersion,
    NotifyOperators,
    NotifyPerson,
    TerminateSession,
)
from proctor.domain.errors import TerminalError, ThrottledError, TransientError
from proctor.domain.sessions import Session
from proctor.ports import OperatorNotifier, PersonNotifier, PolicyStore, SessionManager

READ_BACKS = 3
"""Looks at a session after its end was asked for, before the end counts as unconfirmed."""


_OVER = "what it tells of is over, or another evaluator decided first"


class _Plain:
    """What an applier does that has nothing to re-read: nothing."""

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        """Nothing can have changed."""
        del actions
        return {}

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """The service's acceptance is all the evidence there is; after a crash it is done again."""
        del actions
        return {}

    def settled(self, action: Action, *, has_taken_effect: bool, token: str) -> None:
        """Nothing to clean up."""


class SessionTerminator:
    """Ends sessions. Costs one listing before and at most three after each chunk of ten, and one call per session.

    `release` takes the intent off a session that was not ended. `wait` waits n seconds between two looks.
    """

    def __init__(
        self,
        sessions: SessionManager,
        release: Callable[[str, str, str], None],
        wait: Callable[[float], None],
    ) -> None:
        """Take Session Manager, the ledger's release and a way to wait."""
        self._sessions = sessions
        self._release = release
        self._wait = wait
        self._asked: set[str] = set()

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        """Spare a session that has ended, or whose person has room by now.

        Only the sessions counted at decision time matter: one that started since has its own evaluation. One whose end was
        asked for in an earlier chunk is gone even if a listing that lags still shows it.
        """
        ends = [_end(a) for a in actions]
        wanted = {e.session_id for e in ends} | {p.session_id for e in ends for p in e.peers}
        live = {sid: s for sid, s in self._sessions.find_active(wanted).items() if s.is_counted}
        spared: dict[str, str] = {}
        ending = set(self._asked)
        for end in ends:
            if why := _spare(end, live, ending):
                spared[end.subject] = why
            else:
                ending.add(end.session_id)
        return spared

    def apply(self, action: Action) -> None:
        """Ask for the end. A lost answer is no refusal: the session may be ending, and only the read-back tells."""
        session_id = _end(action).session_id
        try:
            self._sessions.terminate(session_id)
        except ThrottledError:
            raise
        except TransientError:
            pass
        self._asked.add(session_id)

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """A session has ended when it is no longer listed as active, or listed as Terminating."""
        ids = {_end(a).session_id: a.subject for a in actions}
        found = dict.fromkeys(ids.values(), False)
        for look in range(READ_BACKS):
            if look:
                self._wait(0.2 * look)
            live = self._sessions.find_active(ids)
            for session_id, subject in ids.items():
                found[subject] = session_id not in live or not live[session_id].is_counted
            if all(found.values()):
                break
        return found

    def settled(self, action: Action, *, has_taken_effect: bool, token: str) -> None:
        """A session that was not ended counts again at once."""
        if not has_taken_effect:
            end = _end(action)
            self._release(end.holder, end.session_id, token)


class PersonNotice(_Plain):
    """Mails a person. An address that is missing or suppressed is recorded as undeliverable."""

    def __init__(self, notifier: PersonNotifier, stands: Callable[[Basis], bool] = lambda _: True) -> None:
        """Take the notifier. `stands` reads again whether a state that a mail tells of is still there."""
        self._notifier = notifier
        self._stands = stands
        self._sent: set[str] = set()

    def recheck(self, actions: Sequence[Action]) -> Mapping[str, str]:
        """Spare what tells of a state that is over, or was never stored. One read for each state."""
        bases = {a.subject: a.basis for a in actions if isinstance(a, NotifyPerson) and a.basis is not None}
        gone = {basis for basis in set(bases.values()) if not self._stands(basis)}
        return {subject: _OVER for subject, basis in bases.items() if basis in gone}

    def apply(self, action: Action) -> None:
        """Send. Raises TerminalError when the mail can't be delivered."""
        if not isinstance(action, NotifyPerson):
            raise _wrong(action)
        if action.email is None:
            message = "undeliverable: the directory holds no address"
            raise TerminalError(message)
        if not self._notifier.send(action.email, action.headline, action.text):
            message = "undeliverable: the address is suppressed or refused"
            raise TerminalError(message)
        self._sent.add(action.subject)

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """Sent by this evaluator; after a crash nothing tells, so it is sent again."""
        return {a.subject: a.subject in self._sent for a in actions}


class OperatorNotice(_Plain):
    """Publishes to the operators' topic."""

    def __init__(self, notifier: OperatorNotifier) -> None:
        """Take the notifier."""
        self._notifier = notifier
        self._sent: set[str] = set()

    def apply(self, action: Action) -> None:
        """Publish."""
        if not isinstance(action, NotifyOperators):
            raise _wrong(action)
        self._notifier.publish(action.headline, action.text, action.next_steps)
        self._sent.add(action.subject)

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """Published by this evaluator; after a crash nothing tells, so it is published again."""
        return {a.subject: a.subject in self._sent for a in actions}


class PolicyLabel[P](_Plain):
    """Moves the label `in-force` to a validated version."""

    def __init__(self, policies: PolicyStore[P]) -> None:
        """Take the policy store."""
        self._policies = policies

    def apply(self, action: Action) -> None:
        """Move the label."""
        label = _label(action)
        self._policies.put_in_force(label.parameter_name, label.version)

    def verify(self, actions: Sequence[Action]) -> Mapping[str, bool]:
        """Read the newest version back; a still newer one means the label was right when it moved."""
        found: dict[str, bool] = {}
        for label in map(_label, actions):
            draft = self._policies.draft(label.cluster)
            found[label.subject] = draft is not None and (draft.is_in_force or draft.version > label.version)
        return found


def _spare(end: TerminateSession, live: Mapping[str, Session], ending: set[str]) -> str | None:
    if end.session_id not in live:
        return "the session has ended by itself"
    if end.cap is None:
        return None
    used = sum(p.weight for p in end.peers if p.session_id in live and p.session_id not in ending)
    return f"room appeared: {used} of {end.cap} in use" if used <= end.cap else None


def _end(action: Action) -> TerminateSession:
    if not isinstance(action, TerminateSession):
        raise _wrong(action)
    return action


def _label(action: Action) -> LabelPolicyVersion:
    if not isinstance(action, LabelPolicyVersion):
        raise _wrong(action)
    return action


def _wrong(action: Action) -> TerminalError:
    return TerminalError(f"{action.verb} reached the wrong applier")
