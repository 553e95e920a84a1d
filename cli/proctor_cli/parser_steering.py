"""The commands that change something in a running stack: invoke, exempt, pause, resume, mode."""

import argparse

from proctor_cli import exempt, invoke, mode, pause
from proctor_cli.parser_parts import FUNCTION_NAMES, MODE_NAMES, Commands, add_command


def add_steering(group: Commands) -> None:
    """Add all of them."""
    _add_invoke(group)
    _add_exempt(group)
    paused = add_command(
        group,
        "pause",
        pause.pause,
        "Stop all functions on a cluster at once.\nThey go on deciding and recording there, and do nothing.",
        changes="the parameter /proctor/<cluster>/pause; it holds for every function and agent",
        examples=['pause gpu --reason "wrong directory loaded"'],
    )
    paused.add_argument("cluster", metavar="CLUSTER", help="a governed cluster")
    paused.add_argument("--reason", help="why; shown in every verdict that is withheld")
    resumed = add_command(
        group,
        "resume",
        pause.resume,
        "Let the functions act on a cluster again.",
        changes="the parameter /proctor/<cluster>/pause",
        examples=["resume gpu"],
    )
    resumed.add_argument("cluster", metavar="CLUSTER", help="a governed cluster")
    _add_mode(group)


def _add_invoke(group: Commands) -> None:
    added = add_command(
        group,
        "invoke",
        invoke.run,
        "Ask a function to decide about something now.\n"
        "The same rules, guards and records as for an event. Without --apply it is a dry run, whatever the\n"
        "file says.",
        changes="with --apply what the outcomes say, as far as stack, policy, guards and pause allow",
        examples=[
            'invoke session_limits --scope person:ada --justification "ticket 4711"',
            'invoke session_limits --end ada-0e34861185201706f --justification "ticket 4711" --apply',
        ],
    )
    # Written out, since Python's versions break this line differently.
    added.usage = (
        "proctor invoke FUNCTION (--scope KIND:ID | --end SESSION_ID | --event-file FILE)\n"
        "                      --justification TEXT [--apply] [--break-glass LIMIT]"
    )
    added.add_argument("function", choices=FUNCTION_NAMES, help="function")
    what = added.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--event-file", metavar="FILE", help="a request as JSON, e.g. events/session_limits/manual.json"
    )
    what.add_argument(
        "--scope",
        metavar="KIND:ID",
        help="decide again: person:ada, session:ID, node:i-…, budget:NAME, account:NAME, partition:NAME, or all",
    )
    what.add_argument(
        "--end", metavar="SESSION_ID", action="append", help="end this session; may be repeated"
    )
    added.add_argument("--justification", metavar="TEXT", required=True, help="why; kept in the records")
    added.add_argument("--apply", action="store_true", help="act")
    added.add_argument(
        "--break-glass",
        metavar="LIMIT",
        help="lift one guard (e.g. session_ends, holds, notices), with a proof of who you are that is good for 2 minutes",
    )


def _add_exempt(group: Commands) -> None:
    added = add_command(
        group,
        "exempt",
        exempt.run,
        "Give a person another cap for a time.\n"
        "Your ARN is kept as the owner. Where several hold, the one that ends last binds; --revoke ends\n"
        "them all.",
        changes="one row of the exemptions table; functions see it within 60 seconds",
        examples=[
            'exempt ada --until 8h --max-sessions 6 --justification "paper deadline"',
            "exempt ada --until 2026-12-24T18:00+01:00 --no-cap --justification course --cluster gpu",
            'exempt ada --revoke --justification "course is over"',
        ],
    )
    added.add_argument("login_name", metavar="LOGIN", help="login name")
    added.add_argument(
        "--until", metavar="TIME", help="90m, 8h, 7d, or a time with its zone; at most 366 days"
    )
    cap = added.add_mutually_exclusive_group()
    cap.add_argument(
        "--max-sessions", metavar="N", type=_positive, help="sessions instead of the policy's cap"
    )
    cap.add_argument("--no-cap", action="store_true", help="any number of sessions")
    cap.add_argument("--revoke", action="store_true", help="end the person's running exemptions now")
    added.add_argument("--justification", metavar="TEXT", required=True, help="why; kept with the exemption")
    added.add_argument("--cluster", metavar="C", help="one governed cluster (default: all)")


def _add_mode(group: Commands) -> None:
    added = add_command(
        group,
        "mode",
        mode.run,
        "Switch a function or one of its rules: off, dry_run, apply.\n"
        "The stack's ApplyActions bounds the function, the function bounds its rules.",
        changes="the policy parameter /proctor/<cluster>/<function>, in a new version that keeps the rest",
        examples=["mode session_limits dry_run --cluster gpu", "mode budget_holds off --rule hold"],
    )
    added.add_argument("function", choices=MODE_NAMES, help="function")
    added.add_argument("mode", choices=["off", "dry_run", "apply"], help="how far it may go")
    added.add_argument("--rule", metavar="R", help="one rule only, e.g. cap, document, hold")
    added.add_argument("--cluster", metavar="C", help="a governed cluster (default: the only one)")


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not usable; give a whole number from 1 to 10000")
    return int(text)
