"""The evaluator itself."""

from typing import Any

import pytest

from tests.template.policies import ALLOWED, REFUSED, Request, ask

READ = Request(
    action="s3:GetObject",
    resource="arn:aws:s3:::b/k",
    principal="arn:aws:sts::123456789012:assumed-role/r/s",
    context={"aws:SourceArn": "arn:aws:events:us-east-1:123456789012:rule/r", "aws:SecureTransport": "true"},
)


def allow(**more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": "s3:*", "Resource": "*", **more}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([], REFUSED),
        ([allow()], ALLOWED),
        ([allow(Action=["s3:Put*", "S3:getobject"])], ALLOWED),
        ([allow(Action="s3:Put*")], REFUSED),
        ([allow(Resource="arn:aws:s3:::b/?")], ALLOWED),
        ([allow(Resource="arn:aws:s3:::b/?k")], REFUSED),
        ([allow(), allow(Effect="Deny")], REFUSED),
        ([allow(Principal={"AWS": "arn:aws:iam::123456789012:root"})], ALLOWED),
        ([allow(Principal={"AWS": "arn:aws:iam::210987654321:root"})], REFUSED),
        ([allow(Principal={"Service": "s3.amazonaws.com"})], REFUSED),
        ([allow(Principal="*")], ALLOWED),
        ([allow(Condition={"StringEquals": {"aws:sourcearn": "x"}})], REFUSED),
        ([allow(Condition={"StringEquals": {"aws:SourceAccount": "123456789012"}})], REFUSED),
        ([allow(Condition={"StringLike": {"aws:SourceArn": ["x", "*rule/r"]}})], ALLOWED),
        ([allow(Condition={"ArnLike": {"aws:SourceArn": "arn:aws:events:*:123456789012:rule/*"}})], ALLOWED),
        ([allow(Condition={"ArnLike": {"aws:SourceArn": "arn:aws:events:*:rule/*"}})], REFUSED),
        ([allow(Condition={"Bool": {"aws:SecureTransport": False}})], REFUSED),
        ([allow(Condition={"Bool": {"aws:SecureTransport": "true"}})], ALLOWED),
        ([allow(Condition={"Null": {"aws:SourceArn": "true"}})], REFUSED),
        ([allow(Condition={"Null": {"aws:SourceIp": "true"}})], ALLOWED),
        (
            [allow(Condition={"Null": {"aws:SourceIp": "true"}, "Bool": {"aws:SecureTransport": "false"}})],
            REFUSED,
        ),
    ],
)
def test_a_request_is_answered_as_iam_does(statements: list[dict[str, Any]], expected: str) -> None:
    assert ask(statements, READ) == expected


@pytest.mark.parametrize(
    "statement",
    [allow(NotAction="s3:*"), allow(Condition={"NumericLessThan": {"s3:max-keys": "10"}})],
)
def test_what_is_not_known_here_is_never_passed_over(statement: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError):
        ask([statement], READ)
