"""`python -m tests.fuzz N [SEED]`: N hostile events into every function's handler, in batches of ten."""

import random
import sys
import time

from tests.fuzz.mutations import hostile_body
from tests.fuzz.targets import TARGETS, Seen

BATCH = 10
_REPORT_EVERY = 20_000


def run(count: int, seed: int) -> Seen:
    """Feed `count` events to each function and add up what became of them."""
    total = Seen()
    for name, make in TARGETS.items():
        chance, target, seen, began = random.Random(f"{name}-{seed}"), make(), Seen(), time.monotonic()  # noqa: S311
        while seen.events < count:
            target.feed([hostile_body(chance, target.samples) for _ in range(BATCH)], seen)
            if seen.events % _REPORT_EVERY == 0:
                pace = seen.events / (time.monotonic() - began)
                print(f"{name}: {seen.events} events, {pace:.0f} a second, {seen.parked} parked")  # noqa: T201
        for field in Seen.__slots__:
            setattr(total, field, getattr(total, field) + getattr(seen, field))
    return total


def main(arguments: list[str]) -> int:
    """Print the figures as key=value on the last line; 1 when an event crashed, was lost or acted."""
    count = int(arguments[0]) if arguments else 10_000
    seen = run(count, int(arguments[1]) if len(arguments) > 1 else 1)
    crashed = seen.crashed_batches + seen.crashed_records
    print(  # noqa: T201
        f"events={seen.events} crashed={crashed} lost={seen.lost} parked={seen.parked} evaluated={seen.evaluated} "
        f"acted={seen.acted} unexplained={seen.unexplained}"
    )
    return 1 if crashed or seen.lost or seen.acted or seen.unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
