r"""AWS Budgets' notification: an SNS envelope in a queue record's body (raw delivery off), around prose.

    {"Type": "Notification", "MessageId": "…", "TopicArn": "arn:aws:sns:us-east-1:123456789012:budgets",
     "Subject": "AWS Budgets: hyperpod-alpha has exceeded your alert threshold",
     "Message": "AWS Budget Notification January 28, 2026\nAWS Account 123456789012\n\nDear AWS Customer,\n\n…
                 Budget Name: hyperpod-alpha\nBudget Type: Cost\nBudgeted Amount: $1,000.00\nAlert Type: ACTUAL\n…"}

Only the budget's name and the account are read; amounts may be in any currency and format, and are asked of the API instead.
"""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from proctor.domain.errors import InvalidInputError

_NAME = re.compile(r"^\s*Budget Name:[ \t]*(\S[^\r\n]{0,99}?)[ \t]*\r?$", re.MULTILINE)
_ACCOUNT = re.compile(r"^\s*AWS Account[ \t]+(\d{12})[ \t]*\r?$", re.MULTILINE)


class SnsNotification(BaseModel):
    """What is needed of the envelope."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    type: Annotated[Literal["Notification"], Field(alias="Type")]
    message: Annotated[str, Field(alias="Message", max_length=262144)]

    def budget(self) -> tuple[str, str]:
        """(budget name, account id). Raises InvalidInputError when the text names none, or more than one of either."""
        names, accounts = set(_NAME.findall(self.message)), set(_ACCOUNT.findall(self.message))
        if len(names) != 1:
            raise InvalidInputError(
                "Message", f"{len(names)} budget names", "expect one line `Budget Name: ...`"
            )
        if len(accounts) != 1:
            raise InvalidInputError(
                "Message", f"{len(accounts)} accounts", "expect one line `AWS Account <12 digits>`"
            )
        return names.pop(), accounts.pop()


SNS_NOTIFICATION: TypeAdapter[SnsNotification] = TypeAdapter(SnsNotification)
