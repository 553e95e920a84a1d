"""`release --all-ours`: let go of everything before the agent is removed."""

from datetime import datetime, timezone

from proctor.domain.agent_protocol import (
    OUR_REASON_PREFIX,
    OUR_RESERVATION_PREFIX,
    Intent,
    IntentResult,
    LimitAccount,
    LimitPartitionQos,
    Outcome,
    PartitionState,
    ProtocolError,
    ReserveNodes,
    ResumeNode,
    SetPartitionState,
    Verb,
)
from proctor_agent.errors import AgentError
from proctor_agent.holds.reconciler import Reconciler
from proctor_agent.slurm.reads import SlurmReads
from proctor_agent.state.intents import IntentBook
from proctor_agent.state.records import Record, Records, Status

_NEVER = datetime(9999, 1, 1, tzinfo=timezone.utc)
_ANY_INSTANCE = "i-00000000"


def release_all_ours(
    pk: str, book: IntentBook, records: Records, reads: SlurmReads, reconciler: Reconciler
) -> list[IntentResult]:
    """Release every recorded hold, every `proctor-` reservation and every `proctor:` drain; one result each.

    AgentError when a record can't be understood: nothing is released then, rather than a part.
    """
    verbs: dict[str, Verb] = {}
    for record in records:
        if record.status is Status.HELD:
            known = book.get(record.sk)
            verbs[record.sk] = known.verb if known is not None else _verb(record)
    for name in reads.reservations():
        if name.startswith(OUR_RESERVATION_PREFIX):
            verbs.setdefault(f"reservation#{name}", ReserveNodes(name, partition="any"))
    for row in reads.nodes():
        if row.reason.startswith(OUR_REASON_PREFIX):
            verbs[f"node#{row.name}"] = ResumeNode(row.name, _ANY_INSTANCE)
    intents = [_released(pk, verb) for verb in verbs.values()]
    return reconciler.run(intents).results


def has_all_gone(results: list[IntentResult]) -> bool:
    """Whether nothing of ours is left in force."""
    return all(result.outcome in {Outcome.RELEASED, Outcome.LEFT_ALONE} for result in results)


def _released(pk: str, verb: Verb) -> Intent:
    # A ResumeNode is carried out while held; every other verb is released.
    return Intent(pk, verb, isinstance(verb, ResumeNode), "release_all", 1, _NEVER)


def _verb(record: Record) -> Verb:
    """The verb of a record whose intent is no longer known; AgentError when the record does not say."""
    kind, _, subject = record.sk.partition("#")
    try:
        if kind == "partition":
            return SetPartitionState(subject, PartitionState(record.set_value))
        if kind == "account":
            return LimitAccount(subject)
        if kind == "partition_qos":
            return LimitPartitionQos(subject, record.set_value)
        if kind == "reservation":
            return ReserveNodes(subject, partition="any")
        return ResumeNode(subject, _ANY_INSTANCE)
    except (ProtocolError, ValueError) as error:
        raise AgentError(f"{record.sk}: this hold of ours can't be read back: {error}") from error
