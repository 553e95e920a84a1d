"""IAM's answer to one request, for the policy language that template.yaml uses.

Anything else raises NotImplementedError, so that no condition is passed over in silence. Rules: IAM user guide, "Policy
evaluation logic" and "IAM JSON policy elements".
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

ALLOWED, REFUSED = "allowed", "refused"
_KNOWN = {"Sid", "Effect", "Principal", "Action", "Resource", "Condition"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """One question. `principal` matters to resource policies only: a service's host name, or an ARN."""

    action: str
    resource: str
    principal: str = ""
    context: Mapping[str, str] = field(default_factory=dict)


def ask(statements: Iterable[Mapping[str, Any]], request: Request) -> str:
    """`allowed` when some statement allows and none denies."""
    matching = [statement["Effect"] for statement in statements if _matches(statement, request)]
    return ALLOWED if "Allow" in matching and "Deny" not in matching else REFUSED


def listed(value: Any) -> list[Any]:
    """A policy's "one or a list of" as a list."""
    return list(value) if isinstance(value, list) else [value]


def like(pattern: str, value: str, *, is_case_sensitive: bool = True) -> bool:
    """`*` is any text and `?` any character, as in resources, actions and StringLike."""
    form = "".join({"*": ".*", "?": "."}.get(part, re.escape(part)) for part in re.split(r"([*?])", pattern))
    return re.fullmatch(form, value, re.DOTALL | (0 if is_case_sensitive else re.IGNORECASE)) is not None


def arn_like(pattern: str, value: str) -> bool:
    """Wildcards within each of an ARN's six parts; only the last may hold colons."""
    ours, theirs = pattern.split(":", 5), value.split(":", 5)
    return len(ours) == len(theirs) == 6 and all(map(like, ours, theirs))


def _matches(statement: Mapping[str, Any], request: Request) -> bool:
    if unknown := statement.keys() - _KNOWN:
        raise NotImplementedError(f"policy elements {sorted(unknown)}")
    return (
        _is_for(statement.get("Principal"), request.principal)
        and any(
            like(action, request.action, is_case_sensitive=False) for action in listed(statement["Action"])
        )
        and any(like(resource, request.resource) for resource in listed(statement["Resource"]))
        and all(
            _holds(operator, key, listed(expected), request.context)
            for operator, block in statement.get("Condition", {}).items()
            for key, expected in block.items()
        )
    )


def _is_for(principal: Any, who: str) -> bool:
    if principal is None or principal == "*":
        return True
    if "Service" in principal:
        return who in listed(principal["Service"])
    return any(_is_account_of(arn, who) for arn in listed(principal["AWS"]))


def _is_account_of(arn: str, who: str) -> bool:
    """`arn:aws:iam::<account>:root` stands for every principal of the account."""
    if not arn.endswith(":root"):
        return arn == who
    return who.startswith("arn:") and who.split(":")[4] == arn.split(":")[4]


def _holds(operator: str, key: str, expected: list[str], context: Mapping[str, str]) -> bool:
    actual = {name.lower(): value for name, value in context.items()}.get(key.lower())
    if operator == "Null":
        return [str(actual is None).lower()] == [str(value).lower() for value in expected]
    if operator.startswith(_FOR_ALL):
        # Of no values at all every one matches; several stand with a comma between.
        inner = operator.removeprefix(_FOR_ALL)
        return actual is None or all(
            _holds(inner, key, expected, {key: value}) for value in actual.split(",")
        )
    compare = _OPERATORS.get(operator)
    if compare is None:
        raise NotImplementedError(f"condition operator {operator}")
    return actual is not None and any(compare(value, actual) for value in expected)


_FOR_ALL = "ForAllValues:"
_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "ArnEquals": arn_like,
    "ArnLike": arn_like,
    "Bool": lambda expected, actual: str(expected).lower() == actual.lower(),
    "StringEquals": lambda expected, actual: expected == actual,
    "StringLike": like,
}
