"""What agent_reports reaches."""

from tests.template.calls import Call
from tests.template.reach import BUS, arn, parameter, table

POLICY = parameter("agent_reports")
AGENTS, OBSERVED = table("AgentsTable"), table("ObservedTable")

REACHED: dict[Call, list[tuple[str, str]]] = {
    Call("DynamoAgents", "dynamodb:UpdateItem"): [("ApplyApproveAgentKey", AGENTS)],
    Call("SnsOperatorNotifier", "sns:Publish"): [
        ("ApplyAlarmOperators", arn("sns", "proctor-OperatorsTopic"))
    ],
    Call("parameters", "ssm:LabelParameterVersion"): [("ApplyLabelPolicyVersion", POLICY)],
    Call("SageMakerNodeList", "sagemaker:ListClusterNodes"): [
        ("ReadNodes", arn("sagemaker", "cluster/abcdef012345")),
    ],
    Call("parameters", "ssm:GetParameters"): [
        ("ReadPolicies", POLICY),
        ("ReadPolicies", f"{POLICY}:in-force"),
        ("ReadPause", parameter("pause")),
    ],
    Call("DynamoAgents", "dynamodb:GetItem"): [("WriteAgents", AGENTS)],
    Call("DynamoAgents", "dynamodb:PutItem"): [("WriteAgents", AGENTS)],
    Call("DynamoAgents", "dynamodb:Scan"): [("WriteAgents", AGENTS)],
    Call("DynamoObserved", "dynamodb:ConditionCheckItem"): [("WriteAgents", AGENTS)],
    Call("DynamoObserved", "dynamodb:PutItem"): [("WriteAgents", AGENTS), ("WriteObserved", OBSERVED)],
    Call("DynamoObserved", "dynamodb:DeleteItem"): [("WriteObserved", OBSERVED)],
    Call("DynamoObserved", "dynamodb:Query"): [("WriteObserved", OBSERVED)],
    Call("EventBridgeChanges", "dynamodb:Query"): [("WriteObserved", OBSERVED)],
    Call("EventBridgeChanges", "dynamodb:UpdateItem"): [("WriteObserved", OBSERVED)],
    Call("EventBridgeChanges", "events:PutEvents"): [("PublishChanges", BUS)],
    Call("DynamoClaims", "dynamodb:GetItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoClaims", "dynamodb:PutItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoClaims", "dynamodb:UpdateItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoVerdicts", "dynamodb:GetItem"): [("WriteVerdicts", table("VerdictsTable"))],
    Call("DynamoVerdicts", "dynamodb:PutItem"): [("WriteVerdicts", table("VerdictsTable"))],
    Call("DynamoCounters", "dynamodb:UpdateItem"): [("WriteMemory", table("MemoryTable"))],
    Call("EventBridgePublisher", "events:PutEvents"): [("PublishEvents", BUS)],
    Call("SqsParkingLot", "sqs:SendMessage"): [
        ("ParkEvents", arn("sqs", "proctor-AgentReportsDeadLetterQueue"))
    ],
}

COMMAND_LINE: dict[Call, str] = {Call("DynamoVerdicts", "dynamodb:Query"): table("VerdictsTable")}

GIVEN = {"events:source": "proctor.agent_reports"}

# Changes are told under a source of their own.
GIVEN_TO = {"PublishChanges": {"events:source": "proctor.observed"}}
