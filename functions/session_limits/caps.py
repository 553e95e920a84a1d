"""Which cap binds for a person, and how much each session weighs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from proctor.domain.exemptions import Exemption, exemption_for
from proctor.domain.identity import Person
from proctor.domain.ledger import PersonLedger
from proctor.domain.policy import PolicyInForce
from proctor.domain.sessions import document_kind
from session_limits.policy import SessionLimitsPolicy, VictimOrder

type Policies = Mapping[str, PolicyInForce[SessionLimitsPolicy]]


@dataclass(frozen=True, slots=True)
class CapInForce:
    """A cap with where it came from: `exemption`, `group <name>`, `default` or `all clusters (<name>)`.

    `max_sessions` None means no cap.
    """

    max_sessions: int | None
    source: str


def cap_in_cluster(
    person: Person,
    cluster: str,
    policy: SessionLimitsPolicy,
    exemptions: Iterable[Exemption],
    now: datetime,
) -> CapInForce:
    """The cap in one cluster. Sources in order: the person's exemption, the first listed group, the default."""
    exemption = exemption_for(exemptions, person.login_name, cluster, now)
    if exemption is not None:
        return CapInForce(exemption.max_sessions, "exemption")
    for group_cap in policy.group_caps:
        if group_cap.group in person.groups:
            return CapInForce(group_cap.max_sessions, f"group {group_cap.group}")
    return CapInForce(policy.cap.max_sessions, "default")


def cap_over_all(
    person: Person, policies: Policies, exemptions: Iterable[Exemption], now: datetime
) -> CapInForce:
    """The cap over all clusters: the smallest that a cluster's policy sets for this person; no cap when none sets one.

    An exemption in any cluster lifts it, else a person with a larger cap there could not use it.
    """
    held = list(exemptions)
    if any(exemption_for(held, person.login_name, cluster, now) for cluster in policies):
        return CapInForce(None, "exemption")
    found: list[tuple[int, str]] = []
    for cluster, in_force in sorted(policies.items()):
        policy = in_force.policy
        group = next((g for g in policy.group_caps if g.group in person.groups), None)
        value = group.all_clusters if group is not None else policy.cap.all_clusters
        if value is not None:
            found.append((value, _over_all_source(cluster)))
    return CapInForce(*min(found)) if found else CapInForce(None, "default")


def order_over_all(cap: CapInForce, policies: Policies) -> VictimOrder:
    """The victim order of the cluster whose policy sets the cap over all clusters: the same for every evaluator."""
    by_source = {_over_all_source(cluster): in_force.policy for cluster, in_force in policies.items()}
    return by_source[cap.source].victim_order if cap.source in by_source else VictimOrder.NEWEST


def weight_of(document_name: str, policy: SessionLimitsPolicy) -> int:
    """What a session counts for, by what its document opens; 1 unless the policy says otherwise."""
    return policy.weights.get(document_kind(document_name, policy.own_shell_documents), 1)


def fits(
    person: Person, ledger: PersonLedger, policies: Policies, exemptions: Iterable[Exemption], now: datetime
) -> bool:
    """Whether the ledger alone shows that the person is within every cap, so that no listing is needed."""
    held = list(exemptions)
    for cluster, in_force in policies.items():
        cap = cap_in_cluster(person, cluster, in_force.policy, held, now).max_sessions
        if cap is not None and ledger.weight_in(cluster, now) > cap:
            return False
    over_all = cap_over_all(person, policies, held, now).max_sessions
    return over_all is None or ledger.weight_in(None, now) <= over_all


def _over_all_source(cluster: str) -> str:
    return f"all clusters ({cluster})"
