"""A network that loses the first answer of a write: the service did it, and botocore sends it again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ReadTimeoutError
from moto.core.models import botocore_stubber

from tests.adapters.aws import CountedClients


class LossyClients(CountedClients):
    """Two attempts per call; the first answer of each DynamoDB write is lost after the service did the work."""

    def __init__(self) -> None:
        super().__init__(attempts=2)
        self.lost: list[str] = []
        self._is_first = True

    def _client(self, service: str, **where: str) -> Any:
        client = super()._client(service, **where)
        client.meta.events.register_first("before-send", self._lose)
        return client

    def _called(self, model: Any, **more: Any) -> None:
        super()._called(model, **more)
        self._is_first = model.name in {"PutItem", "UpdateItem", "TransactWriteItems"}
        self._name = model.name

    def _lose(self, event_name: str, request: Any, **_: Any) -> None:
        if not self._is_first:
            return
        self._is_first = False
        self.lost.append(self._name)
        botocore_stubber(event_name, request)
        raise ReadTimeoutError(endpoint_url=request.url)


@contextmanager
def no_backoff(monkeypatch: Any) -> Iterator[None]:
    """botocore waits up to a second before it sends again; here it doesn't."""
    with monkeypatch.context() as patched:
        patched.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
        yield
