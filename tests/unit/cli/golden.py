"""Golden outputs: what people see, word for word. `python -m tests.unit.cli.golden` writes those of the help anew."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from proctor_cli.completion import nodes
from proctor_cli.parser import build_parser

FOLDER = Path(__file__).parent / "texts"


def helps() -> Iterator[tuple[str, str]]:
    """File name → help text of every command."""
    for path, parser in nodes(build_parser(), ""):
        yield f"help{path.replace(' ', '-')}.txt", help_of(parser)


def help_of(parser: argparse.ArgumentParser) -> str:
    """The help as printed, without spaces at line ends."""
    return "\n".join(line.rstrip() for line in parser.format_help().splitlines()) + "\n"


def read(name: str) -> str:
    """One golden text."""
    return (FOLDER / name).read_text()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in helps():
        (FOLDER / name).write_text(text)
