"""Which sessions end when a person has too many. Deterministic: every evaluator chooses the same ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from proctor.domain.actions import Peer
from proctor.domain.sessions import Session, SessionStatus, Work
from session_limits.policy import VictimOrder

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Surplus:
    """A broken cap: scope, source and victim order, the weight in use, everybody who was counted, and who ends, in order."""

    scope: str
    cap: int
    source: str
    used: int
    peers: tuple[Peer, ...]
    victims: tuple[str, ...]
    order: VictimOrder


def surplus(
    scope: str,
    cap: int | None,
    source: str,
    counted: Sequence[Session],
    weights: Mapping[str, int],
    order: VictimOrder,
) -> Surplus | None:
    """The victims that bring the weight down to the cap, and no more; None when it fits.

    Sessions known to be without work go first: Disconnected ones, then the longest idle. Unknown counts as working. If
    those don't suffice, the newest start goes (or the oldest), ties by session id. From the end of this order everybody
    stays who still fits under the cap; so a session of weight 0 never goes.
    """
    used = sum(weights[s.session_id] for s in counted)
    if cap is None or used <= cap:
        return None
    room, victims = cap, list[str]()
    for session in sorted(counted, key=lambda s: _rank(s, order), reverse=True):
        weight = weights[session.session_id]
        if weight <= room:
            room -= weight
        else:
            victims.insert(0, session.session_id)
    peers = tuple(
        Peer(s.session_id, weights[s.session_id]) for s in sorted(counted, key=lambda s: s.session_id)
    )
    return Surplus(scope, cap, source, used, peers, tuple(victims), order)


def _rank(session: Session, order: VictimOrder) -> tuple[int, float, float, str]:
    started = (session.started_at or _LONG_AGO).timestamp()
    age = -started if order is VictimOrder.NEWEST else started
    if session.work is not Work.NONE:
        return (2, 0.0, age, session.session_id)
    if session.status is SessionStatus.DISCONNECTED:
        return (0, age, 0.0, session.session_id)
    return (1, -float(session.idle_minutes or 0), age, session.session_id)
