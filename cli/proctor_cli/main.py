"""Entry point: parse, run one command, turn what it raises into one line and an exit code."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError

from proctor.domain.errors import ProctorError
from proctor_cli.clients import CliClients
from proctor_cli.console import Console
from proctor_cli.exits import Exit, exit_of, message_of
from proctor_cli.parser import build_parser
from proctor_cli.world import World

if TYPE_CHECKING:
    from proctor_cli.parser_parts import Command


def main(argv: Sequence[str] | None = None, world: World | None = None) -> int:
    """Run `proctor`. `world` replaces the real one in tests; its console and stack name follow the arguments."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    args = build_parser().parse_args(argv)
    world = world or World(lambda: CliClients(args.region, args.profile, args.endpoint_url))
    world.console = Console(args.json, world.console.out, world.console.err)
    world.stack_name = args.stack
    command: Command = args.command
    try:
        return int(command(args, world))
    except (ProctorError, BotoCoreError) as error:
        world.console.progress_over()
        code = exit_of(error)
        world.console.error(message_of(error), code)
        return int(code)
    except BrokenPipeError:
        sys.stderr.close()
        return int(Exit.OK)
    except KeyboardInterrupt:
        world.console.error("interrupted; what was written so far stays", 130)
        return 130


if __name__ == "__main__":
    sys.exit(main())
