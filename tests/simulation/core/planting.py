"""Planted bugs: small patches of the product at run time, taken back afterwards.

A bug swaps attributes of product modules or classes for the time of a `with` block. Whoever planted one wants it caught.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

_MISSING = object()

type Patch = tuple[Any, str, Any]
"""Owner, attribute, what it is swapped for."""


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """`patches` is called when the bug is planted, so that it may read the originals.

    `is_rare`: few seeds show it, so that it is begun first and does not keep the other processes waiting at the end.
    """

    name: str
    patches: Callable[[], list[Patch]]
    is_rare: bool = False

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The product with this bug in it."""
        with ExitStack() as stack:
            for owner, attribute, value in self.patches():
                stack.enter_context(_swapped(owner, attribute, value))
            yield


@contextmanager
def _swapped(owner: Any, attribute: str, value: Any) -> Iterator[None]:
    before = vars(owner).get(attribute, _MISSING)
    if before is _MISSING:
        message = f"{owner} has no {attribute} of its own: the planted bug is out of date"
        raise AttributeError(message)
    setattr(owner, attribute, value)
    try:
        yield
    finally:
        setattr(owner, attribute, before)
