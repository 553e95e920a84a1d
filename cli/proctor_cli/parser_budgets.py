"""The commands about money: budgets, a budget's definition, and the orders hold, release, approve."""

import argparse

from proctor_cli import budget_check, budgets, orders
from proctor_cli.parser_parts import Command, Commands, add_command, add_group

_TIME = "90m, 8h, 7d, or a time with its zone; at most 366 days"


def add_budgets(group: Commands) -> None:
    """`budgets`, `budgets show`, `budget check`."""
    listed = add_command(
        group,
        "budgets",
        budgets.run,
        "List budgets with limit, settled, in flight, committed, state and hold.\n"
        "Numbers are computed now, by the function's own rules; AGE is that of the oldest of them, and\n"
        "RELEASE when a hold ends if nothing else happens. Reads AWS Budgets with your credentials.",
        examples=["budgets", "budgets show lab1", "budgets --json | jq '.budgets[] | select(.is_holding)'"],
    )
    listed.add_argument("--cluster", metavar="C", help="one governed cluster (default: all)")
    below = add_group(group, "budgets", "Budgets", own=listed)
    shown = add_command(
        below,
        "show",
        budgets.show,
        "Show everything about one budget.\n"
        "Its numbers with their age, what it holds and whom else that stops, and what would release it.",
        examples=["budgets show lab1"],
    )
    shown.add_argument("budget", metavar="BUDGET", help="a budget's name")
    _cluster(shown, "needed when two clusters have a budget of that name", is_below=True)
    single = add_group(group, "budget", "A budget's definition")
    check = add_command(
        single,
        "check",
        budget_check.run,
        "Validate a budget's definition, without AWS.\n"
        "Uses the parser of the function itself; names every field, its value and the fix.",
        examples=["budget check lab1.json"],
    )
    check.add_argument("file", metavar="FILE", help="the definition as JSON (docs/schema/budget.json)")


def add_orders(group: Commands) -> None:
    """`hold`, `release`, `approve`."""
    held = _order(
        group,
        "hold",
        orders.hold,
        "Hold a budget's work by hand.\n"
        "It stays held until it is released, or until --until, over new periods too. Running jobs go on.",
        [
            'hold lab1 --justification "ticket 4712: runaway arrays"',
            "hold lab1 --until 8h --justification test --apply",
        ],
    )
    held.add_argument("--until", metavar="TIME", help=_TIME)
    released = _order(
        group,
        "release",
        orders.release,
        "Let a budget's work go by hand.\n"
        "It stays released until the period ends, the limit changes, or --until passes.",
        [
            'release lab1 --justification "grant 17 was extended" --apply',
            "release lab1 --until 7d --justification x",
        ],
    )
    released.add_argument("--until", metavar="TIME", help=_TIME)
    _add_approve(group)


def _add_approve(group: Commands) -> None:
    approved = _order(
        group,
        "approve",
        orders.approve,
        "Accept a budget's doubtful numbers, or an agent's key.\n"
        "Numbers that can't be right are not acted on before a person accepts them. Of an agent that another\n"
        "key claims to be, --fingerprint says which key is its own: compare it with the one on the node.",
        [
            'approve lab1 --justification "the jump is the reserved capacity"',
            "approve --agent i-0123456789abcdef0 --fingerprint 71cf9b88fd8764e9 --justification new",
        ],
        nargs="?",
    )
    approved.add_argument("--agent", metavar="INSTANCE_ID", help="an agent instead of a budget")
    approved.add_argument(
        "--fingerprint", metavar="HEX", help="16 hex digits of the key that is the agent's own"
    )


def _order(
    group: Commands, name: str, command: Command, text: str, examples: list[str], nargs: str | None = None
) -> argparse.ArgumentParser:
    added = add_command(
        group,
        name,
        command,
        f"{text}\nPrints the plan first: subjects, whom else that stops, ways around it, and what is restored.\n"
        "Without --apply it is a dry run.",
        changes="with --apply what the outcomes say, as far as stack, policy, guards and pause allow",
        examples=examples,
    )
    added.add_argument(
        "budget", metavar="BUDGET", nargs=nargs, help="a budget's name, as proctor budgets shows it"
    )
    _cluster(added, "needed when two clusters have a budget of that name")
    added.add_argument("--justification", metavar="TEXT", required=True, help="why; kept in the records")
    added.add_argument("--apply", action="store_true", help="act")
    return added


def _cluster(parser: argparse.ArgumentParser, text: str, *, is_below: bool = False) -> None:
    """`--cluster`; below a command that has it too, it must not reset what stood before."""
    default = argparse.SUPPRESS if is_below else None
    parser.add_argument("--cluster", metavar="C", default=default, help=f"a governed cluster; {text}")
