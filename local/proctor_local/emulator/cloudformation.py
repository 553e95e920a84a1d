"""What MiniStack's CloudFormation drops of the resource types that Proctor's template uses."""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

import functools
from typing import Any

from proctor_local.emulator.hooks import Hooks


class Provisioners:
    """Wraps single resource handlers.

    Types that MiniStack lacks are added here too; today Proctor uses none.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._stack = hooks.ministack
        self._wrap_table()

    def _wrap_table(self) -> None:
        """Encryption, recovery and expiry of a table, which CloudFormation drops here."""
        handlers = self._stack.provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
        create_original, update_original = handlers["create"], handlers["update"]

        def create(logical_id: str, properties: Any, stack_name: str) -> Any:
            made = create_original(logical_id, properties, stack_name)
            self._complete(str(made[0]), properties)
            return made

        def update(physical_id: str, old: Any, new: Any, stack_name: str, *more: Any, **named: Any) -> Any:
            made = update_original(physical_id, old, new, stack_name, *more, **named)
            self._complete(str(made[0]) if isinstance(made, tuple) else physical_id, new)
            return made

        handlers["create"], handlers["update"] = create, functools.wraps(update_original)(update)

    def _complete(self, name: str, properties: Any) -> None:
        dynamodb = self._stack.dynamodb
        table = dynamodb._tables.get(name)
        if table is None:
            return
        wanted = properties.get("SSESpecification") or {}
        if _is_true(wanted.get("SSEEnabled")):
            given = {member: value for member, value in wanted.items() if member != "SSEEnabled"}
            table["SSEDescription"] = dynamodb._sse_description_from_spec({"Enabled": True, **given})
        recovery = properties.get("PointInTimeRecoverySpecification") or {}
        dynamodb._pitr_settings[name] = _is_true(recovery.get("PointInTimeRecoveryEnabled"))
        expiry = properties.get("TimeToLiveSpecification") or {}
        if expiry.get("AttributeName"):
            enabled = _is_true(expiry.get("Enabled"))
            dynamodb._ttl_settings[name] = {
                "AttributeName": expiry["AttributeName"],
                "TimeToLiveStatus": "ENABLED" if enabled else "DISABLED",
            }


def _is_true(value: object) -> bool:
    """Templates write booleans as such or as text."""
    return str(value).lower() == "true"
