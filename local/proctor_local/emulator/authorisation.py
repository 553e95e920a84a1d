"""IAM for the added actions, and what MiniStack leaves out: several resources, keys, policy variables.

MiniStack asks about one resource per request. Real services ask about each parameter that GetParameters
names, about a session's tags, and about the KMS key of an encrypted queue, table or topic; a role without
them is refused in AWS.
"""

# ruff: noqa: PLR0913, PLR0917, SLF001  (signatures of others; reaching private names is what this package is for)

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from proctor_local.emulator.calls import ApiCall, Check
from proctor_local.emulator.hooks import Hooks

type ExtraChecks = Callable[[ApiCall], list[Check]]
type RequestContext = Callable[[ApiCall], Mapping[str, Any]]

_VARIABLE = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True, slots=True)
class _Pending:
    action: str
    checks: tuple[Check, ...]
    context: Mapping[str, Any]


class Authorisation:
    """Widens MiniStack's own enforcement; it never allows what MiniStack refused."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._extra: dict[str, list[ExtraChecks]] = {}
        self._replaced: dict[tuple[str, str], ExtraChecks] = {}
        self._context: dict[str, RequestContext] = {}
        self._pending: ContextVar[_Pending | None] = ContextVar("proctor_pending_checks", default=None)
        self._denied: ContextVar[tuple[str, str] | None] = ContextVar("proctor_denied", default=None)
        self._stack = hooks.ministack
        self._wrap_resources()
        self._wrap_enforce()
        self._wrap_variables()
        self._wrap_denial()

    def add_checks(self, service: str, checks: ExtraChecks) -> None:
        """Ask these questions too, for every call of a service that MiniStack itself authorises."""
        self._extra.setdefault(service, []).append(checks)

    def replace_checks(self, service: str, action: str, checks: ExtraChecks) -> None:
        """Ask these questions instead of MiniStack's one, where its resource is wrong."""
        self._replaced[(service, action)] = checks

    def add_context(self, service: str, context: RequestContext) -> None:
        """Give these condition keys to every question about a service's call."""
        self._context[service] = context

    def is_allowed(self, role_arn: str, service: str, action: str, arn: str, via: str = "") -> bool:
        """Whether a role may do an action now, for a service that acts under it (an event source mapping).

        ``via`` is the service that uses a key on the role's behalf, as ``kms:ViaService`` sees it.
        """
        evaluator, stack = self._stack.iam_evaluator, self._stack
        account, name = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
        session = f"arn:aws:sts::{account}:assumed-role/{name}/service"
        context = evaluator.EvalContext(
            principal_arn=session,
            principal_type="AssumedRole",
            principal_account=account,
            action=action,
            resource_arn=arn,
            region=stack.current_region(),
            service_context=(
                {"kms:viaservice": f"{via}.{stack.current_region()}.amazonaws.com"} if via else {}
            ),
        )
        result = evaluator.evaluate(context, evaluator._gather_role_policies(name, account))
        found = evaluator._resource_policy(service, arn)
        if found is not None:
            result = evaluator.combine_resource_policy(
                result, context, *found, required=service in evaluator._POLICY_REQUIRED
            )
        return bool(result.decision == "Allow")

    # the three wraps

    def _wrap_resources(self) -> None:
        original = self._stack.iam_actions.extract_resource_arn

        def extract(
            service: str,
            method: str,
            path: str,
            headers: dict[str, str],
            body: bytes,
            query: Any,
            region: str,
            account: str,
        ) -> str:
            arn = str(original(service, method, path, headers, body, query, region, account))
            self._pending.set(None)
            self._denied.set(None)
            call = self._call(service, method, path, headers, body, query)
            if call is None:
                return arn
            checks = self._checks(call, arn)
            if not checks:
                return arn
            namespace = self._stack.iam_actions.SERVICE_TO_IAM_NAMESPACE.get(service, service)
            given = self._context.get(service)
            self._pending.set(
                _Pending(f"{namespace}:{call.action}", tuple(checks), given(call) if given else {})
            )
            return checks[0].arns[0]

        self._stack.iam_actions.extract_resource_arn = extract

    def _call(
        self,
        service: str,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        query: Any,
    ) -> ApiCall | None:
        known = (
            service in self._extra
            or service in self._context
            or any(service == name for name, _ in (*self._hooks.actions, *self._replaced))
        )
        if not known:
            return None
        action = self._stack.iam_actions.extract_iam_action(service, method, path, headers, body, query)
        if action is None:
            return None
        call = self._hooks.api_call(service, headers, body, query)
        members = call.input or {
            key: value[0] if isinstance(value, list) and value else value
            for key, value in dict(query or {}).items()
        }
        return replace(call, action=action.partition(":")[2], input=members)

    def _checks(self, call: ApiCall, arn: str) -> list[Check]:
        added = self._hooks.actions.get((call.service, call.action))
        replaced = self._replaced.get((call.service, call.action))
        if added is not None:
            checks = added.resources(call) if added.resources else [Check(("*",))]
        elif replaced is not None:
            checks = replaced(call)
        else:
            checks = [Check((arn,))]
        extra = [check for source in self._extra.get(call.service, ()) for check in source(call)]
        if added is None and replaced is None and not extra and call.service not in self._context:
            return []
        return checks + extra

    def _wrap_enforce(self) -> None:
        original = self._stack.iam_evaluator.enforce

        def enforce(
            access_key_id: str,
            iam_action: str,
            service: str,
            region: str,
            resource_arn: str = "*",
            service_context: dict[str, Any] | None = None,
        ) -> Any:
            pending = self._pending.get()
            if pending is None or pending.action != iam_action:
                return original(
                    access_key_id,
                    iam_action,
                    service,
                    region,
                    resource_arn=resource_arn,
                    service_context=service_context,
                )
            self._pending.set(None)
            context = {**(service_context or {}), **pending.context}
            for check in pending.checks:
                denied = self._ask(original, check, access_key_id, iam_action, service, region, context)
                if denied is not None:
                    return denied
            return None

        self._stack.iam_evaluator.enforce = enforce

    def _ask(
        self,
        original: Callable[..., Any],
        check: Check,
        access_key_id: str,
        iam_action: str,
        service: str,
        region: str,
        context: Mapping[str, Any],
    ) -> Any:
        evaluator = self._stack.iam_evaluator
        if check.only_if_condition_key:
            principal = evaluator.resolve_principal(access_key_id, self._stack.current_account())
            policies = getattr(principal, "policies", None)
            if not policies or not evaluator._names_condition_key(policies, check.only_if_condition_key):
                return None
        action, asked = check.action or iam_action, check.service or service
        denied: Any = None
        for arn in check.arns:
            denied = original(
                access_key_id,
                action,
                asked,
                region,
                resource_arn=arn,
                service_context={**context, **check.context},
            )
            if denied is None:
                return None
        self._denied.set((action, check.arns[0]))
        return denied

    def _wrap_denial(self) -> None:
        """Let the error name the question that was answered no: ``kms:Decrypt`` on the key, not the call."""
        original = self._stack.iam_actions.access_denied_response

        def respond(service: str, action: str, principal_arn: str, request_id: str, **named: Any) -> Any:
            asked, named_action = self._denied.get(), action
            self._denied.set(None)
            if asked is not None and not named.get("error_code"):
                named_action, named["resource_arn"] = asked
                if named_action != action:
                    named["message"] = self._stack.iam_actions.identity_denial_message(
                        named_action, principal_arn, asked[1], bool(named.get("explicit_deny"))
                    )
            return original(service, named_action, principal_arn, request_id, **named)

        self._stack.iam_actions.access_denied_response = respond

    def _wrap_variables(self) -> None:
        """Policy variables (``${aws:userid}``), which MiniStack compares as plain text."""
        evaluator = self._stack.iam_evaluator
        original = evaluator._first_match

        def first_match(context: Any, statements: list[Any], effect: str) -> Any:
            resolved = []
            for statement in statements:
                known = _with_variables(statement, lambda key: evaluator._resolve_condition_key(key, context))
                if known is not None:
                    resolved.append(known)
            return original(context, resolved, effect)

        evaluator._first_match = first_match


def _with_variables(statement: Any, resolve: Callable[[str], Any]) -> Any:
    """The statement with its variables filled in; None when one has no value, since it can't match then."""
    if "${" not in f"{statement.resources}{statement.not_resources}{statement.conditions}":
        return statement
    try:
        return replace(
            statement,
            resources=[_fill(value, resolve) for value in statement.resources],
            not_resources=[_fill(value, resolve) for value in statement.not_resources],
            conditions=_fill_all(statement.conditions, resolve),
        )
    except LookupError:
        return None


def _fill_all(value: Any, resolve: Callable[[str], Any]) -> Any:
    if isinstance(value, str):
        return _fill(value, resolve)
    if isinstance(value, list):
        return [_fill_all(item, resolve) for item in value]
    if isinstance(value, dict):
        return {key: _fill_all(item, resolve) for key, item in value.items()}
    return value


def _fill(text: str, resolve: Callable[[str], Any]) -> str:
    """Replace ``${key}`` and ``${key, 'default'}``.

    ``${*}``, ``${?}`` and ``${$}`` stand for the character itself.
    """

    def value(match: re.Match[str]) -> str:
        name, _, default = match[1].partition(",")
        if name.strip() in ("*", "?", "$"):
            return name.strip()
        found = resolve(name.strip())
        if found is None and default:
            return default.strip().strip("'")
        if found is None or isinstance(found, list):
            raise LookupError(name)
        return str(found)

    return _VARIABLE.sub(value, text)
