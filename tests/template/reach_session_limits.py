"""What session_limits reaches."""

from tests.template.calls import Call
from tests.template.reach import arn, parameter, table

POLICY = parameter("session_limits")
DEAD_LETTERS = arn("sqs", "proctor-SessionLimitsDeadLetterQueue")

# Each call of an adapter that session_limits is wired with: the one statement that allows it, and on what.
REACHED: dict[Call, list[tuple[str, str]]] = {
    Call("SsmSessionManager", "ssm:TerminateSession"): [
        ("ApplyTerminateSession", arn("ssm", "session/ada@uni.example-t59j8gpq2ta8hniozstbnphqs8")),
    ],
    Call("SesPersonNotifier", "ses:SendEmail"): [
        ("ApplyNotifyPerson", arn("ses", "identity/uni.example")),
        ("ApplyNotifyPerson", arn("ses", "identity/proctor@uni.example")),
        ("ApplyNotifyPerson", arn("ses", "configuration-set/site-default")),
    ],
    Call("SnsOperatorNotifier", "sns:Publish"): [
        ("ApplyNotifyOperators", arn("sns", "proctor-OperatorsTopic")),
    ],
    Call("parameters", "ssm:LabelParameterVersion"): [("ApplyLabelPolicyVersion", POLICY)],
    Call("SesPersonNotifier", "ses:GetSuppressedDestination"): [("ReadSuppressedDestination", "*")],
    Call("SsmSessionManager", "ssm:DescribeSessions"): [("ReadActiveSessions", "*")],
    Call("SageMakerClusters", "sagemaker:DescribeCluster"): [
        ("ReadClusters", arn("sagemaker", "cluster/abcdef012345")),
    ],
    Call("SageMakerClusters", "sagemaker:ListClusterNodes"): [
        ("ReadClusters", arn("sagemaker", "cluster/abcdef012345")),
    ],
    Call("parameters", "ssm:GetParameters"): [
        ("ReadPolicies", POLICY),
        ("ReadPolicies", f"{POLICY}:in-force"),
        ("ReadPause", arn("ssm", "parameter/proctor/alpha/pause")),
    ],
    Call("DynamoPeople", "dynamodb:BatchGetItem"): [("ReadPeople", table("PeopleTable"))],
    Call("exemptions_table", "dynamodb:Query"): [("ReadExemptions", table("ExemptionsTable"))],
    Call("DynamoClaims", "dynamodb:GetItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoClaims", "dynamodb:PutItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoClaims", "dynamodb:UpdateItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoVerdicts", "dynamodb:GetItem"): [("WriteVerdicts", table("VerdictsTable"))],
    Call("DynamoVerdicts", "dynamodb:PutItem"): [("WriteVerdicts", table("VerdictsTable"))],
    Call("DynamoSessionLedger", "dynamodb:GetItem"): [("WriteMemory", table("MemoryTable"))],
    Call("DynamoSessionLedger", "dynamodb:Query"): [("WriteMemory", table("MemoryTable"))],
    Call("DynamoSessionLedger", "dynamodb:PutItem"): [("WriteMemory", table("MemoryTable"))],
    Call("DynamoSessionLedger", "dynamodb:UpdateItem"): [("WriteMemory", table("MemoryTable"))],
    Call("DynamoCounters", "dynamodb:UpdateItem"): [("WriteMemory", table("MemoryTable"))],
    Call("EventBridgePublisher", "events:PutEvents"): [("PublishEvents", arn("events", "event-bus/default"))],
    Call("SqsParkingLot", "sqs:SendMessage"): [("ParkEvents", DEAD_LETTERS)],
}

# The command line's side of the same adapters. Operators have their own permissions for it.
COMMAND_LINE: dict[Call, str] = {
    Call("DynamoExemptions", "dynamodb:PutItem"): table("ExemptionsTable"),
    Call("DynamoPeople", "dynamodb:Scan"): table("PeopleTable"),
    Call("DynamoPeople", "dynamodb:BatchWriteItem"): table("PeopleTable"),
    Call("DynamoVerdicts", "dynamodb:Query"): table("VerdictsTable"),
}

GIVEN = {"ses:FromAddress": "proctor@uni.example", "events:source": "proctor.session_limits"}
