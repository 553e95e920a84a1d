"""AWS clients of one invocation, all behind one gate, and how a function is wired to them."""

from typing import Any, cast

from proctor.adapters.aws_clients import AwsClients
from proctor.domain.errors import NotFoundError


class SimulatedClients:
    """Stands in for AwsClients: the same methods, clients of the simulated services."""

    def __init__(self, **services: Any) -> None:
        self._services = services

    def as_aws(self) -> AwsClients:
        """For the adapters' signatures."""
        return cast("AwsClients", self)

    def __getattr__(self, service: str) -> Any:
        try:
            client = self._services[service]
        except KeyError:
            raise NotFoundError(f"the simulation has no client for {service}") from None
        return lambda: client
