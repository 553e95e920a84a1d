"""SQS event source mappings: the role's permissions, partial batch failures, and who sent a message.

Two things MiniStack gets wrong lose events or hide a broken template: a response that Lambda takes as a
failure of the whole batch (an empty, null or misnamed ``itemIdentifier``, or no JSON object) deletes messages
there, and a role that may not read the queue still gets its messages.
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

import json
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from proctor_local.emulator.authorisation import Authorisation
from proctor_local.emulator.delivery import key_arn
from proctor_local.emulator.hooks import Hooks
from proctor_local.problems import Problems

_READS = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")


class Mappings:
    """Wraps the poller's two decisions about SQS: may this mapping read now, and what happened to a batch."""

    def __init__(self, hooks: Hooks, authorisation: Authorisation, problems: Problems) -> None:
        self._stack, self._authorisation, self._problems = hooks.ministack, authorisation, problems
        self._result: ContextVar[list[Any] | None] = ContextVar("proctor_batch_results", default=None)
        self._wrap_concurrency()
        self._wrap_batch()

    def refusals(self) -> list[dict[str, str]]:
        """The mappings whose role can't read their queue, with the reason.

        AWS refuses to create such a one.
        """
        stack, found = self._stack, []
        for account, region, mapping in stack.lambda_svc._iter_all_esms():
            with stack.scope(account, region):
                function, _ = stack.lambda_svc._get_func_record_for_qualifier(
                    mapping["FunctionName"], mapping.get("Qualifier")
                )
                queue = stack.sqs._queue_by_arn(mapping["EventSourceArn"])
                refused = self._refused(mapping, function or {}, queue or {})
            if refused:
                found.append(
                    {
                        "function": mapping["FunctionName"],
                        "queue": mapping["EventSourceArn"],
                        "reason": refused,
                    }
                )
        return found

    def _wrap_concurrency(self) -> None:
        original = self._stack.lambda_svc._sqs_esm_concurrency

        def concurrency(mapping: Any, function: Any, config: Any, queue: Any = None) -> int:
            refused = self._refused(mapping, function, queue or {})
            if refused:
                mapping["LastProcessingResult"] = f"PROBLEM: {refused}"
                self._problems.report("event source mapping", mapping["EventSourceArn"], refused)
                return 0
            return int(original(mapping, function, config, queue))

        self._stack.lambda_svc._sqs_esm_concurrency = concurrency

    def _refused(self, mapping: Any, function: Any, queue: Any) -> str:
        role = str((function.get("config") or {}).get("Role", ""))
        arn = str(mapping["EventSourceArn"])
        for action in _READS:
            if not self._authorisation.is_allowed(role, "sqs", action, arn):
                return f"{role} may not {action}"
        key = (queue.get("attributes") or {}).get("KmsMasterKeyId")
        if key and not str(key).startswith("alias/aws/"):
            key = key_arn(self._stack, str(key))
            if not self._authorisation.is_allowed(role, "kms", "kms:Decrypt", key, via="sqs"):
                return f"{role} may not kms:Decrypt with {key}"
        return ""

    def _wrap_batch(self) -> None:
        original = self._stack.lambda_svc._run_sqs_batch
        execute = self._stack.lambda_svc._execute_function

        def run(mapping: Any, function: Any, event: Any, batch: Any, url: str, name: str) -> None:
            _set_senders(event, batch)
            token, began = self._result.set([]), time.monotonic()
            try:
                original(mapping, function, event, batch, url, name)
                self._emit_metrics(str(mapping["FunctionName"]), time.monotonic() - began)
            finally:
                self._result.reset(token)

        def execute_checked(function: Any, event: Any) -> Any:
            result = execute(function, event)
            if (results := self._result.get()) is not None:
                results.append(result)
            if _is_sqs_batch(event) and isinstance(result, dict) and not result.get("error"):
                partial = self._reports_partial_failures(function, event)
                if partial and whole_batch_failed(result.get("body")):
                    return result | {
                        "error": True,
                        "body": {
                            "errorType": "InvalidBatchResponse",
                            "errorMessage": "the batch response is not valid",
                        },
                    }
            return result

        self._stack.lambda_svc._run_sqs_batch = run
        self._stack.lambda_svc._execute_function = execute_checked

    def _emit_metrics(self, function: str, seconds: float) -> None:
        """`AWS/Lambda` metrics of a mapping's invocation, which MiniStack records for direct invocations only."""
        has_failed = any(
            isinstance(result, dict) and result.get("error") for result in self._result.get() or ()
        )
        self._stack.lambda_svc._emit_lambda_metrics(function, seconds * 1000, has_failed, False)

    def _reports_partial_failures(self, function: Any, event: Any) -> bool:
        source = event["Records"][0]["eventSourceARN"]
        name = (function.get("config") or {}).get("FunctionName")
        return any(
            mapping["EventSourceArn"] == source
            and mapping["FunctionName"] == name
            and "ReportBatchItemFailures" in (mapping.get("FunctionResponseTypes") or ())
            for _, _, mapping in self._stack.lambda_svc._iter_all_esms()
        )


def whole_batch_failed(body: Any) -> bool:
    """Whether Lambda takes a response to a batch as "all failed".

    Not an object, or an identifier that names nothing.

    None, an empty object, and a null or empty list mean success. Source: Lambda developer guide, SQS error
    handling.
    """
    if isinstance(body, str):
        try:
            body = json.loads(body) if body else None
        except ValueError:
            return True
    if body is None:
        return False
    if not isinstance(body, Mapping):
        return True
    failures = body.get("batchItemFailures")
    if failures is None:
        return False
    if not isinstance(failures, list):
        return True
    return any(not isinstance(item, Mapping) or not item.get("itemIdentifier") for item in failures)


def _is_sqs_batch(event: Any) -> bool:
    records = event.get("Records") if isinstance(event, dict) else None
    return bool(records) and isinstance(records, list) and records[0].get("eventSource") == "aws:sqs"


def _set_senders(event: Any, batch: Any) -> None:
    senders = {message["id"]: (message.get("sys") or {}).get("SenderId") for message in batch}
    for record in event["Records"]:
        sender = senders.get(record["messageId"])
        if sender:
            record["attributes"]["SenderId"] = sender
