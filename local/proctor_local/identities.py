"""Roles and IAM users for people, so that sessions start under credentials of their own.

Identity Center's roles are called ``AWSReservedSSO_<permission set>_<16 hex>`` and live under a reserved
path; a person's role session name is the Identity Center user name. IAM users exist too, with tags in place
of session tags.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from proctor_local.aws_client import AwsClient, AwsError, Credentials, assume_role, text_of
from proctor_local.control import LocalAwsClient, PersonClient

SSO_PATH = "/aws-reserved/sso.amazonaws.com/"
RUN_AS = "SSMSessionRunAs"

RESEARCHER_POLICY: Mapping[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Sid": "Start",
            "Effect": "Allow",
            "Action": ["ssm:StartSession", "ssm:GetConnectionStatus"],
            "Resource": "*",
        },
        {
            "Sid": "EndOwn",
            "Effect": "Allow",
            "Action": ["ssm:TerminateSession", "ssm:ResumeSession"],
            "Resource": "arn:aws:ssm:*:*:session/*",
            "Condition": {"StringEquals": {"ssm:resourceTag/aws:ssmmessages:session-id": "${aws:userid}"}},
        },
        {"Sid": "List", "Effect": "Allow", "Action": "ssm:DescribeSessions", "Resource": "*"},
    ],
}


class Identities:
    """Makes roles and people in a running local AWS."""

    def __init__(self, local: LocalAwsClient) -> None:
        self._local = local
        self._root = local.aws()

    def permission_set(self, name: str, policy: Mapping[str, Any] = RESEARCHER_POLICY) -> str:
        """The role of a permission set (made once); its ARN, path included."""
        suffix = hashlib.sha256(name.encode()).hexdigest()[:16]
        return self.role(f"AWSReservedSSO_{name}_{suffix}", policy, f"{SSO_PATH}{self._local.region}/")

    def role(self, name: str, policy: Mapping[str, Any], path: str = "/") -> str:
        """A role that anyone in the account may assume with tags; its ARN."""
        trust = {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": {"AWS": f"arn:aws:iam::{self._local.account}:root"},
                    "Action": ["sts:AssumeRole", "sts:TagSession"],
                }
            ],
        }
        try:
            answer = self._root.query(
                "iam", "CreateRole", RoleName=name, Path=path, AssumeRolePolicyDocument=json.dumps(trust)
            )
        except AwsError as error:
            if error.code != "EntityAlreadyExists":
                raise
            answer = self._root.query("iam", "GetRole", RoleName=name)
        self._root.query(
            "iam", "PutRolePolicy", RoleName=name, PolicyName="inline", PolicyDocument=json.dumps(policy)
        )
        return text_of(answer, "Arn")

    def person(
        self,
        login_name: str,
        role_arn: str,
        run_as: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> PersonClient:
        """A person signed in through Identity Center: ``login_name`` is the role session name."""
        session_tags = dict(tags or {}) | ({RUN_AS: run_as} if run_as else {})
        credentials = assume_role(self._root, role_arn, login_name, session_tags)
        return self._signed_in(login_name, credentials)

    def iam_user(
        self, name: str, run_as: str = "", policy: Mapping[str, Any] = RESEARCHER_POLICY
    ) -> PersonClient:
        """A person with an IAM user and a long-lived key."""
        members: dict[str, Any] = {"UserName": name}
        if run_as:
            members["Tags"] = [{"Key": RUN_AS, "Value": run_as}]
        self._root.query("iam", "CreateUser", **members)
        self._root.query(
            "iam", "PutUserPolicy", UserName=name, PolicyName="inline", PolicyDocument=json.dumps(policy)
        )
        answer = self._root.query("iam", "CreateAccessKey", UserName=name)
        return self._signed_in(
            name, Credentials(text_of(answer, "AccessKeyId"), text_of(answer, "SecretAccessKey"))
        )

    def people(self, login_names: Sequence[str], role_arn: str) -> list[PersonClient]:
        """Several people under one permission set, each run as their own login name."""
        return [self.person(name, role_arn, run_as=name) for name in login_names]

    def _signed_in(self, login_name: str, credentials: Credentials) -> PersonClient:
        client: AwsClient = self._local.aws(credentials)
        return PersonClient(login_name, text_of(client.query("sts", "GetCallerIdentity"), "Arn"), client)
