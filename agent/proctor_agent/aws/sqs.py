"""The two queues: wake-ups in (controller only), reports out."""

from typing import Any

from proctor_agent.aws.client import JsonClient, Service

SQS = Service("sqs", "AmazonSQS", "1.0")
LONGEST_WAIT_SECONDS = 20
_BATCH = 10


class WakeupQueue:
    """Long-polls the agent's own queue; what a message says is only a hint to look."""

    def __init__(self, client: JsonClient, queue_url: str) -> None:
        """Use this client and queue."""
        self._client = client
        self._queue_url = queue_url

    def wait(self, seconds: int = LONGEST_WAIT_SECONDS) -> bool:
        """Wait for messages, delete them; True when there were any."""
        body = {"QueueUrl": self._queue_url, "MaxNumberOfMessages": _BATCH, "WaitTimeSeconds": seconds}
        answer = self._client.call("ReceiveMessage", body, seconds=seconds + 10)
        messages: list[dict[str, Any]] = answer.get("Messages") or []
        if messages:
            entries = [
                {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                for index, message in enumerate(messages)
            ]
            self._client.call("DeleteMessageBatch", {"QueueUrl": self._queue_url, "Entries": entries})
        return bool(messages)


class ReportQueue:
    """Sends sealed messages."""

    def __init__(self, client: JsonClient, queue_url: str) -> None:
        """Use this client and queue."""
        self._client = client
        self._queue_url = queue_url

    def send(self, message: str) -> None:
        """One message; AwsError when it was not taken."""
        self._client.call("SendMessage", {"QueueUrl": self._queue_url, "MessageBody": message})
