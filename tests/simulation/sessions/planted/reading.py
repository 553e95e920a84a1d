"""Planted bugs on the way in: pages, throttles, people, and what counts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from proctor.adapters.session_manager import SsmSessionManager
from proctor.domain import exemptions, identity, ledger, sessions
from proctor.domain.errors import ThrottledError
from proctor.domain.exemptions import Exemption
from proctor.domain.identity import Person, SessionOwner
from proctor.domain.sessions import GovernedClusters, Node, Session, SessionStatus
from session_limits import findings, observe
from tests.simulation.core.planting import Patch, PlantedBug


def _skip_paging_after_an_empty_page() -> list[Patch]:
    pages = SsmSessionManager._pages

    def shorter(self: SsmSessionManager) -> Iterator[list[Session]]:
        for page in pages(self):
            yield page
            if not page:
                return

    return [(SsmSessionManager, "_pages", shorter)]


def _sweep_limited_to_the_first_page() -> list[Patch]:
    def first(self: SsmSessionManager) -> Sequence[Session]:
        return next(iter(self._pages()), [])

    return [(SsmSessionManager, "active_sessions", first)]


def _throttle_read_as_empty() -> list[Patch]:
    pages = SsmSessionManager._pages

    def quiet(self: SsmSessionManager) -> Iterator[list[Session]]:
        try:
            yield from pages(self)
        except ThrottledError:
            return

    return [(SsmSessionManager, "_pages", quiet)]


def _count_terminating() -> list[Patch]:
    return [(sessions, "COUNTED_STATUSES", sessions.COUNTED_STATUSES | {SessionStatus.TERMINATING})]


def _not_count_disconnected() -> list[Patch]:
    return [(sessions, "COUNTED_STATUSES", sessions.COUNTED_STATUSES - {SessionStatus.DISCONNECTED})]


def _foreign_session_counted() -> list[Patch]:
    locate = GovernedClusters.locate

    def generous(self: GovernedClusters, target: Any) -> Node | None:
        node = locate(self, target)
        if node is None and target is not None and target.cluster_id is None:
            return Node(min(self.names_by_id.values()), None, target.instance_id)
        return node

    return [(GovernedClusters, "locate", generous)]


def _identities_counted_apart() -> list[Patch]:
    find_person = identity.find_person

    def per_identity(owner: SessionOwner, directory: Any, trusted: Any) -> Person | None:
        person = find_person(owner, directory, trusted)
        if person is None:
            return None
        keys = identity.lookup_keys(owner)
        own = tuple(i for i in person.identities if i.key in keys)
        return replace(person, identities=own, login_name=f"{person.login_name}+{own[0].kind.value}")

    return [(observe, "find_person", per_identity)]


def _short_names_counted_together() -> list[Patch]:
    key = identity.identity_key

    def short(kind: Any, account_id: str, value: str) -> str:
        return key(kind, account_id, value.split("@", maxsplit=1)[0])

    return [(identity, "identity_key", short)]


def _any_role_is_believed() -> list[Patch]:
    return [(identity, "has_role", lambda role, patterns: True)]


def _exemption_expiry_ignored() -> list[Patch]:
    def for_ever(self: Exemption, login_name: str, cluster: str, now: Any) -> bool:
        return self.login_name == login_name and self.cluster in (None, cluster)

    return [(exemptions.Exemption, "applies", for_ever)]


def _expired_intent_still_counts_as_gone() -> list[Patch]:
    return [(ledger.LedgerEntry, "has_intent", lambda self, now: self.intent_until is not None)]


def _break_glass_evicted() -> list[Patch]:
    return [(findings, "_is_break_glass", lambda located, situation, policy: False)]


READING = (
    PlantedBug("skip paging after an empty page", _skip_paging_after_an_empty_page),
    PlantedBug("sweep limited to the first page", _sweep_limited_to_the_first_page),
    PlantedBug("throttle read as empty", _throttle_read_as_empty),
    PlantedBug("count Terminating", _count_terminating),
    PlantedBug("not count Disconnected", _not_count_disconnected),
    PlantedBug("foreign EC2 session counted", _foreign_session_counted),
    PlantedBug("two identities of one person counted apart", _identities_counted_apart),
    PlantedBug("two people with one short name counted together", _short_names_counted_together),
    PlantedBug("a session name under any role believed", _any_role_is_believed),
    PlantedBug("exemption expiry ignored", _exemption_expiry_ignored),
    PlantedBug("expired intent still counts as gone", _expired_intent_still_counts_as_gone),
    PlantedBug("break-glass evicted", _break_glass_evicted),
)
