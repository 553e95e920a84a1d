"""The command line: commands, options and the help that teaches them."""

import argparse
from collections.abc import Callable

from proctor_cli import agents, completion, people_commands, policy_check, status
from proctor_cli.exits import MEANINGS
from proctor_cli.parser_budgets import add_budgets, add_orders
from proctor_cli.parser_parts import FUNCTION_NAMES, Commands, Help, add_command, add_group, shared_options
from proctor_cli.parser_steering import add_steering
from proctor_cli.parser_why import add_why


def build_parser() -> argparse.ArgumentParser:
    """The whole command line. Each command sets `command` to what runs it."""
    codes = "\n".join(f"  {code.value}  {meaning}" for code, meaning in MEANINGS.items())
    parser = argparse.ArgumentParser(
        prog="proctor",
        description="Look at and steer a deployed Proctor stack.\n"
        "Reads only, unless a command's help says what it changes.",
        epilog=f"exit codes:\n{codes}\n\nexample:\n  proctor status\n  proctor why person ada\n  proctor why job 4711",
        formatter_class=Help,
        allow_abbrev=False,
        parents=[shared_options(is_root=True)],
    )
    group = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_reading(group)
    _add_people(group)
    add_budgets(group)
    add_orders(group)
    add_steering(group)
    _add_offline(group, build_parser)
    return parser


def _add_reading(group: Commands) -> None:
    add_command(
        group,
        "status",
        status.run,
        "Show mode, policies, queues and latest verdicts.\nEnds with a list of what needs attention.",
        examples=["status", "status --json | jq .attention"],
    )
    add_why(group)
    seen = add_command(
        group,
        "agents",
        agents.run,
        "List the agents on the nodes: last report, role, version, problems.\n"
        "An agent that said nothing for two minutes is silent: what it saw is unknown to every rule.",
        examples=["agents", "agents --problems", "agents --cluster gpu --json"],
    )
    seen.add_argument("--cluster", metavar="C", help="one governed cluster (default: all)")
    seen.add_argument("--problems", action="store_true", help="only agents that have one")


def _add_people(group: Commands) -> None:
    people = add_group(group, "people", "The people directory")
    load = add_command(
        people,
        "load",
        people_commands.load,
        "Make the people directory equal to a file.\n"
        "The file has one JSON object a line (docs/schema/people.json). Every bad line is listed with its\n"
        "fix, and nothing is written while there is one. A file that removes more than 20 % of the people\n"
        "is refused.",
        changes="the people table, only where it differs from the file; --dry-run shows the difference",
        examples=["people load people.jsonl --dry-run", "people load people.jsonl"],
    )
    load.add_argument("file", metavar="FILE", help="people.jsonl")
    load.add_argument("--dry-run", action="store_true", help="show the difference, write nothing")
    load.add_argument(
        "--skip-bad",
        action="store_true",
        help="load the good lines, remove nobody, and exit with 1 all the same",
    )
    load.add_argument(
        "--allow-shrink", action="store_true", help="let the file remove more than 20 %% of the people"
    )
    show = add_command(
        people,
        "show",
        people_commands.show,
        "Show one person of the directory.",
        examples=["people show ada"],
    )
    show.add_argument("login_name", metavar="LOGIN", help="login name")


def _add_offline(group: Commands, parser: Callable[[], argparse.ArgumentParser]) -> None:
    policy = add_group(group, "policy", "Policies")
    check = add_command(
        policy,
        "check",
        policy_check.run,
        "Validate a policy file, without AWS.\n"
        "Uses the parser of the function itself; names every field, its value and the fix.",
        examples=["policy check session_limits.json"],
    )
    check.add_argument("file", metavar="FILE", help="the policy as JSON (docs/schema/<function>.json)")
    check.add_argument(
        "--function", choices=FUNCTION_NAMES, default="session_limits", help="default: session_limits"
    )
    shell = add_command(
        group,
        "completion",
        completion.run,
        "Print a completion script for a shell.",
        examples=[
            "completion bash > ~/.local/share/bash-completion/completions/proctor",
            "completion zsh > ~/.zfunc/proctor.zsh",
        ],
    )
    shell.add_argument("shell", choices=completion.SHELLS, help="shell")
    shell.set_defaults(parser=parser)
