"""Planted bugs in the decision: counts, orders, caps, and what is remembered."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from proctor.domain import claims, leases, ledger
from proctor.domain.sessions import Session, SessionStatus, Work
from session_limits import decide, memory, victims
from session_limits.policy import VictimOrder
from tests.simulation.core.planting import Patch, PlantedBug


def _off_by_one(step: int) -> list[Patch]:
    surplus = victims.surplus

    def wrong(scope: str, cap: int | None, *rest: Any) -> Any:
        found = surplus(scope, None if cap is None else cap + step, *rest)
        return None if found is None else replace(found, cap=found.cap - step)

    return [(decide, "surplus", wrong)]


def _victims_in_the_order_they_come() -> list[Patch]:
    return [(victims, "_rank", lambda session, order: ())]


def _unknown_work_taken_as_idle() -> list[Patch]:
    rank = victims._rank

    def hasty(session: Session, order: VictimOrder) -> Any:
        is_unknown = session.work is Work.UNKNOWN
        return rank(replace(session, work=Work.NONE) if is_unknown else session, order)

    return [(victims, "_rank", hasty)]


def _one_too_many_of_equal_starts() -> list[Patch]:
    """The tie-break by session id goes the other way for Disconnected sessions."""
    rank = victims._rank

    def other(session: Session, order: VictimOrder) -> Any:
        is_back = session.status is SessionStatus.DISCONNECTED
        return (*rank(session, order)[:-1], ("" if is_back else "~") + session.session_id)

    return [(victims, "_rank", other)]


def _clock_step_extends_a_lease() -> list[Patch]:
    def naive(lease_until: datetime | None, now: datetime, length: timedelta = timedelta()) -> bool:
        return lease_until is not None and now < lease_until

    return [(claims, "is_live", naive), (ledger, "is_live", naive)]


def _a_younger_lease_looks_over() -> list[Patch]:
    """A lease that was written while a slow evaluation was on its way is taken for one of a clock set back."""
    return [(leases, "_SKEW", timedelta(seconds=5))]


def _another_clusters_order_over_all() -> list[Patch]:
    return [(decide, "order_over_all", lambda cap, policies: policies[max(policies)].policy.victim_order)]


def _claim_never_expires() -> list[Patch]:
    def for_ever(lease_until: datetime | None, now: datetime, length: timedelta = timedelta()) -> bool:
        return lease_until is not None

    return [(claims, "is_live", for_ever)]


def _duplicate_event_applies_twice() -> list[Patch]:
    from proctor.runtime import claiming  # noqa: PLC0415 - names the module it patches

    admit = claims.admit

    def lenient(existing: Any, now: datetime) -> Any:
        found = admit(existing, now)
        return claims.Admission.TAKE if found is claims.Admission.ALREADY_APPLIED else found

    return [(claiming, "admit", lenient)]


def _mend_drops_intents() -> list[Patch]:
    mended = ledger.mended

    def forgetful(*args: Any) -> Any:
        found = mended(*args)
        bare = {sid: replace(e, intent_until=None, intent_token=None) for sid, e in found.entries.items()}
        return replace(found, entries=bare)

    return [(memory, "mended", forgetful)]


def _a_dead_evaluators_person_stays_untold() -> list[Patch]:
    return [(decide, "about_gone", lambda situation, snapshot: [])]


def _weights_ignored() -> list[Patch]:
    return [(decide, "weight_of", lambda document, policy: 1)]


def _decision_reads_the_clock() -> list[Patch]:
    """`now` is taken from the machine inside the decision: another answer at each replay."""
    decides = decide.decide

    def impure(snapshot: Any) -> Any:
        return decides(replace(snapshot, now=snapshot.now.replace(microsecond=datetime.now().microsecond)))  # noqa: DTZ005

    return [(decide, "decide", impure)]


DECIDING = (
    PlantedBug("off by one at the cap: one too few allowed", lambda: _off_by_one(-1)),
    PlantedBug("off by one at the cap: one too many allowed", lambda: _off_by_one(1)),
    PlantedBug("victim order by dict order", _victims_in_the_order_they_come),
    PlantedBug("unknown work taken as idle", _unknown_work_taken_as_idle),
    PlantedBug("ties of the start broken otherwise", _one_too_many_of_equal_starts),
    PlantedBug("clock step backwards extends a lease", _clock_step_extends_a_lease),
    PlantedBug("a lease younger than the evaluation looks over", _a_younger_lease_looks_over),
    PlantedBug("the cap over all clusters takes another cluster's order", _another_clusters_order_over_all),
    PlantedBug("claim never expires", _claim_never_expires),
    PlantedBug("duplicate event applies twice", _duplicate_event_applies_twice),
    PlantedBug("mending the ledger drops intents", _mend_drops_intents),
    PlantedBug("whose evaluator died is never told", _a_dead_evaluators_person_stays_untold),
    PlantedBug("weights ignored", _weights_ignored),
    PlantedBug("the decision reads the machine's clock", _decision_reads_the_clock),
)
