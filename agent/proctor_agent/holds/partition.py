"""SetPartitionState: hold by state, re-asserted. Facts: scontrol(1), and each state tried on Slurm 22.05."""

from dataclasses import replace

from proctor.domain.agent_protocol import Intent, ObservedPartition, Outcome, SetPartitionState
from proctor_agent.holds.step import Step, act, done
from proctor_agent.slurm import writes
from proctor_agent.state.records import Record, Status

# A state that holds at least as much as the wanted one is left: INACTIVE neither accepts nor starts.
_SATISFIED = {
    "DOWN": frozenset({"DOWN", "INACTIVE"}),
    "DRAIN": frozenset({"DRAIN", "INACTIVE"}),
    "INACTIVE": frozenset({"INACTIVE"}),
}


def decide(intent: Intent, is_held: bool, seen: ObservedPartition | None, record: Record | None) -> Step:  # noqa: FBT001
    """What to do about one partition hold."""
    verb = intent.verb
    if not isinstance(verb, SetPartitionState):
        raise TypeError(verb)
    if seen is None:
        if is_held:
            return done(Outcome.REFUSED, f"partition {verb.partition} is not in Slurm", record)
        return done(Outcome.RELEASED, "the partition is gone", _released(intent, record))
    if is_held:
        return _hold(intent, verb, seen, record)
    return _release(intent, verb, seen, record)


def _hold(intent: Intent, verb: SetPartitionState, seen: ObservedPartition, record: Record | None) -> Step:
    state = verb.state.value
    ours = record if record is not None and record.status is Status.HELD else None
    previous = ours.previous if ours is not None else {"State": _before(intent, state, seen, record)}
    kept = Record(intent.sk, intent.rev, Status.HELD, state, previous)
    if ours is not None and seen.state == ours.set_value != state:
        # The hold was changed to another state: from our old one to the new one.
        return act(writes.set_partition_state(verb.partition, state), kept)
    if seen.state in _SATISFIED[state]:
        # Also when it is somebody else's stricter one: ours must not weaken it, nor lift it later.
        return done(Outcome.APPLIED, "" if seen.state == state else f"{seen.state} is in force", kept)
    undone = seen.state if ours is not None and ours.rev == intent.rev else ""
    return act(writes.set_partition_state(verb.partition, state), kept, undone=undone)


def _before(intent: Intent, state: str, seen: ObservedPartition, record: Record | None) -> str:
    """The state before the hold. Without a record it may be our own, from before the state was lost: then the intent knows."""
    if record is not None or seen.state != state:
        return seen.state
    return (intent.previous or {}).get("State", seen.state)


def _release(intent: Intent, verb: SetPartitionState, seen: ObservedPartition, record: Record | None) -> Step:
    if record is not None and record.status is Status.RELEASED:
        return done(Outcome.RELEASED, "", record)
    if record is None:
        return _release_unknown(intent, verb, seen)
    wanted = record.previous.get("State", "UP")
    if seen.state == record.set_value and wanted != seen.state:
        return act(writes.set_partition_state(verb.partition, wanted), replace(record, rev=intent.rev))
    detail = f"{wanted} was the state before the hold" if wanted == record.set_value else ""
    if seen.state != wanted:
        detail = f"{seen.state} was set by somebody else and stays"
    return done(Outcome.RELEASED, detail, _released(intent, record))


def _release_unknown(intent: Intent, verb: SetPartitionState, seen: ObservedPartition) -> Step:
    """No record: the state directory was lost. The intent's own previous value decides."""
    wanted = (intent.previous or {}).get("State")
    if seen.state != verb.state.value or wanted == seen.state:
        return done(Outcome.RELEASED, "nothing of ours is in force", _released(intent, None))
    if wanted is None:
        return done(Outcome.LEFT_ALONE, f"{seen.state} is in force, and no record says that it is ours")
    record = Record(intent.sk, intent.rev, Status.HELD, verb.state.value, {"State": wanted})
    return act(writes.set_partition_state(verb.partition, wanted), record)


def _released(intent: Intent, record: Record | None) -> Record:
    previous = record.previous if record is not None else {}
    return Record(intent.sk, intent.rev, Status.RELEASED, "", previous)
