"""Which AWS operations the adapters call, read from their source: `self._clients.ssm().terminate_session(...)`.

A paginator counts as its operation.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from types import ModuleType

# Where IAM's name of an operation is not the service's own.
_IAM_SERVICES = {"sesv2": "ses"}
_IAM_ACTIONS = {
    "budgets:DescribeBudget": "budgets:ViewBudget",
    "budgets:DescribeNotificationsForBudget": "budgets:ViewBudget",
}
_TRANSACTED = {
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Delete": "dynamodb:DeleteItem",
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
}


@dataclass(frozen=True, order=True)
class Call:
    """One operation of one adapter: a class, or a module for its functions."""

    adapter: str
    action: str


def calls_of(module: ModuleType) -> set[Call]:
    """Every operation that a module calls, as IAM names it."""
    tree = ast.parse(inspect.getsource(module))
    found: set[Call] = set()
    for node in tree.body:
        adapter = node.name if isinstance(node, ast.ClassDef) else module.__name__.rpartition(".")[2]
        found |= {Call(adapter, action) for action in _actions(node)}
    return found


def operations_of(module: ModuleType) -> set[tuple[str, str]]:
    """(service, operation) of every call in a module, as botocore names the service and the API the operation."""
    tree = ast.parse(inspect.getsource(module))
    return {operation for node in tree.body for operation in _operations(node)}


def _actions(tree: ast.stmt) -> Iterator[str]:
    for service, operation in _operations(tree):
        action = f"{_IAM_SERVICES.get(service, service)}:{operation}"
        yield from (
            _transacted(tree)
            if action == "dynamodb:TransactWriteItems"
            else [_IAM_ACTIONS.get(action, action)]
        )


def _operations(tree: ast.stmt) -> Iterator[tuple[str, str]]:
    own_client = _own_client(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        service = _client(node.func.value, own_client)
        if service is None:
            continue
        operation = node.func.attr
        if operation == "get_paginator":
            (name,) = node.args
            assert isinstance(name, ast.Constant)
            operation = str(name.value)
        yield service, "".join(part.title() for part in operation.split("_"))


def _transacted(tree: ast.stmt) -> Iterator[str]:
    """What a transaction is to IAM: the kinds of item that stand in the adapter as keys of a dictionary."""
    keys = chain.from_iterable(node.keys for node in ast.walk(tree) if isinstance(node, ast.Dict))
    names = {key.value for key in keys if isinstance(key, ast.Constant)}
    yield from (action for name, action in _TRANSACTED.items() if name in names)


def _own_client(tree: ast.stmt) -> str | None:
    """The service of an adapter that is given one client's maker: `client: Callable[[], "BudgetsClient"]`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg == "client" and node.annotation is not None:
            named = re.search(r"(\w+)Client\b", ast.unparse(node.annotation))
            return named[1].lower() if named else None
    return None


def _client(node: ast.expr, own_client: str | None) -> str | None:
    """`ssm` for `<...>clients.ssm()`; the adapter's own service for `self._client()`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    if node.func.attr == "_client" and not node.args:
        return own_client
    owner = node.func.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return node.func.attr if name.strip("_") == "clients" else None
