"""The wake-up queue of a controller's agent. The message's content means nothing: any message wakes."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.domain.errors import InvalidInputError

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients


class SqsWakeUp:
    """Wakes the agents of the clusters it knows a queue of."""

    def __init__(self, clients: "AwsClients", queue_urls: Mapping[str, str]) -> None:
        """Take the clients and the queue of each cluster."""
        self._clients = clients
        self._queue_urls = queue_urls

    def wake(self, cluster: str) -> None:
        """One message; a cluster without a queue reads its intents every 20 s anyway."""
        url = self._queue_urls.get(cluster)
        if url is None:
            return
        with translated("sqs:SendMessage"):
            self._clients.sqs().send_message(QueueUrl=url, MessageBody=json.dumps({"cluster": cluster}))


def queue_urls(text: str, clusters: tuple[str, ...]) -> dict[str, str]:
    """PROCTOR_WAKE_QUEUE_URL: one address for a single cluster, or `<cluster>=<address>` with commas between.

    Raises InvalidInputError naming what is wrong.
    """
    if not text:
        return {}
    if "=" not in text:
        if len(clusters) != 1:
            raise InvalidInputError(
                "PROCTOR_WAKE_QUEUE_URL", text, "name a queue for each cluster: a=https://...,b=..."
            )
        return {clusters[0]: text}
    found = dict(part.strip().partition("=")[::2] for part in text.split(",") if part.strip())
    if unknown := sorted(found.keys() - set(clusters)):
        raise InvalidInputError("PROCTOR_WAKE_QUEUE_URL", ", ".join(unknown), "name governed clusters only")
    return found
