"""How the launcher adds services and actions to MiniStack, sees every call, and puts events on the bus.

Everything that replaces or wraps a private function of MiniStack is in this package and is named in
``selftest``.
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

import json
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from proctor_local.emulator.calls import (
    Action,
    ApiCall,
    ApiError,
    Caller,
    HttpResponse,
    error_response,
    json_response,
    parse_json,
)
from proctor_local.emulator.ministack import MiniStack

type Observer = Callable[[ApiCall, int, Mapping[str, Any]], None]
type RestHandler = Callable[[str, str, dict[str, Any]], HttpResponse | None]


class Hooks:
    """The extension points. Made once for a process, before MiniStack serves its first request."""

    def __init__(self, ministack: MiniStack) -> None:
        self.ministack = ministack
        self.actions: dict[tuple[str, str], Action] = {}
        self._observers: dict[tuple[str, str], list[Observer]] = {}
        self._resets: list[Callable[[], None]] = []
        self._wrapped: set[str] = set()
        self._observe_dispatch()

    # adding

    def add_service(
        self, name: str, target_prefix: str, namespace: str, actions: Mapping[str, Action]
    ) -> None:
        """Add a JSON-protocol service that MiniStack lacks.

        Such as ``sagemaker`` with ``SageMaker`` targets.
        """
        stack = self.ministack
        module: Any = types.ModuleType(f"ministack.services.{name}")

        async def handle(_method: str, _path: str, headers: dict[str, str], *_: object) -> HttpResponse:
            action = _target_action(headers)
            return error_response(ApiError("UnknownOperationException", f"The local {name} has no {action}."))

        module.handle_request, module.reset = handle, lambda: None
        module.get_state, module.restore_state = dict, lambda _state: None
        sys.modules[module.__name__] = module
        stack.app.SERVICE_REGISTRY[name] = {"module": name}
        stack.app.SERVICE_HANDLERS[name] = stack.app._lazy_handler(name)
        stack.router.SERVICE_PATTERNS[name] = {
            "target_prefixes": [target_prefix],
            "host_patterns": [rf"{name}\.", rf"api\.{name}\."],
        }
        stack.iam_actions.SERVICE_TO_IAM_NAMESPACE[name] = namespace
        self.add_actions(name, actions)

    def add_actions(self, service: str, actions: Mapping[str, Action]) -> None:
        """Add actions to a JSON-protocol service, or replace MiniStack's own."""
        for name, action in actions.items():
            self.actions[(service, name)] = action
        if service in self._wrapped:
            return
        self._wrapped.add(service)
        module = sys.modules[f"ministack.services.{service}"]
        original = module.__dict__["handle_request"]

        async def handle(
            method: str, path: str, headers: dict[str, str], body: bytes, query: Any
        ) -> HttpResponse:
            action = self.actions.get((service, _target_action(headers)))
            if action is None:
                answer: HttpResponse = await original(method, path, headers, body, query)
                return answer
            return _run(action, self.api_call(service, headers, body, query))

        module.__dict__["handle_request"] = handle

    def add_rest(self, module_name: str, handler: RestHandler) -> None:
        """Let ``handler(method, path, body)`` answer before a REST module of MiniStack does.

        None passes on.
        """
        module = sys.modules[f"ministack.services.{module_name}"]
        original = module.__dict__["handle_request"]

        async def handle(
            method: str, path: str, headers: dict[str, str], body: bytes, query: Any
        ) -> HttpResponse:
            try:
                answer = handler(method, path, parse_json(body))
            except ApiError as error:
                return error_response(error, "application/json")
            if answer is None:
                answer = await original(method, path, headers, body, query)
            return answer

        module.__dict__["handle_request"] = handle

    def observe(self, service: str, action: str, observer: Observer) -> None:
        """Call ``observer(call, status, answer)`` after every call of an action, refused ones included."""
        self._observers.setdefault((service, action), []).append(observer)

    def on_reset(self, function: Callable[[], None]) -> None:
        """Call ``function`` when all state is wiped."""
        self._resets.append(function)

    def reset(self) -> None:
        """Wipe all state, MiniStack's and the added services'; it ends the function workers too."""
        self.ministack.app._reset_all_state()
        for function in self._resets:
            function()

    # using

    def emit(
        self,
        source: str,
        detail_type: str,
        detail: Mapping[str, Any],
        resources: tuple[str, ...] = (),
        region: str | None = None,
    ) -> None:
        """Put an event on the default bus as a service does; ``aws.*`` sources are allowed here."""
        entry = {
            "Source": source,
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
            "Resources": list(resources),
        }
        with self.ministack.scope(region=region):
            self.ministack.eventbridge._put_events({"Entries": [entry]}, allow_aws_source=True)

    def api_call(
        self, service: str, headers: Mapping[str, str], body: bytes, query: Any = None, request_id: str = ""
    ) -> ApiCall:
        """The plain value of a request that MiniStack is serving now."""
        return ApiCall(
            service=service,
            action=_target_action(headers),
            input=parse_json(body),
            account=self.ministack.current_account(),
            region=self.ministack.current_region(),
            caller=self.caller(headers, query),
            headers=headers,
            request_id=request_id,
        )

    def caller(self, headers: Mapping[str, str], query: Any = None) -> Caller:
        """The principal whose key signed a request; the account's root for MiniStack's own test key."""
        stack = self.ministack
        key = stack.router.extract_access_key_id(dict(headers), query or {}) or "test"
        found = stack.iam_evaluator.resolve_credential(key, stack.current_account())
        if not hasattr(found, "principal_arn"):
            return Caller(
                arn="", principal_id="", account=stack.current_account(), kind="Unknown", access_key_id=key
            )
        session = stack.sts._sessions.get(key) or {}
        role = stack.iam_evaluator._role_name_from_assumed_arn(found.principal_arn)
        return Caller(
            arn=found.principal_arn,
            principal_id=found.principal_id,
            account=found.account_id,
            kind=found.principal_type,
            access_key_id=key,
            role_arn=self._role_arn(found.account_id, role) if found.principal_type == "AssumedRole" else "",
            issued_at=session.get("IssuedAt"),
        )

    def _role_arn(self, account: str, name: str) -> str:
        role = self.ministack.iam._roles.get_scoped(account, None, name) or {}
        return str(role.get("Arn") or f"arn:aws:iam::{account}:role/{name}")

    def _observe_dispatch(self) -> None:
        original = self.ministack.app._dispatch_service_request

        async def dispatch(
            method: str, path: str, headers: dict[str, str], body: bytes, query: Any, request_id: str
        ) -> HttpResponse:
            answer: HttpResponse = await original(method, path, headers, body, query, request_id)
            target = headers.get("x-amz-target", "")
            if target:
                service = str(self.ministack.router.detect_service(method, path, headers, query))
                observers = self._observers.get((service, _target_action(headers)), ())
                if observers:
                    call = self.api_call(service, headers, body, query, request_id)
                    for observer in observers:
                        observer(call, answer[0], parse_json(answer[2]))
            return answer

        self.ministack.app._dispatch_service_request = dispatch


def _target_action(headers: Mapping[str, str]) -> str:
    return headers.get("x-amz-target", "").rsplit(".", 1)[-1]


def _run(action: Action, call: ApiCall) -> HttpResponse:
    try:
        return json_response(action.handler(call))
    except ApiError as error:
        return error_response(error)
