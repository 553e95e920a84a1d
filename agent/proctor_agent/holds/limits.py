"""LimitAccount and LimitPartitionQos: holds kept in slurmdbd, by a field that really binds.

A QOS that sets a field voids the account's limit of that field (resource_limits: partition QOS, job QOS, association; the
first that sets a field wins). So the field is one that no QOS usable by the account sets: GrpJobs, else the node entry of
GrpTRES. Both were tried on Slurm 22.05: pending jobs stay, running ones go on, no other account is touched.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from proctor.domain.agent_protocol import (
    Intent,
    LimitAccount,
    LimitPartitionQos,
    ObservedAssociation,
    ObservedLimits,
    ObservedPartition,
    ObservedQos,
    Outcome,
)
from proctor_agent.holds.step import Step, act, done
from proctor_agent.slurm import fields, writes
from proctor_agent.slurm.parse import SchedulerLimits
from proctor_agent.state.records import Record, Status

HOLD_FIELDS = ("GrpJobs", "GrpTRES/node")
SUBMIT_FIELD = "GrpSubmitJobs"
_HELD = "0"
_Command = Callable[[Mapping[str, str]], writes.Argv]


@dataclass(frozen=True)
class Accounting:
    """What accounting says: settings, associations, QOS, partitions; the ground of every decision here."""

    limits: ObservedLimits
    associations: Sequence[ObservedAssociation]
    qos: Sequence[ObservedQos]
    partitions: Mapping[str, ObservedPartition]


def accounts_below(associations: Iterable[ObservedAssociation], account: str) -> set[str]:
    """The account and every account under it."""
    parents = {row.account: row.parent for row in associations if not row.login_name}
    below = {account} & parents.keys()
    while True:
        more = {name for name, parent in parents.items() if parent in below} - below
        if not more:
            return below
        below |= more


def usable_qos(accounting: Accounting, account: str) -> list[ObservedQos]:
    """QOS that a job of the account may run under: listed for it or a person in it, or a partition's own."""
    below = accounts_below(accounting.associations, account)
    names = {name for row in accounting.associations if row.account in below for name in row.qos}
    names |= {row.qos for row in accounting.partitions.values() if row.qos}
    return [row for row in accounting.qos if row.name in names]


def is_set(qos: ObservedQos, field: str) -> bool:
    """Whether a QOS sets this field itself."""
    if field == "GrpJobs":
        return qos.grp_jobs is not None
    if field == SUBMIT_FIELD:
        return qos.grp_submit_jobs is not None
    return fields.tres_entry(qos.grp_tres, "node") is not None


def voiding(rows: Iterable[ObservedQos], field: str) -> list[str]:
    """Names of the QOS that void this field."""
    return sorted(row.name for row in rows if is_set(row, field))


def decide_account(
    intent: Intent,
    is_held: bool,  # noqa: FBT001
    accounting: Accounting,
    seen: SchedulerLimits | None,
    record: Record | None,
) -> Step:
    """What to do about one account hold. `seen` is what slurmctld enforces now; None when it has no such account."""
    verb = intent.verb
    if not isinstance(verb, LimitAccount):
        raise TypeError(verb)
    cluster = accounting.limits.cluster_name

    def command(values: Mapping[str, str]) -> writes.Argv:
        return writes.limit_account(cluster, verb.account, values)

    if not is_held:
        return _release(intent, seen, record, command)
    if not accounting.limits.do_limits_bind:
        return _not_enforced(accounting.limits, record)
    if verb.account not in accounts_below(accounting.associations, verb.account) or seen is None:
        return done(Outcome.REFUSED, f"account {verb.account} is not in Slurm", record)
    rows = usable_qos(accounting, verb.account)
    free = [field for field in HOLD_FIELDS if not voiding(rows, field)]
    if not free:
        names = ", ".join(sorted({name for field in HOLD_FIELDS for name in voiding(rows, field)}))
        return done(Outcome.CANNOT_BIND, f"QOS {names} set every field a hold could use", record)
    kept = record.previous if record is not None and record.status is Status.HELD else {}
    wanted = {next((field for field in free if field in kept), free[0])}
    detail = ""
    if verb.refuse_submissions:
        void = voiding(rows, SUBMIT_FIELD)
        detail = f"submissions can't be refused: QOS {', '.join(void)} set {SUBMIT_FIELD}" if void else ""
        wanted |= set() if void else {SUBMIT_FIELD}
    return _hold(intent, wanted, seen, record, command, detail)


def decide_partition_qos(
    intent: Intent,
    is_held: bool,  # noqa: FBT001
    accounting: Accounting,
    seen: SchedulerLimits | None,
    record: Record | None,
) -> Step:
    """What to do about a hold by partition QOS."""
    verb = intent.verb
    if not isinstance(verb, LimitPartitionQos):
        raise TypeError(verb)

    def command(values: Mapping[str, str]) -> writes.Argv:
        return writes.limit_qos(verb.qos, values)

    if not is_held:
        return _release(intent, seen, record, command)
    if not accounting.limits.do_limits_bind:
        return _not_enforced(accounting.limits, record)
    refusal = _qos_refusal(verb, accounting)
    if refusal or seen is None:
        return done(Outcome.REFUSED, refusal or f"QOS {verb.qos} is not in Slurm", record)
    over = [row for row in accounting.qos if "OverPartQOS" in row.flags and row.name != verb.qos]
    void = voiding(over, "GrpJobs")
    if void:
        return done(
            Outcome.CANNOT_BIND, f"QOS {', '.join(void)} set GrpJobs over the partition's QOS", record
        )
    return _hold(intent, {"GrpJobs"}, seen, record, command, "")


def _not_enforced(limits: ObservedLimits, record: Record | None) -> Step:
    enforce = ",".join(limits.enforce) or "nothing"
    return done(Outcome.CANNOT_BIND, f"AccountingStorageEnforce has {enforce}; limits is needed", record)


def _qos_refusal(verb: LimitPartitionQos, accounting: Accounting) -> str:
    partition = accounting.partitions.get(verb.partition)
    if partition is None:
        return f"partition {verb.partition} is not in Slurm"
    if partition.qos != verb.qos:
        return f"partition {verb.partition} has QOS={partition.qos or 'none'}, not {verb.qos}"
    others = [row.name for row in accounting.partitions.values() if row.qos == verb.qos]
    if len(others) > 1:
        return f"QOS {verb.qos} is also that of {', '.join(sorted(set(others) - {verb.partition}))}"
    users = sorted({row.account for row in accounting.associations if verb.qos in row.qos})
    if users:
        return f"QOS {verb.qos} may be used by {', '.join(users[:5])} in other partitions too"
    return ""


def _hold(
    intent: Intent,
    wanted: set[str],
    seen: SchedulerLimits,
    record: Record | None,
    command: _Command,
    detail: str,
) -> Step:
    ours = record if record is not None and record.status is Status.HELD else None
    before = dict(ours.previous) if ours is not None else {}
    previous = {field: before.get(field) or _before(intent, seen, field, record) for field in sorted(wanted)}
    # The QOS is kept too: a release without the intent must know it.
    subject = intent.verb.qos if isinstance(intent.verb, LimitPartitionQos) else intent.verb.subject
    kept = Record(intent.sk, intent.rev, Status.HELD, subject, previous)
    missing = {field for field in wanted if seen.value(field) != _HELD}
    values = dict.fromkeys(missing, _HELD)
    # A field held before and no longer wanted goes back to what it was.
    values |= {
        field: value
        for field, value in before.items()
        if field not in wanted and seen.value(field) == _HELD and value != _HELD
    }
    if not values:
        return done(Outcome.APPLIED, detail, kept)
    is_undone = ours is not None and ours.rev == intent.rev and bool(missing & before.keys())
    undone = ",".join(f"{field}={seen.value(field)}" for field in sorted(missing)) if is_undone else ""
    return act(command(values), replace(kept, previous=before | previous), detail, undone)


def _before(intent: Intent, seen: SchedulerLimits, field: str, record: Record | None) -> str:
    """What the field was. A 0 without a record may be our own from before the state was lost: then the intent knows."""
    value = seen.value(field)
    if record is not None or value != _HELD:
        return value
    return (intent.previous or {}).get(field, value)


def _release(intent: Intent, seen: SchedulerLimits | None, record: Record | None, command: _Command) -> Step:
    if record is not None and record.status is Status.RELEASED:
        return done(Outcome.RELEASED, "", record)
    previous = dict(record.previous) if record is not None else dict(intent.previous or {})
    released = Record(intent.sk, intent.rev, Status.RELEASED, "", previous)
    if seen is None:
        return done(Outcome.RELEASED, "Slurm no longer has it", released)
    values = {
        field: value for field, value in previous.items() if seen.value(field) == _HELD and value != _HELD
    }
    if values:
        kept = record or Record(intent.sk, intent.rev, Status.HELD, intent.verb.subject, previous)
        return act(command(values), kept)
    held = [field for field in HOLD_FIELDS if seen.value(field) == _HELD]
    if record is None and not previous and held:
        return done(Outcome.LEFT_ALONE, f"{held[0]}=0 is in force, and no record says that it is ours")
    detail = "0 was the limit before the hold" if held else ""
    return done(Outcome.RELEASED, detail, released)
