"""What the lock files must agree on."""

import re
from collections.abc import Iterator
from pathlib import Path

PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>[^ ;\\]+)", re.MULTILINE)
LAYER_LOCK = "layers/dependencies/requirements.txt"
TRANSLATOR = "aws-sam-translator"


def pins(text: str) -> dict[str, str]:
    """Name to version, from the `boto3==1.44.8 ...` lines of a hashed requirements file."""
    return {match["name"]: match["version"] for match in PIN.finditer(text)}


def lock_problems(root: Path) -> Iterator[str]:
    """Tests run on the layer's versions, all use one translator, and no lock says where from."""
    locks = {path.relative_to(root).as_posix(): path.read_text() for path in lock_files(root)}
    layer, dev = pins(locks[LAYER_LOCK]), pins(locks["requirements/dev.txt"])
    for name, version in layer.items():
        if dev.get(name) != version:
            yield f"requirements/dev.txt: {name} is {dev.get(name)}, the layer has {version}: run `make lock`"

    translators = {
        name: pins(text).get(TRANSLATOR) for name, text in locks.items() if TRANSLATOR in pins(text)
    }
    if len(set(translators.values())) > 1:
        yield f"{TRANSLATOR} differs between locks: {translators}"

    for name, text in locks.items():
        for mark in ("://", "--index-url", "--extra-index-url", "--find-links"):
            if mark in text:
                yield f"{name}: holds {mark!r}; a lock names packages, never where they come from"


def lock_files(root: Path) -> list[Path]:
    """Every hashed lock of the project."""
    return [root / LAYER_LOCK, *sorted((root / "requirements").glob("*.txt"))]
