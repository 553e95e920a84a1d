"""Whether a service may deliver to a queue or topic: the resource's own policy, and its KMS key's.

EventBridge, CloudWatch and SNS call SQS and SNS as service principals. A queue without a policy for them, or
with a key whose policy doesn't name them, loses every message in AWS; MiniStack delivers regardless.
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

from typing import Any

from proctor_local.emulator.ministack import MiniStack


def queue_refusal(stack: MiniStack, queue: Any, service: str, source_arn: str) -> str:
    """Why a service may not send to a queue, or an empty text."""
    attributes = queue["attributes"]
    arn = str(attributes["QueueArn"])
    if not _policy_allows(stack, attributes.get("Policy"), service, "sqs:SendMessage", arn, source_arn):
        return f"the queue policy doesn't let {service} do sqs:SendMessage"
    return key_refusal(stack, attributes.get("KmsMasterKeyId"), service, source_arn)


def topic_refusal(stack: MiniStack, topic: Any, arn: str, service: str, source_arn: str) -> str:
    """Why a service may not publish to a topic, or an empty text."""
    attributes = topic.get("attributes") or {}
    if not _policy_allows(stack, attributes.get("Policy"), service, "sns:Publish", arn, source_arn):
        return f"the topic policy doesn't let {service} do sns:Publish"
    return key_refusal(stack, attributes.get("KmsMasterKeyId"), service, source_arn)


def key_refusal(stack: MiniStack, key: str | None, service: str, source_arn: str) -> str:
    """Why a service may not use the key of an encrypted resource, or an empty text."""
    if not key:
        return ""
    if key.startswith("alias/aws/"):
        return f"{key} is an AWS managed key, whose policy no one can open for {service}"
    arn = key_arn(stack, key)
    found = stack.kms.key_policy_for_arn(arn)
    for action in ("kms:GenerateDataKey", "kms:Decrypt"):
        if found is None or not _policy_allows(stack, found[0], service, action, arn, source_arn):
            return f"the policy of {arn} doesn't let {service} do {action}"
    return ""


def key_arn(stack: MiniStack, key: str) -> str:
    """The ARN of a key given by id, alias or ARN; the text itself when there is no such key."""
    record = stack.kms._resolve_key(key)
    return str(record["Arn"]) if record and record.get("Arn") else key


def _policy_allows(
    stack: MiniStack, policy: Any, service: str, action: str, arn: str, source_arn: str
) -> bool:
    evaluator = stack.iam_evaluator
    context = evaluator.EvalContext(
        principal_arn=f"service:{service}",
        principal_type="Service",
        principal_account="",
        action=action,
        resource_arn=arn,
        region=stack.current_region(),
        service_context={"aws:sourcearn": source_arn, "aws:sourceaccount": stack.current_account()},
    )
    return bool(evaluator.evaluate_resource_policy(policy, context, service=service).decision == "Allow")
