"""Subjects that came up while this agent was at work: none of its forerunners held them.

Without a record, a value that looks like ours may be ours, from before the state was lost; the intent's word is taken then.
But the intent was written on an observation up to two minutes old, and an operator may have set that very value since. A
record made before anything is done settles whose it is.
"""

from collections.abc import Collection, Iterable

from proctor_agent.state.intents import IntentBook
from proctor_agent.state.records import Record, Records, Status

_RESTORED = frozenset({"partition", "account", "partition_qos"})


class Newcomers:
    """Watches the book for one lane. Two looks in a row must be by the acting controller, the first after a complete read."""

    def __init__(self, book: IntentBook, records: Records) -> None:
        """Nothing is known yet."""
        self._book = book
        self._records = records
        self._known: frozenset[str] | None = None

    def interrupt(self) -> None:
        """Another controller's agent may be at work: what comes up now may be of its making."""
        self._known = None

    def note(self, kinds: Collection[str]) -> None:
        """Record of each newcomer of these kinds that nothing of ours is in force there."""
        if self._book.read_at is None:
            return
        intents = list(self._book)
        if self._known is not None:
            self._put(it.sk for it in intents if it.sk not in self._known and it.verb.kind in kinds)
        # An item that can't be understood may have been, by another release of the agent.
        self._known = frozenset(it.sk for it in intents) | {item.sk for item in self._book.refused}

    def _put(self, subjects: Iterable[str]) -> None:
        for sk in subjects:
            if sk.partition("#")[0] in _RESTORED and self._records.get(sk) is None:
                self._records.put(Record(sk, 0, Status.RELEASED, "", {}))
