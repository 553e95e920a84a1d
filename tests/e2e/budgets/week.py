"""How the scene went, as it stood right after its last act."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor_local.budget_week.university import University


@dataclass(frozen=True)
class Week:
    """Seconds by what was measured, what went wrong, tallies of outcomes, mails, intents, and what IAM refused."""

    seconds: Mapping[str, float]
    unexpected: Sequence[str]
    tallies: Mapping[str, int]
    mails: Sequence[Mapping[str, Any]]
    intents: Sequence[Mapping[str, Any]]
    agents: Sequence[Mapping[str, Any]]
    refusals: Sequence[Mapping[str, Any]]
    dead_letters: Sequence[str]


def as_it_stands(university: University) -> Week:
    """Read everything once."""
    university.settle()
    book, local = university.book, university.local
    return Week(
        seconds={what: took for what, (took, _) in book.seconds.items()},
        unexpected=tuple(book.unexpected),
        tallies=dict(book.tallies),
        mails=local.mails(),
        intents=university.stack.rows("Intents"),
        agents=university.stack.rows("Agents"),
        refusals=[*local.denials(), *local.problems()],
        dead_letters=[
            *university.holds.take_dead_letters(),
            *university.reports.take_dead_letters(),
        ],
    )
