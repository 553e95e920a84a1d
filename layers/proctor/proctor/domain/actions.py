"""What Proctor can do, as data. An action does nothing; the function's applier of that type does."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Base of all actions.

    `subject` is what is acted on, in the form `<kind>#<id>`. `budget` names the guardrail that counts this action, None for
    actions that no cap counts.
    """

    subject: str
    budget: ClassVar[str | None] = None

    @property
    def verb(self) -> str:
        """The API's own verb."""
        return type(self).__name__

    @property
    def touches(self) -> tuple[str, ...]:
        """Every subject that feels this action; none of them may be protected."""
        return (self.subject,)

    def as_record(self) -> dict[str, Any]:
        """For the audit: verb and fields."""
        return {"action": self.verb, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Peer:
    """A session that was counted when an end was decided, with its weight."""

    session_id: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminateSession(Action):
    """End one Session Manager session of `holder` (a login name, or `owner:<arn>`).

    `peers` and `cap` freeze the count behind a cap decision: just before the act the peers are read again, and the session
    is spared when those still live fit under `cap`. `cap` None means: ended whatever the count.
    """

    session_id: str
    holder: str
    peers: tuple[Peer, ...] = ()
    cap: int | None = None
    budget: ClassVar[str | None] = "session_ends"

    @property
    def touches(self) -> tuple[str, ...]:
        """The session and the person whose session it is."""
        return (self.subject, f"person#{self.holder}")


@dataclass(frozen=True, slots=True)
class Basis:
    """A state that a decision took from a memory: the memory's subject, and when that state began.

    The memory is read again just before the act; where another state stands by then, the decision was made on something
    that nobody stored, or that is over.
    """

    memory: str
    since_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyPerson(Action):
    """Tell one person by e-mail. `email` None is recorded as undeliverable.

    `basis` is the state that the mail tells of, where it tells of one.
    """

    login_name: str
    email: str | None
    headline: str
    text: str
    basis: Basis | None = None
    budget: ClassVar[str | None] = "notices"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyOperators(Action):
    """Tell the operators through their topic. `next_steps` says what to do."""

    headline: str
    text: str
    next_steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPolicyVersion(Action):
    """Move the label `in-force` of a policy parameter to a version that was found valid."""

    cluster: str
    parameter_name: str
    version: int
