"""Claims in DynamoDB: key `claim` (text of the ClaimKey). One conditional write to claim, one to settle.

When the answer to a write gets lost, botocore sends it again, and its condition then fails on the write itself. Each write
carries the evaluator's token and a number, so that it is known again: that is no lost race.
"""

from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from proctor.adapters.aws_errors import lost_item, translated
from proctor.adapters.items import expiry, from_item, json_field, to_attribute, to_item
from proctor.adapters.texts import cut
from proctor.domain.actions import Action
from proctor.domain.claims import Claim, ClaimKey, ClaimState
from proctor.domain.decision import RunContext, Verdict
from proctor.domain.errors import LostRaceError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import PutItemInputTypeDef

    from proctor.adapters.aws_clients import AwsClients

_KEPT_DAYS = 400
_TEXT_AT_MOST = 2048


class DynamoClaims:
    """Implements the ClaimStore port."""

    def __init__(self, clients: "AwsClients", table: str) -> None:
        """Take the clients and the table's name."""
        self._clients = clients
        self._table = table
        self._writes = count(1)

    def get(self, key: ClaimKey) -> Claim | None:
        """The claim, read consistently."""
        with translated("dynamodb:GetItem"):
            answer = self._clients.dynamodb().get_item(
                TableName=self._table, Key=to_item({"claim": str(key)}), ConsistentRead=True
            )
        item = answer.get("Item")
        if not item:
            return None
        row = from_item(item)
        return Claim(
            key=key,
            state=ClaimState(row["state"]),
            token=row["token"],
            lease_until=datetime.fromisoformat(row["lease_until"]),
            changed_at=datetime.fromisoformat(row["changed_at"]),
            attempts=row["attempts"],
        )

    def put(self, claim: Claim, verdict: Verdict, context: RunContext, *, replaces: Claim | None) -> None:
        """Claim or take over. Raises LostRaceError when the stored claim is not the one replaced."""
        number = next(self._writes)
        write: PutItemInputTypeDef = {
            "TableName": self._table,
            "Item": to_item({**_row(claim, verdict, context), "write": number}),
            "ConditionExpression": "attribute_not_exists(claim)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if replaces is not None:
            write["ConditionExpression"] = "#t = :token AND #s = :state AND attempts = :attempts"
            write["ExpressionAttributeNames"] = {"#t": "token", "#s": "state"}
            write["ExpressionAttributeValues"] = to_item(
                {":token": replaces.token, ":state": replaces.state.value, ":attempts": replaces.attempts}
            )
        try:
            with translated("dynamodb:PutItem"):
                self._clients.dynamodb().put_item(**write)
        except LostRaceError as lost:
            if not _is_own(lost, claim.token, number):
                raise

    def settle(self, claim: Claim, state: ClaimState, detail: str, now: datetime) -> None:
        """Record the end. Raises LostRaceError when the claim was taken over."""
        number = next(self._writes)
        try:
            with translated("dynamodb:UpdateItem"):
                self._clients.dynamodb().update_item(
                    TableName=self._table,
                    Key=to_item({"claim": str(claim.key)}),
                    UpdateExpression="SET #s = :state, changed_at = :now, detail = :detail, #w = :number",
                    ConditionExpression="#t = :token AND #s = :claimed",
                    ExpressionAttributeNames={"#t": "token", "#s": "state", "#w": "write"},
                    ExpressionAttributeValues={
                        ":state": to_attribute(state.value),
                        ":now": to_attribute(now),
                        ":detail": to_attribute(cut(detail, _TEXT_AT_MOST)),
                        ":number": to_attribute(number),
                        ":token": to_attribute(claim.token),
                        ":claimed": to_attribute(ClaimState.CLAIMED.value),
                    },
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except LostRaceError as lost:
            if not _is_own(lost, claim.token, number):
                raise


def _is_own(lost: LostRaceError, token: str, number: int) -> bool:
    row = from_item(lost_item(lost) or {})
    return (row.get("token"), row.get("write")) == (token, number)


def _row(claim: Claim, verdict: Verdict, context: RunContext) -> dict[str, object]:
    return {
        "claim": str(claim.key),
        "state": claim.state.value,
        "token": claim.token,
        "lease_until": claim.lease_until,
        "changed_at": claim.changed_at,
        "attempts": claim.attempts,
        "cluster": verdict.cluster,
        "reason": verdict.reason,
        "text": cut(verdict.text, _TEXT_AT_MOST),
        "policy_version": verdict.policy_version,
        "action": json_field(_action_record(verdict.action)),
        "inputs": json_field(dict(verdict.inputs)),
        "trigger": context.trigger,
        "actor": context.actor,
        "justification": cut(context.justification, _TEXT_AT_MOST),
        "expires_at": expiry(context.now, _KEPT_DAYS),
    }


def _action_record(action: Action | None) -> dict[str, Any] | None:
    """The action without a person's address: the login name says who was told, for as long as the audit is kept."""
    if action is None:
        return None
    return {name: value for name, value in action.as_record().items() if name != "email"}
