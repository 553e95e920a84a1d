"""One session and one configuration; each client is made when it is first used, for a cold start pays for what it uses only.

The session is botocore's own: boto3 would add its resources and the S3 transfer manager, which nothing here uses.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from botocore.config import Config
from botocore.loaders import Loader
from botocore.session import Session

if TYPE_CHECKING:
    from mypy_boto3_budgets import BudgetsClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sesv2 import SESV2Client
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_ssm import SSMClient

_CONFIG = Config(
    connect_timeout=3,
    read_timeout=10,
    retries={"mode": "standard", "max_attempts": 4},
    user_agent_extra="proctor",
)


_SERVICES = ("budgets", "dynamodb", "events", "sagemaker", "sesv2", "sns", "sqs", "ssm")


class ClientMaker(Protocol):
    """What makes clients: the session below, or a boto3 session."""

    def client(self, service_name: str, *, config: Config, region_name: str | None = None) -> Any:
        """A new client."""
        ...


class _Loader(Loader):
    """Knows its services; botocore's own looks twice through the 438 folders of its data, for 20 ms of a cold start."""

    def list_available_services(self, type_name: str) -> list[str]:
        """Those that have a client here."""
        del type_name
        return list(_SERVICES)


class _Session(Session):
    """A botocore session with boto3's way to ask for a client."""

    def __init__(self) -> None:
        super().__init__()
        self.register_component("data_loader", _Loader())

    def client(self, service_name: str, *, config: Config, region_name: str | None = None) -> Any:
        return self.create_client(service_name, config=config, region_name=region_name)


class AwsClients:
    """Lazy clients of one session. The Region and credentials are the environment's."""

    _session: ClientMaker

    def __init__(self) -> None:
        """Build the session; no client yet."""
        self._session = _Session()

    @cache  # noqa: B019 - one instance per process
    def ssm(self) -> "SSMClient":
        """Systems Manager."""
        return cast("SSMClient", self._client("ssm"))

    @cache  # noqa: B019
    def dynamodb(self) -> "DynamoDBClient":
        """DynamoDB."""
        return cast("DynamoDBClient", self._client("dynamodb"))

    @cache  # noqa: B019
    def sagemaker(self) -> "SageMakerClient":
        """SageMaker."""
        return cast("SageMakerClient", self._client("sagemaker"))

    @cache  # noqa: B019
    def sesv2(self) -> "SESV2Client":
        """Simple Email Service."""
        return cast("SESV2Client", self._client("sesv2"))

    @cache  # noqa: B019
    def sns(self) -> "SNSClient":
        """Simple Notification Service."""
        return cast("SNSClient", self._client("sns"))

    @cache  # noqa: B019
    def sqs(self) -> "SQSClient":
        """Simple Queue Service."""
        return cast("SQSClient", self._client("sqs"))

    @cache  # noqa: B019
    def events(self) -> "EventBridgeClient":
        """EventBridge."""
        return cast("EventBridgeClient", self._client("events"))

    @cache  # noqa: B019
    def budgets(self) -> "BudgetsClient":
        """AWS Budgets; its one endpoint is in us-east-1."""
        return cast("BudgetsClient", self._client("budgets", region_name="us-east-1"))

    def _client(self, service: str, **where: str) -> Any:
        return self._session.client(service, config=_CONFIG, **where)
