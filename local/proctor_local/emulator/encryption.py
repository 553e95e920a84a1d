"""Who may use an encrypted queue, topic or table: the caller needs the key too, as in AWS.

A resource under an AWS managed key (``alias/aws/...``) asks nothing more of callers in its own account.
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

from collections.abc import Mapping
from typing import Any

from proctor_local.emulator.authorisation import Authorisation
from proctor_local.emulator.calls import ApiCall, Check
from proctor_local.emulator.delivery import key_arn
from proctor_local.emulator.hooks import Hooks

_QUEUE_NEEDS = {
    "SendMessage": ("kms:GenerateDataKey", "kms:Decrypt"),
    "SendMessageBatch": ("kms:GenerateDataKey", "kms:Decrypt"),
    "ReceiveMessage": ("kms:Decrypt",),
}
_TABLE_NEEDS = frozenset(
    {"GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "Query", "Scan"}
)


class Encryption:
    """Adds the key's question to calls that touch encrypted content, and leading keys to DynamoDB's."""

    def __init__(self, hooks: Hooks, authorisation: Authorisation) -> None:
        self._stack = hooks.ministack
        authorisation.add_checks("sqs", self._queue)
        authorisation.add_checks("sns", self._topic)
        authorisation.add_checks("dynamodb", self._table)
        authorisation.add_context("dynamodb", self._leading_keys)

    def _queue(self, call: ApiCall) -> list[Check]:
        needs = _QUEUE_NEEDS.get(call.action)
        queue = self._stack.sqs._queues.get(self._queue_url(call)) if needs else None
        key = (queue or {}).get("attributes", {}).get("KmsMasterKeyId")
        return self._key_checks(key, needs or (), call, "sqs")

    def _queue_url(self, call: ApiCall) -> str:
        url = str(call.input.get("QueueUrl") or "")
        return str(self._stack.sqs._queue_url(url.rsplit("/", 1)[-1]))

    def _topic(self, call: ApiCall) -> list[Check]:
        if call.action not in ("Publish", "PublishBatch"):
            return []
        topic = self._stack.sns._topics.get(str(call.input.get("TopicArn") or "")) or {}
        key = (topic.get("attributes") or {}).get("KmsMasterKeyId")
        return self._key_checks(key, ("kms:GenerateDataKey", "kms:Decrypt"), call, "sns")

    def _table(self, call: ApiCall) -> list[Check]:
        if call.action not in _TABLE_NEEDS:
            return []
        checks = []
        for name in _table_names(call.input):
            description = (self._stack.dynamodb._tables.get(name) or {}).get("SSEDescription") or {}
            checks += self._key_checks(description.get("KMSMasterKeyArn"), ("kms:Decrypt",), call, "dynamodb")
        return checks

    def _key_checks(self, key: Any, needs: tuple[str, ...], call: ApiCall, service: str) -> list[Check]:
        if not key or "alias/aws/" in str(key):
            return []
        arn = key_arn(self._stack, str(key))
        context = {
            "kms:ViaService": f"{service}.{call.region}.amazonaws.com",
            "kms:CallerAccount": call.account,
        }
        return [Check((arn,), context, action=need, service="kms") for need in needs]

    # The leading keys of a call.

    def _leading_keys(self, call: ApiCall) -> Mapping[str, Any]:
        keys = [value for name, members in _items(call) for value in self._partition_values(name, members)]
        return {"dynamodb:LeadingKeys": keys} if keys else {}

    def _partition_values(self, table: str, members: Mapping[str, Any]) -> list[str]:
        schema = (self._stack.dynamodb._tables.get(table) or {}).get("KeySchema") or []
        name = next((element["AttributeName"] for element in schema if element.get("KeyType") == "HASH"), "")
        holder = members.get("Key") or members.get("Item")
        value = holder.get(name) if isinstance(holder, Mapping) else _queried(members, name)
        return [str(next(iter(value.values())))] if isinstance(value, Mapping) and value else []


def _table_names(members: Mapping[str, Any]) -> list[str]:
    many = members.get("RequestItems")
    names = list(many) if isinstance(many, Mapping) else [members.get("TableName")]
    return [str(name).rsplit("/", 1)[-1] for name in names if name]


def _items(call: ApiCall) -> list[tuple[str, Mapping[str, Any]]]:
    """(table, members holding Key, Item or a key condition) for everything the call addresses."""
    many = call.input.get("RequestItems")
    if not isinstance(many, Mapping):
        return [(name, call.input) for name in _table_names(call.input)]
    found: list[tuple[str, Mapping[str, Any]]] = []
    for table, wanted in many.items():
        name = str(table).rsplit("/", 1)[-1]
        if isinstance(wanted, Mapping):
            found += [(name, {"Key": key}) for key in wanted.get("Keys") or ()]
        else:
            found += [(name, next(iter(request.values()))) for request in wanted]
    return found


def _queried(members: Mapping[str, Any], name: str) -> Any:
    """The value that a Query's key condition compares the partition key with."""
    names = members.get("ExpressionAttributeNames") or {}
    for part in str(members.get("KeyConditionExpression") or "").split(" AND "):
        left, equals, right = part.strip(" ()").partition("=")
        if equals and names.get(left.strip(), left.strip()) == name:
            return (members.get("ExpressionAttributeValues") or {}).get(right.strip())
    return None
