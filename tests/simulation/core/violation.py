"""A broken invariant: ends the run."""

from collections.abc import Iterable


class ViolationError(AssertionError):
    """`invariant` is its short name, `about` the names whose story explains it."""

    def __init__(self, invariant: str, text: str, about: Iterable[str] = ()) -> None:
        self.invariant = invariant
        self.text = text
        self.about = tuple(about)
        super().__init__(f"invariant {invariant}: {text}")
