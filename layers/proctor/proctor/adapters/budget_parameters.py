"""Definitions of budgets in Parameter Store: `/proctor/<cluster>/budget_holds/<budget>`, behind the label `in-force`."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from proctor.adapters.aws_errors import translated
from proctor.adapters.parameters import draft_of, label_in_force, newest_draft, read_parameters
from proctor.domain.errors import InvalidInputError
from proctor.domain.policy import IN_FORCE, PolicyDraft, PolicyInForce, policy_parameter

if TYPE_CHECKING:
    from proctor.adapters.aws_clients import AwsClients

_KEPT_SECONDS = 60.0


class ParameterBudgets[P]:
    """Implements the BudgetDefinitions port. `parse` turns JSON into a definition or raises InvalidInputError.

    Costs one call per ten budgets to list them, and one per ten to read what is in force.
    """

    def __init__(
        self,
        clients: "AwsClients",
        function: str,
        clusters: tuple[str, ...],
        parse: Callable[[str], P],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the clients, whose definitions these are, and the parser."""
        self._clients = clients
        self._paths = {cluster: policy_parameter(cluster, function) for cluster in clusters}
        self._parse = parse
        self._monotonic = monotonic
        self._kept: dict[str, dict[str, PolicyInForce[P] | str]] = {}
        self._kept_at: float | None = None

    def in_force(self) -> Mapping[str, Mapping[str, PolicyInForce[P] | str]]:
        """Definitions in force; one that this release can't read any more leaves the one read before in force, if any."""
        if self._kept_at is None or self._monotonic() - self._kept_at >= _KEPT_SECONDS:
            self._kept = {cluster: self._in_force(cluster) for cluster in self._paths}
            self._kept_at = self._monotonic()
        return {cluster: dict(found) for cluster, found in self._kept.items()}

    def drafts(self, cluster: str) -> Sequence[PolicyDraft]:
        """The newest versions of a cluster's definitions."""
        newest = self._newest(cluster)
        labelled = read_parameters(self._clients, [f"{name}:{IN_FORCE}" for name in newest])
        return [
            draft_of(cluster, name, found, labelled.get(name), self._parse)
            for name, found in sorted(newest.items())
        ]

    def draft(self, parameter_name: str) -> PolicyDraft | None:
        """One definition's newest version; two calls."""
        return newest_draft(self._clients, parameter_name.split("/")[2], parameter_name, self._parse)

    def put_in_force(self, parameter_name: str, version: int) -> None:
        """Move the label; the next read here sees it."""
        label_in_force(self._clients, parameter_name, version)
        self._kept_at = None

    def _in_force(self, cluster: str) -> dict[str, PolicyInForce[P] | str]:
        names = [f"{name}:{IN_FORCE}" for name in self._newest(cluster)]
        found: dict[str, PolicyInForce[P] | str] = {}
        for name, (version, value) in read_parameters(self._clients, names).items():
            budget = name.rpartition("/")[2]
            try:
                found[budget] = PolicyInForce(cluster, version, self._parse(value))
            except InvalidInputError as error:
                found[budget] = self._kept.get(cluster, {}).get(budget, str(error))
        return found

    def _newest(self, cluster: str) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        with translated("ssm:GetParametersByPath"):
            pages = (
                self._clients.ssm()
                .get_paginator("get_parameters_by_path")
                .paginate(Path=self._paths[cluster])
            )
            for page in pages:
                found |= {p["Name"]: (p["Version"], p["Value"]) for p in page["Parameters"]}
        return found
