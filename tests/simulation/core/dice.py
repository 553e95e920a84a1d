"""Chance from one seed, in named streams: switching one concern off leaves the numbers of the others alone."""

import random


class Dice:
    """Streams by name. The same seed and name give the same numbers on every machine."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """The stream of one concern."""
        if name not in self._streams:
            self._streams[name] = random.Random(f"{self.seed}:{name}")  # noqa: S311 - a simulation, no secret
        return self._streams[name]
