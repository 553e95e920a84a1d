"""Trigger → Snapshot for session_limits.

Reads only, but for two notes to Proctor's own memory whose answer is what is read: a started session in its person's ledger
(docs/decisions/0002), and the time of each cluster's first sweep.

Calls: a start within the cap costs one read of the directory and one ledger write; over it, one listing more. The sweep
costs one call per 200 sessions, per 50 owners and per 2,000 ledgers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from proctor.domain.decision import RunContext
from proctor.domain.identity import Person, find_person, owns
from proctor.domain.ledger import LedgerEntry, PersonLedger, SeenBy
from proctor.domain.policy import PolicyInForce
from proctor.domain.sessions import GovernedClusters, Node, Session, SessionStatus, Target, parse_target
from proctor.domain.triggers import NoEvent, PolicyChanged, Sweep
from proctor.ports import (
    ClusterApi,
    Counters,
    ExemptionStore,
    PeopleDirectory,
    PolicyStore,
    SessionLedger,
    SessionManager,
)
from session_limits import FUNCTION
from session_limits.caps import fits, weight_of
from session_limits.policy import SessionLimitsPolicy
from session_limits.snapshot import Located, Path, Situation, Snapshot
from session_limits.trigger import Manual, SessionSeen, Trigger


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything session_limits reads."""

    sessions: SessionManager
    clusters: ClusterApi
    people: PeopleDirectory
    policies: PolicyStore[SessionLimitsPolicy]
    exemptions: ExemptionStore
    ledger: SessionLedger
    counters: Counters
    governed: tuple[str, ...]


class Observer:
    """Observes for one batch: the listing is read once and read again only after a lost race."""

    def __init__(self, ports: Ports) -> None:
        """Take the ports; nothing is read yet."""
        self._ports = ports
        self._listed: Sequence[Session] | None = None

    def __call__(self, trigger: Trigger, context: RunContext) -> Snapshot:
        """Read what this trigger needs."""
        if context.attempt:
            self._listed = None
        view = _View(self._ports, context, self._ports.policies.in_force())
        match trigger:
            case SessionSeen():
                return self._seen(trigger, view)
            case NoEvent():
                return view.snapshot(Path.EVENT)
            case PolicyChanged():
                drafts = [] if trigger.cluster not in self._ports.governed else [trigger.cluster]
                return view.snapshot(Path.EVENT, drafts=drafts)
            case Sweep():
                return self._sweep(view)
            case Manual():
                return self._manual(trigger, view)

    def _seen(self, seen: SessionSeen, view: "_View") -> Snapshot:
        subject = f"session#{seen.session_id}"
        target = parse_target(seen.target)
        if seen.name == "ResumeSession":
            return self._resumed(seen, view)
        node = view.clusters([target] if target else []).locate(target)
        if node is None:
            return view.snapshot(
                Path.EVENT, not_ours=[(subject, "its target is no node of a governed cluster")]
            )
        in_force = view.policies.get(node.cluster)
        if in_force is None:
            return view.snapshot(Path.EVENT, not_ours=[(subject, f"{node.cluster} has no policy in force")])
        session = Session(
            session_id=seen.session_id,
            owner_arn=seen.owner_arn,
            owner=seen.owner,
            target=target,
            status=SessionStatus.CONNECTED,
            started_at=seen.started_at,
            document_name=seen.document_name,
        )
        holder, person = view.holder(session, view.directory([session]), in_force.policy)
        entry = LedgerEntry(
            cluster=node.cluster,
            seen_by=SeenBy.EVENT,
            seen_at=view.context.now,
            weight=weight_of(seen.document_name, in_force.policy),
        )
        ledger = self._ports.ledger.note_started(holder, seen.session_id, entry)
        if person is None or fits(person, ledger, view.policies, view.exemptions, view.context.now):
            here = (Located(session, node),)
            return view.snapshot(
                Path.EVENT,
                [Situation(holder=holder, person=person, sessions=here, ledger=ledger, is_complete=False)],
            )
        return view.snapshot(Path.EVENT, [self._whole(person, ledger, view)])

    def _resumed(self, seen: SessionSeen, view: "_View") -> Snapshot:
        """A resume names no target: look at everything its owner has."""
        found = [item for item in self._ours(view) if item.session.session_id == seen.session_id]
        situations = self._situations(found, view)
        not_ours = (
            [] if found else [(f"session#{seen.session_id}", "no active session of a governed cluster")]
        )
        return view.snapshot(Path.EVENT, situations, not_ours=not_ours)

    def _sweep(self, view: "_View") -> Snapshot:
        ledgers = self._ports.ledger.all()
        situations = self._grouped(self._ours(view), view, ledgers)
        known = {s.holder for s in situations}
        situations += [
            Situation(
                holder=holder,
                person=self._ports.people.by_login_name(holder) if ledger.has_intents else None,
                sessions=(),
                ledger=ledger,
                is_complete=True,
            )
            for holder, ledger in sorted(ledgers.items())
            if holder not in known and (ledger.entries or ledger.unannounced)
        ]
        self._ports.counters.first(f"{FUNCTION}#first_sweep", view.context.now)  # `proctor status` shows it
        first_sweeps = {
            cluster: self._ports.counters.first(f"{FUNCTION}#first_sweep#{cluster}", view.context.now)
            for cluster in sorted(view.policies)
        }
        return view.snapshot(Path.SWEEP, situations, drafts=self._ports.governed, first_sweeps=first_sweeps)

    def _manual(self, manual: Manual, view: "_View") -> Snapshot:
        ours = self._ours(view)
        if manual.scope_kind == "all":
            situations = self._grouped(ours, view, self._ports.ledger.all())
        elif manual.scope_kind == "person":
            person = self._ports.people.by_login_name(manual.scope_id)
            ledger = self._ports.ledger.get(manual.scope_id)
            situations = [self._whole(person, ledger, view)] if person else []
        elif manual.scope_kind == "node":
            situations = self._situations([i for i in ours if i.node.instance_id == manual.scope_id], view)
        else:
            wanted = set(manual.ends) or {manual.scope_id}
            situations = self._situations([i for i in ours if i.session.session_id in wanted], view)
        found = {f"session#{item.session.session_id}" for s in situations for item in s.sessions}
        found |= {f"person#{s.holder}" for s in situations} | {f"node#{i.node.instance_id}" for i in ours}
        asked = [f"session#{sid}" for sid in manual.ends]
        if manual.scope_kind not in (None, "all"):
            asked.append(f"{manual.scope_kind}#{manual.scope_id}")
        return view.snapshot(
            Path.MANUAL,
            situations,
            requested_ends=frozenset(manual.ends),
            unknown_requests=tuple(subject for subject in asked if subject not in found),
            requested_by=manual.requested_by,
        )

    def _ours(self, view: "_View") -> list[Located]:
        if self._listed is None:
            self._listed = self._ports.sessions.active_sessions()
        clusters = view.clusters([s.target for s in self._listed if s.target])
        located = ((s, clusters.locate(s.target)) for s in self._listed)
        return [Located(s, node) for s, node in located if node is not None and node.cluster in view.policies]

    def _whole(self, person: Person, ledger: PersonLedger, view: "_View") -> Situation:
        """Everything one person has, from the listing."""
        mine = tuple(
            item
            for item in self._ours(view)
            if item.session.owner is not None
            and owns(person, item.session.owner, view.policies[item.node.cluster].policy.trusted_roles)
        )
        return Situation(
            holder=person.login_name, person=person, sessions=mine, ledger=ledger, is_complete=True
        )

    def _situations(self, found: Sequence[Located], view: "_View") -> list[Situation]:
        """The whole situation of whoever holds the found sessions; one ledger read per holder."""
        directory = view.directory([item.session for item in found])
        situations: dict[str, Situation] = {}
        for item in found:
            holder, person = view.holder(item.session, directory, view.policies[item.node.cluster].policy)
            if holder in situations:
                continue
            ledger = self._ports.ledger.get(holder)
            if person is not None:
                situations[holder] = self._whole(person, ledger, view)
            else:
                theirs = tuple(i for i in self._ours(view) if i.session.owner_arn == item.session.owner_arn)
                situations[holder] = Situation(
                    holder=holder, person=None, sessions=theirs, ledger=ledger, is_complete=True
                )
        return list(situations.values())

    def _grouped(
        self, ours: Sequence[Located], view: "_View", ledgers: Mapping[str, PersonLedger]
    ) -> list[Situation]:
        directory = view.directory([item.session for item in ours])
        groups: dict[str, tuple[Person | None, list[Located]]] = {}
        for item in ours:
            holder, person = view.holder(item.session, directory, view.policies[item.node.cluster].policy)
            groups.setdefault(holder, (person, []))[1].append(item)
        return [
            Situation(
                holder=holder,
                person=person,
                sessions=tuple(items),
                ledger=ledgers.get(holder, PersonLedger(holder=holder)),
                is_complete=True,
            )
            for holder, (person, items) in sorted(groups.items())
        ]


class _View:
    """What one evaluation has read so far."""

    def __init__(
        self, ports: Ports, context: RunContext, policies: Mapping[str, PolicyInForce[SessionLimitsPolicy]]
    ) -> None:
        self._ports = ports
        self.context = context
        self.policies = policies
        self.exemptions = tuple(ports.exemptions.for_function(FUNCTION))

    def clusters(self, targets: Iterable[Target]) -> GovernedClusters:
        """Governed clusters with the policies' extra login nodes; those are never looked up."""
        extra = {
            node: Node(cluster, None, node)
            for cluster, in_force in self.policies.items()
            for node in in_force.policy.extra_login_nodes
        }
        found = self._ports.clusters.governed([t for t in targets if t.instance_id not in extra])
        return GovernedClusters(found.names_by_id, {**found.nodes, **extra})

    def directory(self, sessions: Iterable[Session]) -> Mapping[str, Person]:
        """Directory rows of the owners of these sessions."""
        return self._ports.people.by_owner({s.owner for s in sessions if s.owner is not None})

    def holder(
        self, session: Session, directory: Mapping[str, Person], policy: SessionLimitsPolicy
    ) -> tuple[str, Person | None]:
        """Who holds a session: a login name, or `owner:<arn>` for an owner that no row names."""
        person = None
        if session.owner is not None:
            person = find_person(session.owner, directory, policy.trusted_roles)
        return (person.login_name if person else f"owner:{session.owner_arn}"), person

    def snapshot(  # noqa: PLR0913 - one keyword for each thing a snapshot may add
        self,
        path: Path,
        situations: Sequence[Situation] = (),
        *,
        drafts: Iterable[str] = (),
        not_ours: Sequence[tuple[str, str]] = (),
        requested_ends: frozenset[str] = frozenset(),
        unknown_requests: tuple[str, ...] = (),
        requested_by: str = "",
        first_sweeps: Mapping[str, datetime] | None = None,
    ) -> Snapshot:
        """The finished snapshot; reads the drafts of the named clusters."""
        read = [self._ports.policies.draft(cluster) for cluster in drafts]
        return Snapshot(
            now=self.context.now,
            token=self.context.token,
            path=path,
            bound=self.context.bound,
            policies=self.policies,
            exemptions=self.exemptions,
            situations=tuple(situations),
            drafts=tuple(d for d in read if d is not None),
            ungoverned=tuple(c for c in self._ports.governed if c not in self.policies),
            not_ours=tuple(not_ours),
            requested_ends=requested_ends,
            unknown_requests=unknown_requests,
            requested_by=requested_by,
            first_sweeps=first_sweeps or {},
        )
