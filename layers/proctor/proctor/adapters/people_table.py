"""The people directory in DynamoDB: key `key`; each person stands under `person#<login name>` and under every identity.

The row is the person as JSON, so a lookup by any identity is one read.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import translated
from proctor.adapters.items import from_item, to_item
from proctor.domain.errors import TerminalError, ThrottledError
from proctor.domain.identity import Identity, IdentityKind, Person, SessionOwner, lookup_keys

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_READ_AT_ONCE = 100
_WRITE_AT_ONCE = 25
_ROUNDS = 8
_WAIT_SECONDS = 0.05
_WAIT_SECONDS_AT_MOST = 0.5


class DynamoPeople:
    """Implements the PeopleDirectory port, and the writing side for `proctor people load`."""

    def __init__(self, clients: "AwsClients", table: str, wait: Callable[[float], None] = time.sleep) -> None:
        """Take the clients and the table's name; `wait` is for what the table was too busy to do at once."""
        self._clients = clients
        self._table = table
        self._wait = wait

    def by_owner(self, owners: Iterable[SessionOwner]) -> Mapping[str, Person]:
        """Rows under the owners' lookup keys; one call per 100 keys, two keys an owner."""
        keys = sorted({key for owner in owners for key in lookup_keys(owner)})
        found: dict[str, Person] = {}
        for start in range(0, len(keys), _READ_AT_ONCE):
            found |= self._read(keys[start : start + _READ_AT_ONCE])
        return found

    def by_login_name(self, login_name: str) -> Person | None:
        """One person."""
        return self._read([f"person#{login_name}"]).get(f"person#{login_name}")

    def keys(self) -> dict[str, str]:
        """Every key with the login name behind it; one call per megabyte of table."""
        found: dict[str, str] = {}
        with translated("dynamodb:Scan"):
            pages = (
                self._clients.dynamodb()
                .get_paginator("scan")
                .paginate(
                    TableName=self._table,
                    ProjectionExpression="#k, login_name",
                    ExpressionAttributeNames={"#k": "key"},
                    ConsistentRead=True,
                )
            )
            for page in pages:
                found |= {row["key"]: row["login_name"] for row in map(from_item, page["Items"])}
        return found

    def write(self, puts: Mapping[str, Person], deletes: Iterable[str]) -> None:
        """Write rows and remove keys, 25 a call; a key that is both is written."""
        requests: list[Any] = [{"PutRequest": {"Item": to_item(_row(key, p))}} for key, p in puts.items()]
        gone = sorted(set(deletes) - puts.keys())
        requests += [{"DeleteRequest": {"Key": to_item({"key": key})}} for key in gone]
        for start in range(0, len(requests), _WRITE_AT_ONCE):
            pending = {self._table: requests[start : start + _WRITE_AT_ONCE]}
            for attempt in range(_ROUNDS):
                self._wait_before(attempt)
                with translated("dynamodb:BatchWriteItem"):
                    answer = self._clients.dynamodb().batch_write_item(RequestItems=pending)
                pending = dict(answer.get("UnprocessedItems", {}))
                if not pending:
                    break
            else:
                raise ThrottledError("dynamodb:BatchWriteItem left items unwritten; run the load again")

    def _read(self, keys: list[str]) -> dict[str, Person]:
        found: dict[str, Person] = {}
        pending: dict[str, Any] = {self._table: {"Keys": [to_item({"key": key}) for key in keys]}}
        for attempt in range(_ROUNDS):
            self._wait_before(attempt)
            with translated("dynamodb:BatchGetItem"):
                answer = self._clients.dynamodb().batch_get_item(RequestItems=pending)
            for item in answer["Responses"].get(self._table, []):
                row = from_item(item)
                found[row["key"]] = _person(row)
            pending = dict(answer.get("UnprocessedKeys", {}))
            if not pending:
                return found
        raise ThrottledError("dynamodb:BatchGetItem left keys unread")

    def _wait_before(self, attempt: int) -> None:
        if attempt:
            self._wait(min(_WAIT_SECONDS_AT_MOST, _WAIT_SECONDS * 2**attempt))


def _person(row: Mapping[str, Any]) -> Person:
    """The person of a row. A broken row is an error, not a missing person, whose sessions would be ended as unmapped."""
    try:
        return person_of(json.loads(row["person"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        name = row.get("login_name", "?")
        message = f"people table: the row of {name} can't be read ({type(error).__name__}); load the directory again"
        raise TerminalError(message) from error


def _row(key: str, person: Person) -> dict[str, str]:
    return {
        "key": key,
        "login_name": person.login_name,
        "person": json.dumps(record_of(person), sort_keys=True),
    }


def record_of(person: Person) -> dict[str, Any]:
    """A person as the JSON of one row, the same shape as a line of people.jsonl."""
    return {
        "login_name": person.login_name,
        "identities": [
            {"kind": i.kind.value, "value": i.value, "account_id": i.account_id, "roles": list(i.roles)}
            for i in person.identities
        ],
        "email": person.email,
        "time_zone": person.time_zone,
        "groups": sorted(person.groups),
        "run_as": person.run_as,
        "is_disabled": person.is_disabled,
        "is_break_glass": person.is_break_glass,
    }


def person_of(record: Mapping[str, Any]) -> Person:
    """A row of ours back to a person; lines from outside go through the loader's validation instead."""
    return Person(
        login_name=record["login_name"],
        identities=tuple(
            Identity(IdentityKind(i["kind"]), i["value"], i.get("account_id"), tuple(i.get("roles", ())))
            for i in record["identities"]
        ),
        email=record.get("email"),
        time_zone=record.get("time_zone", "UTC"),
        groups=frozenset(record.get("groups", ())),
        run_as=record.get("run_as"),
        is_disabled=record.get("is_disabled", False),
        is_break_glass=record.get("is_break_glass", False),
    )
