"""What MiniStack keeps of AWS Budgets, and its way to publish to a topic; services/budgets.py gives it habits."""

# ruff: noqa: SLF001  (reaching private names is what this package is for)

from typing import Any

from proctor_local.emulator.delivery import topic_refusal
from proctor_local.emulator.ministack import MiniStack

_SERVICE = "budgets.amazonaws.com"


class BudgetStore:
    """Budgets, notifications and subscribers of the account in scope."""

    def __init__(self, stack: MiniStack) -> None:
        self._stack = stack

    def names(self) -> list[str]:
        """Every budget's name, sorted."""
        return sorted(str(name) for name in self._stack.budgets._budgets)

    def budget(self, name: str) -> dict[str, Any]:
        """The stored Budget itself, to be changed in place. Raises LookupError."""
        found = self._stack.budgets._budgets.get(name)
        if found is None:
            raise LookupError(f"name = {name!r}: there is no such budget; known are {self.names()}")
        budget: dict[str, Any] = found
        return budget

    def notifications(self, name: str) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """(Notification, to be changed in place, and its subscribers) of a budget."""
        entries = self._stack.budgets._notification_store.get(name) or []
        return [(entry["notification"], list(entry["subscribers"])) for entry in entries]

    def publish(self, topic_arn: str, source_arn: str, subject: str, message: str) -> str:
        """Publish as Budgets does, or say why the topic, its policy or its key doesn't let it."""
        topic = self._stack.sns._topics.get(topic_arn)
        if topic is None:
            return f"there is no topic {topic_arn}"
        refusal = topic_refusal(self._stack, topic, topic_arn, _SERVICE, source_arn)
        if not refusal:
            self._stack.sns.publish_internal(topic_arn, message, subject)
        return refusal
