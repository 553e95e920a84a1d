"""The control calls at ``/_proctor/...``: what no AWS API offers and a scenario needs.

JSON in, JSON out, loopback.

``{"error": "<field> = <value>: <fix>"}`` with status 400 or 404 when a call is refused.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from proctor_local.services.hyperpod_store import Cluster, new_instance_id
from proctor_local.services.session_store import DEFAULT_DOCUMENT, Session, new_session_id
from proctor_local.stack import LocalAws

PREFIX = "/_proctor/"
type Call = Callable[[Mapping[str, Any]], Any]


class ControlApi:
    """The routes. ``handle`` is plain: no web framework, no MiniStack."""

    def __init__(self, aws: LocalAws) -> None:
        self._aws = aws
        self._routes: dict[tuple[str, str], Call] = {
            ("GET", "health"): self._health,
            ("POST", "reset"): self._reset,
            ("GET", "settings"): lambda _: aws.settings.as_dict(),
            ("POST", "settings"): self._change_settings,
            ("GET", "clock"): lambda _: {
                "now": aws.clock.now(),
                "advanced_seconds": aws.clock.advanced_seconds,
            },
            ("POST", "clock"): self._advance,
            ("GET", "sessions"): lambda _: [asdict(session) for session in aws.sessions.all()],
            ("POST", "sessions"): self._seed_session,
            ("POST", "sessions/find"): lambda members: asdict(
                aws.sessions.get(str(members.get("session_id")))
            ),
            ("POST", "sessions/status"): self._session_status,
            ("POST", "sessions/exit"): self._session_exit,
            ("GET", "trail"): lambda _: aws.trail.deliveries,
            ("GET", "clusters"): lambda _: [_shown(cluster) for cluster in aws.clusters.all()],
            ("POST", "clusters"): self._seed_cluster,
            ("POST", "nodes"): self._change_node,
            ("POST", "nodes/lose"): self._lose_node,
            ("POST", "targets"): self._add_target,
            ("POST", "events"): self._emit,
            ("POST", "rules/fire"): self._fire,
            ("GET", "mails"): lambda _: aws.mail.sent(),
            ("POST", "mails/suppress"): self._suppress,
            ("GET", "budgets"): lambda _: aws.budgets.shown(),
            ("POST", "budgets/refresh"): aws.budgets.refresh,
            ("POST", "budgets/period"): aws.budgets.begin_period,
            ("GET", "workers"): lambda _: aws.workers.shown(),
            ("GET", "mappings"): lambda _: aws.mappings.refusals(),
            ("GET", "problems"): lambda _: aws.problems.as_list(),
            ("GET", "denials"): lambda _: aws.denials.as_list(),
            ("POST", "denials/clear"): self._clear_denials,
        }

    def handle(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Answer one control call."""
        route = self._routes.get((method, path.removeprefix(PREFIX).strip("/")))
        if route is None:
            known = ", ".join(f"{verb} {PREFIX}{name}" for verb, name in sorted(self._routes))
            return _answer(404, {"error": f"{method} {path}: no such control call; known are {known}"})
        try:
            members = json.loads(body) if body else {}
            if not isinstance(members, dict):
                return _answer(400, {"error": "the body must be a JSON object"})
            return _answer(200, route(members))
        except LookupError as error:
            return _answer(404, {"error": str(error.args[0] if error.args else error)})
        except (ValueError, TypeError, KeyError) as error:
            return _answer(400, {"error": str(error)})

    def _health(self, _: Mapping[str, Any]) -> Any:
        stack = self._aws.ministack
        return {
            "ready": True,
            "pid": os.getpid(),
            "account": stack.account,
            "region": stack.region,
            "ministack": stack.version,
            "pending_timers": self._aws.timers.pending(),
            "due_timers": self._aws.timers.due(),
        }

    def _reset(self, _: Mapping[str, Any]) -> Any:
        self._aws.hooks.reset()
        return {"reset": True}

    def _change_settings(self, members: Mapping[str, Any]) -> Any:
        self._aws.settings.change(members)
        return self._aws.settings.as_dict()

    def _advance(self, members: Mapping[str, Any]) -> Any:
        self._aws.clock.advance(float(members.get("advance_seconds", 0)))
        return {"now": self._aws.clock.now()}

    def _seed_session(self, members: Mapping[str, Any]) -> Any:
        """A session that is already there: no call, no record. ``owner_arn`` and ``target`` are required."""
        stack, owner = self._aws.ministack, str(members.get("owner_arn") or "")
        if not owner.startswith("arn:") or not members.get("target"):
            raise ValueError(f"owner_arn = {owner!r}, target = {members.get('target')!r}: give both")
        started = members.get("started_at")
        session = Session(
            session_id=str(members.get("session_id") or new_session_id(owner.rsplit("/", 1)[-1])),
            target=str(members["target"]),
            owner_arn=owner,
            owner_user_id=str(members.get("owner_user_id") or ""),
            started_at=_aware(started) if started else self._aws.clock.now(),
            account=str(members.get("account") or stack.account),
            region=str(members.get("region") or stack.region),
            document_name=str(members.get("document_name") or DEFAULT_DOCUMENT),
            reason=str(members.get("reason") or ""),
        )
        self._aws.sessions.add(session)
        return asdict(
            self._aws.sessions.set_status(session.session_id, str(members.get("status") or "Connected"))
        )

    def _session_status(self, members: Mapping[str, Any]) -> Any:
        return asdict(
            self._aws.sessions.set_status(str(members.get("session_id")), str(members.get("status")))
        )

    def _session_exit(self, members: Mapping[str, Any]) -> Any:
        """The person typed ``exit``: the session ends and no API call is made, so no record follows."""
        return asdict(self._aws.sessions.set_status(str(members.get("session_id")), "Terminated"))

    def _seed_cluster(self, members: Mapping[str, Any]) -> Any:
        stack = self._aws.ministack
        account, region = members.get("account") or stack.account, members.get("region") or stack.region
        return _shown(self._aws.clusters.seed(str(account), str(region), members))

    def _change_node(self, members: Mapping[str, Any]) -> Any:
        changes = {name: str(members[name]) for name in ("status", "message") if name in members}
        return asdict(self._aws.clusters.change_node(str(members.get("instance_id")), **changes))

    def _lose_node(self, members: Mapping[str, Any]) -> Any:
        """A node dies: it fails and every session on it is gone, without any call."""
        instance_id = str(members.get("instance_id"))
        self._aws.clusters.change_node(instance_id, status="Failure", message="the node was lost")
        return {"ended": self._aws.sessions.end_where(lambda session: session.target.endswith(instance_id))}

    def _add_target(self, members: Mapping[str, Any]) -> Any:
        target = str(members.get("target") or new_instance_id())
        self._aws.clusters.add_plain_target(target)
        return {"target": target}

    def _emit(self, members: Mapping[str, Any]) -> Any:
        self._aws.hooks.emit(
            str(members["source"]),
            str(members["detail_type"]),
            dict(members.get("detail") or {}),
            tuple(members.get("resources") or ()),
        )
        return {"emitted": True}

    def _fire(self, members: Mapping[str, Any]) -> Any:
        self._aws.events.fire(str(members.get("rule") or ""))
        return {"fired": True}

    def _clear_denials(self, _: Mapping[str, Any]) -> Any:
        self._aws.denials.clear()
        self._aws.problems.clear()
        return {"cleared": True}

    def _suppress(self, members: Mapping[str, Any]) -> Any:
        self._aws.mail.suppress(str(members.get("address") or ""), str(members.get("reason") or "BOUNCE"))
        return {"suppressed": True}


def _shown(cluster: Cluster) -> dict[str, Any]:
    nodes = [asdict(node) | {"target": cluster.target(node)} for node in cluster.nodes.values()]
    return asdict(cluster) | {"arn": cluster.arn, "nodes": nodes}


def _aware(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"started_at = {text}: give a time with its offset, such as 2026-09-01T10:00:00Z")
    return moment


def _answer(status: int, value: Any) -> tuple[int, bytes]:
    return status, json.dumps(value, default=_plain).encode()


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
