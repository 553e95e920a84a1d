"""The AWS clients that session_limits uses, on the simulated services. Each call passes the gate of its invocation."""

# ruff: noqa: N803 - arguments as AWS spells them

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from tests.simulation.core.dynamo import Call, SimulatedTables
from tests.simulation.core.environment import SimulatedClients
from tests.simulation.sessions.evaluation import Evaluation
from tests.simulation.sessions.parameters import Parameters
from tests.simulation.sessions.places import NODES
from tests.simulation.sessions.scenario import CLUSTERS
from tests.simulation.sessions.service import SessionService


@dataclass
class Services:
    """Everything AWS that session_limits talks to, and what it received."""

    sessions: SessionService
    parameters: Parameters
    tables: SimulatedTables
    on_mail: Callable[[Evaluation, str], None] = lambda asker, address: None
    on_message: Callable[[Evaluation, str], None] = lambda asker, subject: None
    parked: list[str] = field(default_factory=list)

    def clients(self, call: Call, asker: Callable[[], Evaluation]) -> SimulatedClients:
        """Clients whose calls go through `call`; `asker` names the invocation."""
        return SimulatedClients(
            ssm=_Ssm(self, call, asker),
            sagemaker=_SageMaker(call),
            dynamodb=self.tables.client(call),
            sesv2=_Ses(self, call, asker),
            sns=_Sns(self, call, asker),
            sqs=_Sqs(self, call),
            events=_Events(call),
        )


@dataclass
class _Ssm:
    services: Services
    call: Call
    asker: Callable[[], Evaluation]

    def describe_sessions(self, *, State: str, MaxResults: int, NextToken: str = "") -> Any:
        if State != "Active":
            raise AssertionError(State)
        return self.call("ssm:DescribeSessions", lambda: self.services.sessions.page(MaxResults, NextToken))

    def terminate_session(self, *, SessionId: str) -> Any:
        who = self.asker()
        return self.call("ssm:TerminateSession", lambda: self.services.sessions.terminate(SessionId, who))

    def get_parameters(self, *, Names: list[str]) -> Any:
        return self.call("ssm:GetParameters", lambda: self.services.parameters.read(Names))

    def label_parameter_version(self, *, Name: str, ParameterVersion: int, Labels: list[str]) -> Any:
        del Labels
        return self.call(
            "ssm:LabelParameterVersion", lambda: self.services.parameters.label(Name, ParameterVersion)
        )


@dataclass
class _SageMaker:
    call: Call

    class exceptions:  # noqa: N801 - as botocore names it
        ResourceNotFound = ClientError

    def describe_cluster(self, *, ClusterName: str) -> Any:
        arn = f"arn:aws:sagemaker:us-east-1:123456789012:cluster/{CLUSTERS[ClusterName]}"
        return self.call("sagemaker:DescribeCluster", lambda: {"ClusterArn": arn})

    def get_paginator(self, operation: str) -> "_Nodes":
        return _Nodes(self.call, operation)


@dataclass
class _Nodes:
    call: Call
    operation: str

    def paginate(self, *, ClusterName: str, **paging: Any) -> Iterator[Any]:
        del paging
        nodes = [n for n in NODES if n.cluster == ClusterName]
        for node in nodes:
            rows = [{"InstanceGroupName": node.group, "InstanceId": node.instance_id}]
            yield self.call("sagemaker:ListClusterNodes", lambda r=rows: {"ClusterNodeSummaries": r})  # type: ignore[misc]


@dataclass
class _Ses:
    services: Services
    call: Call
    asker: Callable[[], Evaluation]

    def get_suppressed_destination(self, *, EmailAddress: str) -> Any:
        def effect() -> Any:
            raise ClientError(
                {"Error": {"Code": "NotFoundException", "Message": EmailAddress}}, "GetSuppressed"
            )

        return self.call("ses:GetSuppressedDestination", effect)

    def send_email(self, *, Destination: dict[str, list[str]], **message: Any) -> Any:
        del message
        who, address = self.asker(), Destination["ToAddresses"][0]
        return self.call("ses:SendEmail", lambda: self.services.on_mail(who, address))


@dataclass
class _Sns:
    services: Services
    call: Call
    asker: Callable[[], Evaluation]

    def publish(self, *, Subject: str, **message: Any) -> Any:
        del message
        who = self.asker()
        return self.call("sns:Publish", lambda: self.services.on_message(who, Subject))


@dataclass
class _Sqs:
    services: Services
    call: Call

    def send_message(self, *, QueueUrl: str, MessageBody: str) -> Any:
        del QueueUrl
        return self.call("sqs:SendMessage", lambda: self.services.parked.append(MessageBody))


@dataclass
class _Events:
    call: Call

    def put_events(self, *, Entries: list[Any]) -> Any:
        answer = {"FailedEntryCount": 0, "Entries": [{"EventId": str(n)} for n, _ in enumerate(Entries)]}
        return self.call("events:PutEvents", lambda: answer)
