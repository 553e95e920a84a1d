"""Batch calls are authorised as the single call (service authorisation reference); MiniStack asks for the batch's name."""

from typing import Any

from proctor_local.emulator.hooks import Hooks

_SINGLE = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "sns:PublishBatch": "sns:Publish",
}


def authorise_batches_as_single(hooks: Hooks) -> None:
    """Ask IAM for `sqs:DeleteMessage` when DeleteMessageBatch is called, and so on."""
    actions = hooks.ministack.iam_actions
    original = actions.extract_iam_action

    def extract(
        service: str, method: str, path: str, headers: dict[str, str], body: bytes, query_params: Any
    ) -> str | None:
        action: str | None = original(service, method, path, headers, body, query_params)
        return _SINGLE.get(action or "", action)

    actions.extract_iam_action = extract
