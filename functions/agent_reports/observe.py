"""Trigger → Snapshot for agent_reports. Reads only.

Calls: a report costs one read of its agent (policies and node lists are cached for 60 s); the sweep one scan page per megabyte
of agents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from agent_reports.policy import AgentReportsPolicy
from agent_reports.snapshot import Approval, EnrolmentSeen, ReportSeen, Snapshot, Watch
from agent_reports.trigger import (
    Manual,
    MessageReceived,
    MessageRefused,
    Trigger,
)
from proctor.domain.agent_protocol import Enrolment, Header, Role
from proctor.domain.agent_writes import Cause
from proctor.domain.agents import AgentRecord, AgentSeen, ListedNode, agent_subject
from proctor.domain.decision import RunContext
from proctor.domain.errors import NotYetError, TransientError
from proctor.domain.policy import PolicyDraft
from proctor.domain.triggers import NoEvent, PolicyChanged, Sweep
from proctor.ports import PolicyStore
from proctor.ports.agents import AgentRegistry, NodeList

_LOOKS_AT_MOST = 6
"""Looks for an enrolment that a report has overtaken, in one batch: with the pauses between them at most five seconds."""

_LISTED_WITHIN = timedelta(minutes=10)
"""How long a new controller may take to be listed while its reports wait: four of the queue's five tries."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything agent_reports reads."""

    agents: AgentRegistry
    nodes: NodeList
    policies: PolicyStore[AgentReportsPolicy]
    governed: tuple[str, ...]


class Observer:
    """Observes for one batch."""

    def __init__(self, ports: Ports) -> None:
        """Take the ports; nothing is read yet."""
        self._ports = ports
        self._looks_left = _LOOKS_AT_MOST

    def __call__(self, trigger: Trigger, context: RunContext) -> Snapshot:
        """Read what this trigger needs."""
        match trigger:
            case MessageReceived():
                return self._message(trigger, context)
            case MessageRefused():
                return Snapshot(now=context.now, dropped=trigger.cause)
            case Sweep():
                return self._sweep(context)
            case PolicyChanged():
                drafts = self._drafts(trigger.cluster) if trigger.cluster in self._ports.governed else ()
                return self._snapshot(context, drafts=drafts)
            case NoEvent():
                return Snapshot(now=context.now)
            case Manual():
                return self._manual(trigger, context)
        assert_never(trigger)  # pragma: no cover - every trigger is above

    def _message(self, received: MessageReceived, context: RunContext) -> Snapshot:
        header = received.content.header
        if header.cluster not in self._ports.governed:
            return Snapshot(now=context.now, dropped=Cause.OTHER_CLUSTER)
        record = self._ports.agents.get(header.cluster, header.instance_id)
        received_at = min(received.received_at or context.now, context.now)
        if isinstance(received.content, Enrolment):
            return self._enrolment(
                EnrolmentSeen(
                    enrolment=received.content, received_at=received_at, record=record, listed=None
                ),
                context,
            )
        if record is None:
            return self._of_nobody(header, received_at, context)
        return self._snapshot(
            context, message=ReportSeen(envelope=received.content, received_at=received_at, record=record)
        )

    def _enrolment(self, seen: EnrolmentSeen, context: RunContext) -> Snapshot:
        """A key that is known already needs no look at the nodes. Raises TransientError while the node isn't listed yet."""
        header = seen.enrolment.header
        if seen.record is not None and seen.enrolment.key in (seen.record.key, seen.record.contender):
            return self._snapshot(context, message=seen)
        nodes = self._ports.nodes.nodes(header.cluster, header.instance_id)
        listed = nodes.get(header.instance_id)
        if listed is None and seen.record is None:
            message = f"an agent enrols whose node {header.cluster} does not list (yet)"
            raise TransientError(message)
        has_host_name = listed is None or listed.node is not None
        seen = EnrolmentSeen(
            enrolment=seen.enrolment,
            received_at=seen.received_at,
            record=seen.record,
            listed=listed,
            namesake=None if has_host_name else self._namesake(header, nodes),
        )
        return self._snapshot(context, message=seen)

    def _namesake(self, header: Header, nodes: Mapping[str, ListedNode]) -> str | None:
        """Who else has this node name. A node that is gone leaves its name, and its address, to another."""
        agents = (a for a in self._ports.agents.all() if (a.cluster, a.node) == (header.cluster, header.node))
        others = (a.instance_id for a in agents if a.instance_id != header.instance_id)
        return next((instance_id for instance_id in others if instance_id in nodes), None)

    def _of_nobody(self, header: Header, received_at: datetime, context: RunContext) -> Snapshot:
        """A report may overtake its agent's enrolment, which another evaluator then has in hand, or the queue in a moment.

        Raises NotYetError for a node that is there: it is looked for again within seconds, a few times in each batch, so that
        a flood can't hold the batch up; then the report waits in the queue. So does a controller's whose node is not listed
        yet: the snapshot of its start is said again after an hour only. Any other is dropped.
        """
        message = f"a report came before the enrolment of its agent on {header.cluster}"
        if header.instance_id in self._ports.nodes.nodes(header.cluster, header.instance_id):
            self._looks_left -= 1
            raise NotYetError(message) if self._looks_left >= 0 else TransientError(message)
        if header.role is Role.CONTROLLER and context.now - received_at < _LISTED_WITHIN:
            raise TransientError(message)
        return Snapshot(now=context.now, dropped=Cause.UNKNOWN_AGENT)

    def _sweep(self, context: RunContext) -> Snapshot:
        watches = self._watches(context)
        drafts = tuple(d for cluster in self._ports.governed for d in self._drafts(cluster))
        return self._snapshot(context, watches=watches, drafts=drafts, is_sweep=True)

    def _watches(self, context: RunContext) -> tuple[Watch, ...]:
        by_cluster: dict[str, list[AgentSeen]] = {cluster: [] for cluster in self._ports.governed}
        for agent in self._ports.agents.all():
            if agent.cluster in by_cluster:
                by_cluster[agent.cluster].append(agent)
        return tuple(self._watch(cluster, tuple(agents), context) for cluster, agents in by_cluster.items())

    def _watch(self, cluster: str, agents: tuple[AgentSeen, ...], context: RunContext) -> Watch:
        """Nodes are listed only when an agent is silent: it may be gone with its node."""
        in_force = self._ports.policies.in_force().get(cluster)
        policy = in_force.policy if in_force is not None else AgentReportsPolicy()
        is_quiet = any(agent.is_silent(context.now, policy.silent_after) for agent in agents)
        listed = self._ports.nodes.nodes(cluster) if is_quiet else None
        return Watch(cluster=cluster, agents=agents, listed=listed)

    def _manual(self, manual: Manual, context: RunContext) -> Snapshot:
        if manual.approvals:
            approvals = tuple(
                Approval(a.cluster, a.instance_id, a.fingerprint, self._known(a.cluster, a.instance_id))
                for a in manual.approvals
            )
            return self._snapshot(context, approvals=approvals, is_rehearsal=manual.is_dry_run)
        watches = self._watches(context)
        unknown: tuple[str, ...] = ()
        if manual.instance_id is not None:
            watches = tuple(
                Watch(
                    cluster=w.cluster,
                    agents=tuple(a for a in w.agents if a.instance_id == manual.instance_id),
                    listed=w.listed,
                )
                for w in watches
            )
            if not any(w.agents for w in watches):
                unknown = (agent_subject("*", manual.instance_id),)
        return self._snapshot(
            context, watches=watches, unknown_requests=unknown, is_rehearsal=manual.is_dry_run
        )

    def _known(self, cluster: str, instance_id: str) -> AgentRecord | None:
        return self._ports.agents.get(cluster, instance_id) if cluster in self._ports.governed else None

    def _drafts(self, cluster: str) -> tuple[PolicyDraft, ...]:
        draft = self._ports.policies.draft(cluster)
        return () if draft is None else (draft,)

    def _snapshot(  # noqa: PLR0913 - one keyword per part of the snapshot
        self,
        context: RunContext,
        *,
        message: ReportSeen | EnrolmentSeen | None = None,
        watches: tuple[Watch, ...] = (),
        drafts: tuple[PolicyDraft, ...] = (),
        approvals: tuple[Approval, ...] = (),
        unknown_requests: tuple[str, ...] = (),
        is_sweep: bool = False,
        is_rehearsal: bool = False,
    ) -> Snapshot:
        return Snapshot(
            now=context.now,
            policies=self._ports.policies.in_force(),
            message=message,
            watches=watches,
            is_sweep=is_sweep,
            drafts=drafts,
            approvals=approvals,
            unknown_requests=unknown_requests,
            is_rehearsal=is_rehearsal,
        )
