"""Logs by powertools' Logger, counts in CloudWatch's embedded metric format by powertools' Metrics.

Dimension is the function only: no person, node or session, which would be personal data and would cost per value.
"""

from collections import Counter
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from proctor.domain.decision import Outcome, OutcomeStatus, RunContext

NAMESPACE = "Proctor"

_WORTH_A_WARNING = frozenset(
    {OutcomeStatus.UNCONFIRMED, OutcomeStatus.FAILED, OutcomeStatus.WITHHELD, OutcomeStatus.CONTENDED}
)


class LambdaTelemetry:
    """Implements the Telemetry port. Call `flush` at the end of each invocation."""

    def __init__(self, function: str) -> None:
        """Name the service after the function."""
        self._logger = Logger(service=function, level="INFO")
        self._metrics = Metrics(namespace=NAMESPACE, service=function)
        self._counts: Counter[str] = Counter()

    def outcome(self, outcome: Outcome, context: RunContext) -> None:
        """One line per outcome; metric `Outcome<Status>` and, for some reasons, one of their own."""
        verdict = outcome.verdict
        write = self._logger.warning if outcome.status in _WORTH_A_WARNING else self._logger.info
        write(
            verdict.text,
            extra={
                "subject": verdict.subject,
                "cluster": verdict.cluster,
                "rule": verdict.rule,
                "reason": verdict.reason,
                "action": verdict.action.verb if verdict.action else None,
                "outcome": outcome.status.value,
                "detail": outcome.detail,
                "trigger": context.trigger,
                "actor": context.actor,
            },
        )
        if outcome.status is not OutcomeStatus.NONE:
            self.count("Outcome" + outcome.status.value.title().replace("_", ""))
        if metric := _own_metric(verdict.reason):
            self.count(metric)
        if "undeliverable" in outcome.detail:
            self.count("NoticeUndeliverable")

    def count(self, metric: str, value: int = 1) -> None:
        """Add to a count."""
        self._counts[metric] += value

    def warn(self, message: str, **fields: Any) -> None:
        """One warning line."""
        self._logger.warning(message, extra={"fields": fields})

    def flush(self) -> None:
        """Print the counts, each as one sum: powertools prints by itself after 100 values, and warns when nothing is left."""
        counts, self._counts = self._counts, Counter()
        for metric, value in sorted(counts.items()):
            self._metrics.add_metric(name=metric, unit=MetricUnit.Count, value=value)
        if counts:
            self._metrics.flush_metrics()


_OWN_METRICS = {
    "breach_without_event": "BreachWithoutEvent",
    "policy_refused": "PolicyRefused",
    "no_policy": "PolicyMissing",
    "reconnect_loop": "ReconnectLoop",
    "break_glass": "BreakGlass",
    "second_enrolment": "SecondEnrolment",
    "enrolment_refused": "EnrolmentRefused",
    "hold_undone": "HoldUndone",
    "agent_silent": "AgentSilent",
    "cannot_bind": "HoldCannotBind",
    "cannot_hold": "HoldCannotBind",
    "not_confirmed": "HoldNotConfirmed",
    "unreadable": "BudgetUnreadable",
    "no_such_budget": "BudgetUnreadable",
    "definition_unusable": "BudgetUnreadable",
}


def _own_metric(reason: str) -> str | None:
    return "NeedsHuman" if reason.startswith("needs_human") else _OWN_METRICS.get(reason)
