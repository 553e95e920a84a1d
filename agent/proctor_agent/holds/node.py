"""DrainNode and ResumeNode: only over reasons that are ours. An administrator's word wins."""

from proctor.domain.agent_protocol import (
    KEPT_REASONS,
    OUR_REASON_PREFIX,
    DrainNode,
    Intent,
    ObservedNode,
    Outcome,
    ResumeNode,
)
from proctor.domain.agent_protocol.names import REBOOTED_REASON
from proctor_agent.holds.step import Step, act, done
from proctor_agent.slurm import writes
from proctor_agent.slurm.fields import is_draining
from proctor_agent.state.records import Record, Status

# Reasons that slurmctld itself writes on a node that is down: a drain may follow them.
_SLURMS_OWN = ("Not responding", REBOOTED_REASON)


def decide(intent: Intent, is_held: bool, seen: ObservedNode | None, record: Record | None) -> Step:  # noqa: FBT001
    """What to do about one node."""
    verb = intent.verb
    if not isinstance(verb, (DrainNode, ResumeNode)):
        raise TypeError(verb)
    if seen is None:
        return done(Outcome.REFUSED, f"node {verb.node} is not in Slurm", record)
    if seen.reason.startswith(KEPT_REASONS):
        return done(Outcome.LEFT_ALONE, f"HyperPod is at work: {seen.reason}", record)
    if isinstance(verb, DrainNode) and is_held:
        return _drain(intent, verb, seen, record)
    if isinstance(verb, ResumeNode) and not is_held:
        return done(Outcome.RELEASED, "", record)
    may_clear_rebooted = isinstance(verb, ResumeNode) and verb.may_clear_rebooted
    return _resume(intent, verb.node, seen, record, may_clear_rebooted=may_clear_rebooted)


def _drain(intent: Intent, verb: DrainNode, seen: ObservedNode, record: Record | None) -> Step:
    is_ours = seen.reason.startswith(OUR_REASON_PREFIX)
    kept = Record(intent.sk, intent.rev, Status.HELD, verb.reason, {})
    if is_draining(seen.state) or (seen.reason and seen.state == "down"):
        if is_ours and is_draining(seen.state):
            return done(Outcome.APPLIED, "" if seen.reason == verb.reason else seen.reason, kept)
        if not is_ours and seen.reason not in _SLURMS_OWN:
            return done(Outcome.LEFT_ALONE, f"{seen.state}: {seen.reason}", record)
    if record is not None and record.rev == intent.rev and record.status is not Status.RELEASED:
        # We had drained it for this observation, and it takes jobs again: a person resumed it.
        resumed = Record(intent.sk, intent.rev, Status.RESUMED, verb.reason, {})
        return done(Outcome.UNDONE_BY_PERSON, f"{seen.state}; stays so until a new observation", resumed)
    return act(writes.drain_node(verb.node, verb.reason), kept)


def _resume(
    intent: Intent, node: str, seen: ObservedNode, record: Record | None, *, may_clear_rebooted: bool
) -> Step:
    released = Record(intent.sk, intent.rev, Status.RELEASED, "", {})
    is_out = is_draining(seen.state) or seen.state == "down"
    if not is_out:
        return done(Outcome.RELEASED, "", released)
    is_ours = seen.reason.startswith(OUR_REASON_PREFIX)
    if is_ours or (may_clear_rebooted and seen.reason == REBOOTED_REASON):
        return act(writes.resume_node(node), record or Record(intent.sk, intent.rev, Status.HELD, "", {}))
    return done(Outcome.LEFT_ALONE, f"{seen.state}: {seen.reason or 'no reason'}", released)
