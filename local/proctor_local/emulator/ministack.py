"""MiniStack's modules, loaded once, with the request scope that its stores read.

MiniStack has no type information and is not installed where the type checker runs, so its modules are loaded
by name and are ``Any`` here: this package is the only one that sees them.
"""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module, metadata
from typing import Any

SUPPORTED_VERSION = "1.5.33"

_MODULES = {
    "app": "ministack.app",
    "budgets": "ministack.services.budgets",
    "router": "ministack.core.router",
    "responses": "ministack.core.responses",
    "iam": "ministack.services.iam",
    "iam_actions": "ministack.core.iam_actions",
    "iam_evaluator": "ministack.core.iam_evaluator",
    "lambda_runtime": "ministack.core.lambda_runtime",
    "lambda_svc": "ministack.services.lambda_svc",
    "eventbridge": "ministack.services.eventbridge",
    "sqs": "ministack.services.sqs",
    "sns": "ministack.services.sns",
    "ssm": "ministack.services.ssm",
    "sts": "ministack.services.sts",
    "kms": "ministack.services.kms",
    "ses": "ministack.services.ses",
    "ses_v2": "ministack.services.ses_v2",
    "dynamodb": "ministack.services.dynamodb",
    "cloudwatch": "ministack.services.cloudwatch",
    "provisioners": "ministack.services.cloudformation.provisioners",
}


class MiniStack:
    """The loaded modules of MiniStack as attributes (``app``, ``iam_actions``, ``lambda_svc``, ...).

    The process environment must be complete before this is made: MiniStack reads its settings at import.
    """

    def __init__(self, account: str, region: str) -> None:
        self.version = metadata.version("ministack")
        self.account = account
        self.region = region
        self._modules = {attribute: import_module(name) for attribute, name in _MODULES.items()}

    def __getattr__(self, name: str) -> Any:
        if name in _MODULES:
            return self._modules[name]
        raise AttributeError(name)

    @contextmanager
    def scope(self, account: str | None = None, region: str | None = None) -> Iterator[None]:
        """Run a block for one account and Region, as a request of that account would."""
        responses = self.responses
        account_token = responses._request_account_id.set(account or self.account)
        region_token = responses._request_region.set(region or self.region)
        try:
            yield
        finally:
            responses._request_account_id.reset(account_token)
            responses._request_region.reset(region_token)

    def sent_mails(self) -> list[dict[str, Any]]:
        """The records of SES v2's sent mails in the account's scope, oldest first."""
        with self.scope():
            return [dict(record) for record in self.ses_v2._sent_emails_list()]

    def is_identity(self, address: str) -> bool:
        """Whether SES v2 knows this address or domain as an identity."""
        return address in self.ses_v2._identities

    def parameter(self, name: str) -> Mapping[str, Any]:
        """What Parameter Store holds under a name; empty when there is none."""
        return self.ssm._parameters.get(name) or {}

    def current_account(self) -> str:
        """The 12-digit account of the request that is being served."""
        return str(self.responses.get_account_id())

    def current_region(self) -> str:
        """The Region of the request that is being served."""
        return str(self.responses.get_region())
