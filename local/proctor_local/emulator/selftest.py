"""Checks at start that every private name of MiniStack used here still has the shape it had."""

import inspect
from typing import Any

from proctor_local.emulator.ministack import SUPPORTED_VERSION

# module, function, the parameter names that the replacement takes.
FUNCTIONS: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    ("app", "_lazy_handler", ("module_name",)),
    ("app", "_reset_all_state", ()),
    ("app", "_dispatch_service_request", ("method", "path", "headers", "body", "query_params", "request_id")),
    ("router", "extract_access_key_id", ("headers", "query_params")),
    ("router", "detect_service", ("method", "path", "headers", "query_params")),
    ("iam_actions", "extract_iam_action", ("service", "method", "path", "headers", "body", "query_params")),
    (
        "iam_actions",
        "extract_resource_arn",
        ("service", "method", "path", "headers", "body", "query_params", "region", "account_id"),
    ),
    ("iam_actions", "access_denied_response", None),
    ("iam_actions", "identity_denial_message", ("action", "principal_arn", "resource", "explicit_deny")),
    ("lambda_svc", "_get_func_record_for_qualifier", ("name", "qualifier")),
    (
        "iam_evaluator",
        "enforce",
        ("access_key_id", "iam_action", "service", "region", "resource_arn", "service_context"),
    ),
    ("iam_evaluator", "evaluate", ("ctx", "policies", "limits")),
    ("iam_evaluator", "_first_match", ("ctx", "stmts", "effect")),
    ("iam_evaluator", "_resolve_condition_key", ("key", "ctx")),
    ("iam_evaluator", "_names_condition_key", ("policies", "prefix")),
    ("iam_evaluator", "_gather_role_policies", ("role_name", "account_id")),
    ("iam_evaluator", "_resource_policy", ("service", "resource_arn")),
    (
        "iam_evaluator",
        "combine_resource_policy",
        ("identity", "ctx", "policy", "owner_account", "required", "limits"),
    ),
    ("iam_evaluator", "evaluate_resource_policy", ("doc", "ctx", "service", "named_only", "direct_only")),
    ("iam_evaluator", "resolve_credential", ("access_key_id", "account_id", "session_token")),
    ("iam_evaluator", "resolve_principal", ("access_key_id", "account_id", "credential")),
    ("iam_evaluator", "_role_name_from_assumed_arn", ("assumed_arn",)),
    ("eventbridge", "_put_events", ("data", "allow_aws_source")),
    ("eventbridge", "_invoke_target", ("target", "event", "rule", "view")),
    ("eventbridge", "_dispatch_to_sqs", ("spec", "payload", "sqs_parameters")),
    ("eventbridge", "_pattern_event_view", ("event",)),
    ("eventbridge", "_render_placeholder", ("var_name", "token", "replacements", "in_string")),
    ("sqs", "_queue_by_arn", ("arn",)),
    ("sqs", "_queue_url", ("name",)),
    ("sqs", "_collect_msgs", None),
    ("sqs", "_build_send_sys_attrs", ("now", "sys_attrs_input")),
    ("sns", "_deliver_to_sqs", None),
    ("sns", "publish_internal", None),
    ("lambda_svc", "_sqs_esm_concurrency", ("esm", "func_rec", "config", "queue")),
    ("lambda_svc", "_run_sqs_batch", ("esm", "func_rec", "event", "batch", "queue_url", "queue_name")),
    ("lambda_svc", "_execute_function", ("func", "event")),
    ("lambda_svc", "_emit_lambda_metrics", ("function_name", "duration_ms", "error", "throttle")),
    ("lambda_svc", "_iter_all_esms", ()),
    (
        "lambda_svc",
        "_emit_lambda_logs",
        ("func", "request_id", "log_text", "error", "duration_ms", "log_source"),
    ),
    ("lambda_runtime", "execution_credentials", ("config",)),
    ("kms", "_resolve_key", ("key_id_or_arn",)),
    ("kms", "key_policy_for_arn", ("resource_arn",)),
    ("sts", "_role_id", ("role_arn",)),
    ("dynamodb", "_sse_description_from_spec", ("spec",)),
    ("cloudwatch", "record_metric", ("namespace", "metric_name", "value", "unit", "dimensions")),
    ("cloudwatch", "_dispatch_alarm_actions", ("alarm", "old_state", "new_state", "reason")),
    ("cloudwatch", "_evaluate_all_alarms", ()),
    ("cloudwatch", "_evaluate_alarm", ("alarm",)),
    ("cloudwatch", "_record_history", None),
    ("cloudwatch", "_stat_value", ("stats", "stat_name", "points")),
    ("cloudwatch", "_calc_stats", ("points",)),
    ("sqs", "_refresh_counts", ("q",)),
    ("ses_v2", "_sent_emails_list", ()),
)
VALUES: tuple[tuple[str, str, type], ...] = (
    ("app", "SERVICE_REGISTRY", dict),
    ("budgets", "_budgets", object),
    ("budgets", "_notification_store", object),
    ("app", "SERVICE_HANDLERS", dict),
    ("router", "SERVICE_PATTERNS", dict),
    ("iam_actions", "SERVICE_TO_IAM_NAMESPACE", dict),
    ("sqs", "_HANDLERS", dict),
    ("provisioners", "_RESOURCE_HANDLERS", dict),
    ("sts", "_sessions", object),
    ("ssm", "_parameters", object),
    ("eventbridge", "_rules", object),
    ("eventbridge", "_targets", object),
    ("dynamodb", "_tables", object),
    ("dynamodb", "_pitr_settings", object),
    ("dynamodb", "_ttl_settings", object),
    ("lambda_runtime", "_workers", dict),
    ("sns", "_topics", object),
    ("cloudwatch", "_alarms", object),
    ("cloudwatch", "_metrics", object),
    ("responses", "_request_account_id", object),
    ("responses", "_request_region", object),
    ("iam_evaluator", "_verified_key", object),
)


class HookChangedError(RuntimeError):
    """MiniStack isn't the one these hooks were written for; the message lists every difference."""


def check(stack: Any) -> None:
    """Raise HookChangedError when a hooked name is gone or changed, or MiniStack is not the pinned one."""
    differences = [line for line in (_function(stack, *item) for item in FUNCTIONS) if line]
    differences += [line for line in (_value(stack, *item) for item in VALUES) if line]
    if stack.version != SUPPORTED_VERSION:
        differences.insert(
            0, f"ministack is {stack.version}; the hooks were checked with {SUPPORTED_VERSION}"
        )
    if differences:
        text = "; ".join(differences)
        raise HookChangedError(f"MiniStack's private names changed, mend proctor_local/emulator: {text}")


def _function(stack: Any, module: str, name: str, parameters: tuple[str, ...] | None) -> str:
    found: Any = getattr(getattr(stack, module), name, None)
    if not callable(found):
        return f"{module}.{name} is gone"
    if parameters is None:
        return ""
    actual = tuple(inspect.signature(found).parameters)
    return "" if actual == parameters else f"{module}.{name} takes {actual}, not {parameters}"


def _value(stack: Any, module: str, name: str, kind: type) -> str:
    found = getattr(getattr(stack, module), name, None)
    return (
        "" if isinstance(found, kind) and found is not None else f"{module}.{name} is not a {kind.__name__}"
    )
