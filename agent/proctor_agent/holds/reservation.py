"""ReserveNodes: a maintenance reservation for root. It takes nodes, so it closes every partition on them."""

from collections.abc import Collection, Mapping

from proctor.domain.agent_protocol import (
    Intent,
    ObservedPartition,
    ObservedReservation,
    Outcome,
    ReserveNodes,
)
from proctor_agent.holds.step import Step, act, done
from proctor_agent.slurm import writes
from proctor_agent.slurm.hostlist import expand, same_names
from proctor_agent.state.records import Record, Status


def decide(
    intent: Intent,
    is_held: bool,  # noqa: FBT001
    seen: ObservedReservation | None,
    partitions: Mapping[str, ObservedPartition],
    known_nodes: Collection[str],
    record: Record | None,
) -> Step:
    """What to do about one reservation. Its name starts with `proctor-`, so it can only be ours."""
    verb = intent.verb
    if not isinstance(verb, ReserveNodes):
        raise TypeError(verb)
    if not is_held:
        return _release(intent, verb, seen, record)
    if verb.partition is not None:
        partition = partitions.get(verb.partition)
        if partition is None or not partition.nodes:
            return done(
                Outcome.REFUSED, f"partition {verb.partition} is not in Slurm or has no nodes", record
            )
        nodes = partition.nodes
    else:
        unknown = sorted(set(verb.nodes) - set(known_nodes))
        if unknown:
            return done(Outcome.REFUSED, f"nodes not in Slurm: {', '.join(unknown[:5])}", record)
        nodes = ",".join(verb.nodes)
    kept = Record(intent.sk, intent.rev, Status.HELD, "reserved", {})
    if seen is None:
        is_lost = record is not None and record.status is Status.HELD and record.rev == intent.rev
        return act(
            writes.create_reservation(verb.name, nodes), kept, undone="no reservation" if is_lost else ""
        )
    if not same_names(expand(seen.nodes), expand(nodes)):
        return act(writes.update_reservation(verb.name, nodes), kept)
    return done(Outcome.APPLIED, "", kept)


def _release(
    intent: Intent, verb: ReserveNodes, seen: ObservedReservation | None, record: Record | None
) -> Step:
    if seen is None:
        return done(Outcome.RELEASED, "", Record(intent.sk, intent.rev, Status.RELEASED, "", {}))
    kept = record or Record(intent.sk, intent.rev, Status.HELD, "reserved", {})
    return act(writes.delete_reservation(verb.name), kept)
