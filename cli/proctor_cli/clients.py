"""AWS clients as the command line wants them: the caller's profile, Region and endpoint."""

from functools import cache
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.config import Config

from proctor.adapters.aws_clients import AwsClients

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sts import STSClient

_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "max_attempts": 4})
_INVOKING = Config(connect_timeout=5, read_timeout=150, retries={"mode": "standard", "max_attempts": 1})
"""Longer than any function's time-out, and no retry: the outcome of a request that timed out is for a person to look at."""


class _Session(boto3.Session):
    """A session all of whose clients speak to one endpoint."""

    def __init__(self, region: str | None, profile: str | None, endpoint_url: str | None) -> None:
        super().__init__(region_name=region, profile_name=profile)
        self._endpoint_url = endpoint_url

    def client(self, *args: Any, **kwargs: Any) -> Any:
        """A client; an endpoint given by the caller wins over the configuration's."""
        if self._endpoint_url:
            kwargs.setdefault("endpoint_url", self._endpoint_url)
        return super().client(*args, **kwargs)


class CliClients(AwsClients):
    """Lazy clients, those of the functions and three more. Raises ProfileNotFound for an unknown profile."""

    def __init__(
        self, region: str | None = None, profile: str | None = None, endpoint_url: str | None = None
    ) -> None:
        """Build the session; no client yet."""
        self._own = _Session(region, profile, endpoint_url)
        self._session = self._own

    @property
    def session(self) -> boto3.Session:
        """The session behind the clients, for signing."""
        return self._own

    @property
    def credentials(self) -> "Credentials | None":
        """The caller's credentials, None when there are none."""
        return self._own.get_credentials()

    @cache  # noqa: B019 - one instance per process
    def cloudformation(self) -> "CloudFormationClient":
        """CloudFormation."""
        return cast("CloudFormationClient", self._own.client("cloudformation", config=_CONFIG))

    @cache  # noqa: B019
    def sts(self) -> "STSClient":
        """Security Token Service."""
        return cast("STSClient", self._own.client("sts", config=_CONFIG))

    @cache  # noqa: B019
    def functions(self) -> "LambdaClient":
        """Lambda."""
        return cast("LambdaClient", self._own.client("lambda", config=_INVOKING))
