"""The deployer: a built template goes in unmodified, again and again, and what AWS would refuse is refused."""

from pathlib import Path

import pytest

from proctor_local.control import LocalAwsClient
from proctor_local.deploy import DeployError, deploy, load_template, zipped

TEMPLATE = """
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub "${AWS::StackName}-queue"
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 5}
  Dead: {Type: AWS::SQS::Queue, Condition: Never}
Conditions: {Never: !Not [!Equals [a, a]], Other: !Condition Never}
Outputs: {Url: {Value: !Ref Queue}}
"""


def test_short_forms_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text(TEMPLATE)
    loaded = load_template(tmp_path / "template.yaml")
    queue = loaded["Resources"]["Queue"]["Properties"]
    assert queue["QueueName"] == {"Fn::Sub": "${AWS::StackName}-queue"}
    assert queue["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": ["Dead", "Arn"]}
    assert loaded["Conditions"] == {
        "Never": {"Fn::Not": [{"Fn::Equals": ["a", "a"]}]},
        "Other": {"Condition": "Never"},
    }


def test_versions_stay_texts(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text("AWSTemplateFormatVersion: 2010-09-09\nResources: {}\n")
    assert load_template(tmp_path / "template.yaml")["AWSTemplateFormatVersion"] == "2010-09-09"


def test_the_same_content_zips_to_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "pkg").mkdir(parents=True)
        (tmp_path / name / "pkg" / "m.py").write_text("x = 1\n")
    assert zipped(tmp_path / "one") == zipped(tmp_path / "two")
    with pytest.raises(DeployError, match="run `sam build` first"):
        zipped(tmp_path / "none")


@pytest.mark.emulator
def test_a_stack_is_made_then_updated_then_left_alone(local: LocalAwsClient, built: Path) -> None:
    said: list[str] = []
    first = deploy(local, built, "test", {"ApplyActions": "false"}, said.append)
    assert "CreateStack test" in said
    assert "test: CREATE_COMPLETE" in said

    said.clear()
    assert deploy(local, built, "test", {"ApplyActions": "true"}, said.append) == first
    assert "UpdateStack test" in said
    function = local.aws().rest("lambda", "GET", f"/2015-03-31/functions/{first['Function']}/configuration")
    assert b'"PROCTOR_APPLY_ACTIONS": "true"' in function


@pytest.mark.emulator
def test_encryption_and_recovery_of_a_table_are_what_the_template_says(
    local: LocalAwsClient, built: Path
) -> None:
    outputs = deploy(local, built, "test")
    root = local.aws()
    table = root.call("dynamodb", "DescribeTable", TableName=outputs["SeenTable"])["Table"]
    assert table["SSEDescription"]["KMSMasterKeyArn"] == outputs["KeyArn"]
    backups = root.call("dynamodb", "DescribeContinuousBackups", TableName=outputs["SeenTable"])
    recovery = backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert recovery["PointInTimeRecoveryStatus"] == "ENABLED"
    ttl = root.call("dynamodb", "DescribeTimeToLive", TableName=outputs["SeenTable"])["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"}


@pytest.mark.emulator
def test_a_function_that_cannot_decrypt_its_queue_is_not_deployed(local: LocalAwsClient, built: Path) -> None:
    broken = built.with_name("broken.yaml")
    lines = built.read_text().splitlines()
    broken.write_text("\n".join(line for line in lines if "kms:Decrypt, kms:GenerateDataKey]" not in line))
    with pytest.raises(DeployError, match="may not kms:Decrypt"):
        deploy(local, broken, "test")


@pytest.mark.emulator
def test_a_failing_resource_is_named(local: LocalAwsClient, tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text("Resources: {Odd: {Type: AWS::Nowhere::Thing}}\n")
    with pytest.raises(Exception, match="AWS::Nowhere::Thing"):
        deploy(local, tmp_path / "template.yaml", "odd")
