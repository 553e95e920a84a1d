"""What every command's part of the parser is made of: the options for everything, and help that teaches."""

import argparse
from collections.abc import Callable, Sequence

from proctor_cli.exits import Exit
from proctor_cli.governed import FUNCTIONS
from proctor_cli.world import World

type Command = Callable[[argparse.Namespace, World], Exit]

_HELP_WIDTH = 98
FUNCTION_NAMES = sorted(FUNCTIONS)
MODE_NAMES = sorted(name for name, function in FUNCTIONS.items() if function.rules)


class Help(argparse.RawDescriptionHelpFormatter):
    """Help of the same width everywhere."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=_HELP_WIDTH)


type Commands = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - add_subparsers returns it


def shared_options(*, is_root: bool = False) -> argparse.ArgumentParser:
    """Options that stand before or after the command; after it they must not reset what stood before."""
    shared = argparse.ArgumentParser(add_help=False)
    group = shared.add_argument_group("everywhere")

    def default(value: object) -> object:
        return value if is_root else argparse.SUPPRESS

    group.add_argument("--json", action="store_true", default=default(False), help="print JSON, for programs")
    group.add_argument("--stack", default=default("proctor"), metavar="NAME", help="stack (default: proctor)")
    group.add_argument(
        "--region", default=default(None), help="AWS Region (default: AWS_REGION or the profile's)"
    )
    group.add_argument("--profile", default=default(None), help="AWS profile (default: AWS_PROFILE)")
    group.add_argument(
        "--endpoint-url", default=default(None), metavar="URL", help="another AWS, e.g. a local one"
    )
    return shared


def add_command(
    group: Commands,
    name: str,
    command: Command,
    text: str,
    *,
    changes: str = "nothing",
    examples: Sequence[str],
) -> argparse.ArgumentParser:
    """One command: the first line of its text is its line in the list of commands."""
    shown = "\n".join(f"  proctor {example}" for example in examples)
    added = group.add_parser(
        name,
        help=text.partition("\n")[0].rstrip("."),
        description=f"{text}\n\nChanges: {changes}.",
        epilog=f"example:\n{shown}",
        formatter_class=Help,
        allow_abbrev=False,
        parents=[shared_options()],
    )
    added.set_defaults(command=command)
    return added


def add_group(group: Commands, name: str, text: str, own: argparse.ArgumentParser | None = None) -> Commands:
    """A word with commands of its own below it, e.g. `people`. `own`: the word is a command by itself too."""
    if own is not None:
        return own.add_subparsers(title="commands", metavar="[COMMAND]", required=False)
    parent = group.add_parser(
        name,
        help=text,
        description=f"{text}.",
        formatter_class=Help,
        allow_abbrev=False,
        parents=[shared_options()],
    )
    return parent.add_subparsers(title="commands", metavar="COMMAND", required=True)
