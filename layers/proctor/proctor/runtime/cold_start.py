"""What a cold start needn't pay for."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Imports inside: the garbage collector rests, then leaves out for good what they made.

    Modules, classes and their functions live as long as the process, so each collection that a thousand imports set off walks
    all of them in vain, and every later full one would again.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
