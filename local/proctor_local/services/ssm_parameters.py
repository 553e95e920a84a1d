"""Parameter Store's change events, and the resources IAM is asked about; MiniStack has the actions.

Source: Systems Manager user guide, EventBridge event samples. The event never carries the value;
``GetParameter`` on ``name:label`` is authorised on ``name``.
"""

from collections.abc import Mapping
from typing import Any

from proctor_local.emulator.authorisation import Authorisation
from proctor_local.emulator.calls import FIRST_ERROR_STATUS, ApiCall, Check
from proctor_local.emulator.hooks import Hooks
from proctor_local.settings import Settings
from proctor_local.timers import Timers


class ParameterEvents:
    """Emits ``Parameter Store Change`` for Create, Update, Delete and LabelParameterVersion."""

    def __init__(
        self, hooks: Hooks, authorisation: Authorisation, settings: Settings, timers: Timers
    ) -> None:
        self._hooks, self._settings, self._timers = hooks, settings, timers
        hooks.observe("ssm", "PutParameter", self._put)
        hooks.observe("ssm", "DeleteParameter", self._deleted)
        hooks.observe("ssm", "DeleteParameters", self._deleted_many)
        hooks.observe("ssm", "LabelParameterVersion", self._labelled)
        for action in ("GetParameter", "GetParameters", "LabelParameterVersion", "DeleteParameters"):
            authorisation.replace_checks("ssm", action, parameter_checks)
        authorisation.replace_checks("ssm", "GetParametersByPath", path_checks)

    def _put(self, call: ApiCall, status: int, answer: Mapping[str, Any]) -> None:
        if status < FIRST_ERROR_STATUS:
            self._emit(call, "Create" if answer.get("Version") == 1 else "Update", str(call.input["Name"]))

    def _deleted(self, call: ApiCall, status: int, _answer: Mapping[str, Any]) -> None:
        if status < FIRST_ERROR_STATUS:
            self._emit(call, "Delete", str(call.input["Name"]))

    def _deleted_many(self, call: ApiCall, status: int, answer: Mapping[str, Any]) -> None:
        for name in answer.get("DeletedParameters", ()) if status < FIRST_ERROR_STATUS else ():
            self._emit(call, "Delete", str(name))

    def _labelled(self, call: ApiCall, status: int, answer: Mapping[str, Any]) -> None:
        if status < FIRST_ERROR_STATUS and len(answer.get("InvalidLabels", ())) < len(
            call.input.get("Labels", ())
        ):
            self._emit(call, "LabelParameterVersion", str(call.input["Name"]))

    def _emit(self, call: ApiCall, operation: str, name: str) -> None:
        stored = self._hooks.ministack.parameter(name)
        detail = {
            "operation": operation,
            "name": name,
            "type": stored.get("Type") or call.input.get("Type", "String"),
            "description": stored.get("Description", ""),
        }
        arn = parameter_arn(call, name)
        self._timers.after(
            self._settings.parameter_event_delay_seconds,
            lambda: self._hooks.emit("aws.ssm", "Parameter Store Change", detail, (arn,), call.region),
        )


def parameter_arn(call: ApiCall, name: str) -> str:
    """The ARN of a parameter, whose path keeps one slash after ``parameter``."""
    return (
        name
        if name.startswith("arn:")
        else f"arn:aws:ssm:{call.region}:{call.account}:parameter/{name.lstrip('/')}"
    )


def path_checks(call: ApiCall) -> list[Check]:
    """The path itself is asked about, as if it were a parameter."""
    return [Check((parameter_arn(call, str(call.input.get("Path") or "/").rstrip("/")),))]


def parameter_checks(call: ApiCall) -> list[Check]:
    """One question for every parameter that a call names, without its ``:version`` or ``:label`` selector."""
    names = call.input.get("Names") or [call.input.get("Name") or ""]
    checks = []
    for name in names:
        plain = str(name) if str(name).startswith("arn:") else str(name).partition(":")[0]
        checks.append(Check((parameter_arn(call, plain),) if plain else ("*",)))
    return checks or [Check(("*",))]
