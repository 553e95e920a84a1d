"""Hypothesis strategies for domain values: people, sessions, ledgers, policies and whole situations."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from proctor.domain.ledger import LedgerEntry, PersonLedger, SeenBy
from proctor.domain.sessions import DEFAULT_DOCUMENT, Session, SessionStatus, Work
from tests.fakes import values

_DOCUMENTS = (DEFAULT_DOCUMENT, "AWS-StartSSHSession", "AWS-StartPortForwardingSession", "Own-Document")

seconds_ago = st.integers(0, 7200).map(lambda n: values.NOW - timedelta(seconds=n))
"""Moments of the last two hours."""


def sessions(login_name: str = "ada", max_size: int = 8) -> st.SearchStrategy[list[Session]]:
    """Sessions of one person, any status, document, age and state of work; ids are distinct, starts may tie."""
    one = st.builds(
        lambda suffix, status, started_at, document, work, idle: values.session(
            f"{login_name}@uni.example-{suffix:02x}",
            status=status,
            started_at=started_at,
            document_name=document,
            work=work,
            idle_minutes=idle,
        ),
        st.integers(0, 255),
        st.sampled_from(SessionStatus),
        st.one_of(st.none(), seconds_ago, st.just(values.NOW)),
        st.sampled_from(_DOCUMENTS),
        st.sampled_from(Work),
        st.one_of(st.none(), st.integers(0, 90)),
    )
    return st.lists(one, max_size=max_size, unique_by=lambda s: s.session_id)


@st.composite
def ledgers(draw: st.DrawFn, ids: list[str] | None = None) -> PersonLedger:
    """A ledger of ada; `ids` are sessions that it may know."""
    known = draw(st.lists(st.sampled_from(ids or ["a", "b", "c", "d"]), unique=True)) if ids != [] else []
    entries: dict[str, LedgerEntry] = {}
    for session_id in known:
        decided_at = draw(st.one_of(st.none(), seconds_ago))
        entries[session_id] = LedgerEntry(
            cluster=draw(st.sampled_from(["alpha", "beta"])),
            seen_by=draw(st.sampled_from(SeenBy)),
            seen_at=draw(seconds_ago),
            weight=draw(st.integers(0, 3)),
            reason=draw(st.sampled_from([None, "allowed", "over_cap", "backing_off"])),
            intent_until=decided_at + timedelta(minutes=2) if decided_at else None,
            intent_token="token-0" if decided_at else None,
        )
    return PersonLedger(
        holder="ada",
        rev=draw(st.integers(1, 9)),
        entries=entries,
        evicted_at=tuple(sorted(draw(st.lists(seconds_ago, max_size=4)))),
        burst_at=tuple(sorted(draw(st.lists(seconds_ago, max_size=4)))),
        incident_at=draw(st.one_of(st.none(), seconds_ago)),
    )


policy_fields: st.SearchStrategy[Mapping[str, Any]] = st.fixed_dictionaries(
    {"cap": st.builds(lambda n: {"max_sessions": n}, st.integers(1, 5))},
    optional={
        "mode": st.sampled_from(["off", "dry_run", "apply"]),
        "victim_order": st.sampled_from(["newest", "oldest"]),
        "weights": st.dictionaries(st.sampled_from(["shell", "ssh", "port_forward"]), st.integers(0, 4)),
        "document_response": st.sampled_from(["report", "end"]),
        "unmapped_response": st.sampled_from(["report", "end"]),
        "rules": st.dictionaries(
            st.sampled_from(["cap", "document", "notice"]), st.sampled_from(["off", "dry_run", "apply"])
        ),
    },
)
"""Fields of a valid policy of session_limits, as JSON values."""

json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
"""Any JSON."""
