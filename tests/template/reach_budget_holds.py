"""What budget_holds reaches."""

from tests.template.calls import Call
from tests.template.reach import BUS, arn, parameter, table
from tests.template.stack import ACCOUNT

POLICY = parameter("budget_holds")
DEFINITION = parameter("budget_holds/physics-2026")
INTENTS, MEMORY = table("IntentsTable"), table("MemoryTable")
BUDGET = f"arn:aws:budgets::{ACCOUNT}:budget/hyperpod-alpha"

REACHED: dict[Call, list[tuple[str, str]]] = {
    # A hold and its release are the same write.
    Call("DynamoIntents", "dynamodb:PutItem"): [("ApplyWithdrawIntent|ApplyWriteIntent", INTENTS)],
    Call("SesPersonNotifier", "ses:SendEmail"): [
        ("ApplyNotifyPerson", arn("ses", "identity/uni.example")),
        ("ApplyNotifyPerson", arn("ses", "identity/proctor@uni.example")),
        ("ApplyNotifyPerson", arn("ses", "configuration-set/site-default")),
    ],
    Call("SnsOperatorNotifier", "sns:Publish"): [
        ("ApplyNotifyOperators", arn("sns", "proctor-OperatorsTopic")),
    ],
    Call("parameters", "ssm:LabelParameterVersion"): [
        ("ApplyLabelPolicyVersion", POLICY),
        ("ApplyLabelPolicyVersion", DEFINITION),
    ],
    Call("ParameterBudgets", "ssm:GetParametersByPath"): [("ReadBudgetDefinitions", POLICY)],
    Call("SesPersonNotifier", "ses:GetSuppressedDestination"): [("ReadSuppressedDestination", "*")],
    Call("AwsBudgets", "budgets:ViewBudget"): [("ReadBudgets", BUDGET)],
    Call("parameters", "ssm:GetParameters"): [
        ("ReadPolicies", POLICY),
        ("ReadPolicies", f"{POLICY}:in-force"),
        ("ReadPolicies", DEFINITION),
        ("ReadPolicies", f"{DEFINITION}:in-force"),
        ("ReadPause", parameter("pause")),
    ],
    Call("DynamoPeople", "dynamodb:BatchGetItem"): [("ReadPeople", table("PeopleTable"))],
    Call("exemptions_table", "dynamodb:Query"): [("ReadExemptions", table("ExemptionsTable"))],
    Call("DynamoIntents", "dynamodb:GetItem"): [("ReadIntents", INTENTS)],
    Call("DynamoIntents", "dynamodb:Query"): [("ReadIntents", INTENTS)],
    Call("DynamoSlurmState", "dynamodb:Query"): [("ReadObserved", table("ObservedTable"))],
    Call("DynamoBudgetMemory", "dynamodb:GetItem"): [("WriteMemory", MEMORY)],
    Call("DynamoBudgetMemory", "dynamodb:PutItem"): [("WriteMemory", MEMORY)],
    Call("DynamoBudgetMemory", "dynamodb:Query"): [("WriteMemory", MEMORY)],
    Call("DynamoCounters", "dynamodb:UpdateItem"): [("WriteMemory", MEMORY)],
    Call("DynamoClaims", "dynamodb:GetItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoClaims", "dynamodb:PutItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoClaims", "dynamodb:UpdateItem"): [("WriteClaims", table("ClaimsTable"))],
    Call("DynamoVerdicts", "dynamodb:GetItem"): [("WriteVerdicts", table("VerdictsTable"))],
    Call("DynamoVerdicts", "dynamodb:PutItem"): [("WriteVerdicts", table("VerdictsTable"))],
    Call("SqsWakeUp", "sqs:SendMessage"): [("PublishWakeUps", arn("sqs", "proctor-ControllerWakeQueue"))],
    Call("EventBridgePublisher", "events:PutEvents"): [("PublishEvents", BUS)],
    Call("SqsParkingLot", "sqs:SendMessage"): [
        ("ParkEvents", arn("sqs", "proctor-BudgetHoldsDeadLetterQueue"))
    ],
}

COMMAND_LINE: dict[Call, str] = {
    Call("DynamoBudgetExemptions", "dynamodb:PutItem"): table("ExemptionsTable"),
    Call("DynamoPeople", "dynamodb:Scan"): table("PeopleTable"),
    Call("DynamoPeople", "dynamodb:BatchWriteItem"): table("PeopleTable"),
    Call("DynamoVerdicts", "dynamodb:Query"): table("VerdictsTable"),
}

GIVEN = {"ses:FromAddress": "proctor@uni.example", "events:source": "proctor.budget_holds"}
