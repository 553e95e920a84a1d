"""Agents that say nothing. Their state is unknown to every rule by its age; here it becomes an alarm."""

from collections.abc import Sequence
from datetime import datetime

from agent_reports.snapshot import Snapshot, Watch
from agent_reports.verdicts import found
from proctor.domain.agent_protocol import Role
from proctor.domain.agent_writes import AlarmOperators, ChangesWrite, SilenceCount, SilenceWrite
from proctor.domain.agents import AgentSeen, AgentState
from proctor.domain.decision import Case, MemoryWrite, Verdict

_MARKED_AT_MOST = 100
_NAMED_AT_MOST = 10


def sweep_cases(watch: Watch, snapshot: Snapshot) -> list[Case]:
    """One verdict a cluster, marks on agents that fell silent or went with their node, and changes that were held back."""
    silent, gone = _silent(watch, snapshot)
    subject = f"agents#{watch.cluster}"
    count = SilenceCount(
        controllers=sum(a.role is Role.CONTROLLER for a in silent),
        nodes=sum(a.role is Role.NODE for a in silent),
    )
    marks = [_mark(agent, AgentState.GONE, agent.last_seen_at) for agent in gone]
    marks += [_mark(a, a.state, a.last_seen_at) for a in silent if a.silent_since is None]
    return [
        _memory(f"{subject}#count", count),
        Case(subject=subject, verdicts=(_verdict(watch, silent, snapshot),)),
        *marks[:_MARKED_AT_MOST],
        _memory(f"{subject}#changes", ChangesWrite(watch.cluster)),
    ]


def state_cases(watch: Watch, snapshot: Snapshot) -> list[Case]:
    """What an operator asked about: each agent's state, of at most a hundred."""
    policy = snapshot.policy(watch.cluster)
    return [
        Case(
            subject=agent.subject,
            verdicts=(
                found(
                    snapshot,
                    watch.cluster,
                    agent.subject,
                    rule="state",
                    reason="silent"
                    if agent.is_silent(snapshot.now, policy.silent_after)
                    else agent.state.value,
                    text=f"{_named(agent)} ({agent.role.value}, {agent.state.value})",
                ),
            ),
        )
        for agent in sorted(watch.agents, key=lambda a: a.last_seen_at)[:_MARKED_AT_MOST]
    ]


def _silent(watch: Watch, snapshot: Snapshot) -> tuple[list[AgentSeen], list[AgentSeen]]:
    """(silent, gone with their node), longest silence first."""
    after = snapshot.policy(watch.cluster).silent_after
    found_silent = [a for a in watch.agents if a.is_silent(snapshot.now, after)]
    found_silent.sort(key=lambda a: (a.last_seen_at, a.instance_id))
    listed = watch.listed
    if listed is None:
        return found_silent, []
    gone = [a for a in found_silent if a.instance_id not in listed]
    return [a for a in found_silent if a.instance_id in listed], gone


def _verdict(watch: Watch, silent: Sequence[AgentSeen], snapshot: Snapshot) -> Verdict:
    subject = f"agents#{watch.cluster}"
    present = [a for a in watch.agents if a.state is not AgentState.GONE]
    controllers = [a for a in silent if a.role is Role.CONTROLLER]
    if not silent:
        return found(
            snapshot,
            watch.cluster,
            subject,
            rule="silence",
            reason="all_heard",
            text=f"all {len(present)} agents are heard",
        )
    named = ", ".join(_named(a) for a in silent[:_NAMED_AT_MOST])
    more = f" and {len(silent) - _NAMED_AT_MOST} more" if len(silent) > _NAMED_AT_MOST else ""
    text = f"{len(silent)} of {len(present)} agents on {watch.cluster} are silent: {named}{more}"
    return found(
        snapshot,
        watch.cluster,
        subject,
        rule="silence",
        reason="controller_silent" if controllers else "agents_silent",
        text=text,
        inputs={"silent": len(silent), "agents": len(present)},
        action=_alarm(watch.cluster, text) if controllers else None,
        episode=f"{controllers[0].instance_id}-{_stamp(controllers[0].last_seen_at)}"
        if controllers
        else "once",
        step="tell",
    )


def _alarm(cluster: str, text: str) -> AlarmOperators:
    return AlarmOperators(
        subject=f"agents#{cluster}",
        headline=f"Proctor: the controller's agent on {cluster} is silent",
        text=f"{text}. What Slurm looks like is unknown to every rule until it reports again; holds in force stay in force.",
        next_steps=(
            "on the controller, run `systemctl status proctor-agent` and `journalctl -u proctor-agent`",
            "check the dead-letter queue of the controller's reports, and that the node's role may send to its queue",
        ),
    )


def _mark(agent: AgentSeen, state: AgentState, since: datetime) -> Case:
    return _memory(agent.subject, SilenceWrite(agent, state, since), agent.rev)


def _memory(subject: str, data: object, rev: int = 0) -> Case:
    return Case(
        subject=subject, verdicts=(), memory=MemoryWrite(subject=subject, data=data, expected_rev=rev)
    )


def _named(agent: AgentSeen) -> str:
    return f"{agent.node} ({agent.instance_id}), last heard {agent.last_seen_at:%Y-%m-%d %H:%M:%S} UTC"


def _stamp(at: datetime) -> str:
    return f"{at:%Y%m%dT%H%M%SZ}"
