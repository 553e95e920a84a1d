"""`proctor hold`, `release`, `approve`: an operator's order to budget_holds, with its plan; a dry run without --apply."""

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from budget_holds.snapshot import Order, OrderKind
from proctor.domain.errors import NotFoundError, ProctorError
from proctor_cli.console import clean, fields
from proctor_cli.exempt import end_of
from proctor_cli.exits import Exit, UsageError, message_of
from proctor_cli.governed import AGENT_REPORTS, BUDGET_HOLDS, governed
from proctor_cli.hold_plan import plan_of, plan_text
from proctor_cli.invoke import ask, exit_of_outcomes, text_of
from proctor_cli.judgement import look_at, the_look
from proctor_cli.world import World

_AGENT = re.compile(r"i-[0-9a-z]{8,32}")
_NOT_THERE = frozenset({"not_ours", "unknown", "unknown_fingerprint"})
_NOTICES = frozenset({"NotifyPerson", "NotifyOperators"})
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")


def hold(args: argparse.Namespace, world: World) -> Exit:
    """Hold a budget's work by hand."""
    return _order(OrderKind.HOLD, args, world)


def release(args: argparse.Namespace, world: World) -> Exit:
    """Let it go by hand; sticky until the period ends, the limit changes, or --until."""
    return _order(OrderKind.RELEASE, args, world)


def approve(args: argparse.Namespace, world: World) -> Exit:
    """Accept a budget's doubtful numbers, or an agent's key."""
    if (args.budget is None) == (args.agent is None):
        raise UsageError("BUDGET", args.budget, "name a budget, or an agent with --agent")
    if args.agent is not None:
        return _approve_agent(args, world)
    if args.fingerprint is not None:
        raise UsageError("--fingerprint", args.fingerprint, "it goes with --agent only")
    args.until = None
    return _order(OrderKind.APPROVE, args, world)


def _order(kind: OrderKind, args: argparse.Namespace, world: World) -> Exit:
    until_at = end_of(args.until, world.clock()) if args.until is not None else None
    order = Order(kind=kind, budget=args.budget, by=world.caller, cluster=args.cluster, until_at=until_at)
    plan, unread = _plan(order, world)
    cluster = plan["cluster"] if plan else args.cluster
    action: dict[str, Any] = {"action": kind.value, "budget": args.budget}
    if cluster is not None:
        action["cluster"] = cluster
    if until_at is not None:
        action["until"] = until_at.isoformat()
    request = {
        "source": "proctor.manual",
        "justification": args.justification,
        "dry_run": not args.apply,
        "actions": [action],
    }
    outcomes = ask(world, governed(BUDGET_HOLDS), request)
    data = {"dry_run": not args.apply, "plan": plan, "unread": unread, "outcomes": outcomes}
    shown = [plan_text(plan, world)] if plan else [f"The plan could not be made: {unread}"]
    shown += ["", world.console.heading("What the function says"), _said(outcomes, is_dry_run=not args.apply)]
    world.console.answer(data, "\n".join(shown))
    is_nowhere = kind is OrderKind.HOLD and plan is not None and not plan["targets"] and bool(plan["problem"])
    return _exit(kind, args.budget, outcomes, is_nowhere=is_nowhere)


def _plan(order: Order, world: World) -> tuple[dict[str, Any] | None, str | None]:
    """The plan, or why there is none: an operator who may order but not read can still act in an emergency."""
    try:
        look = the_look(look_at(world, order.cluster, order), order.budget)
        return plan_of(order.budget, look, world), None
    except (NotFoundError, UsageError):
        raise
    except ProctorError as error:
        return None, message_of(error)


def _said(outcomes: Sequence[Mapping[str, Any]], *, is_dry_run: bool) -> str:
    """The budget's verdict in full, acts on Slurm as a table, notices as a count with those that failed."""
    notices = [o for o in outcomes if o.get("action") in _NOTICES]
    verdicts = [o for o in outcomes if str(o.get("subject", "")).startswith("budget#")]
    acts = [o for o in outcomes if o not in notices and o not in verdicts]
    parts = [fields([("verdict", o.get("text"))]) for o in verdicts]
    parts.append(text_of(acts, is_dry_run=is_dry_run, nothing="Nothing changes in Slurm."))
    if notices:
        counts = Counter(str(o.get("outcome")) for o in notices)
        parts.append(f"Notices: {', '.join(f'{count} {name}' for name, count in sorted(counts.items()))}.")
    parts += [clean(f"{o['subject']}: {o['detail']}") for o in notices if o.get("detail")]
    return "\n".join(parts)


def _exit(kind: OrderKind, budget: str, outcomes: Sequence[Mapping[str, Any]], *, is_nowhere: bool) -> Exit:
    """As of the outcomes but notices; an approval that leaves a doubt, or a hold of nothing, did not take effect."""
    acts = [o for o in outcomes if o.get("action") not in _NOTICES]
    found = _not_there(outcomes) or exit_of_outcomes(acts)
    still = any(
        str(o.get("subject", "")).startswith("budget#")
        and str(o["subject"]).endswith(f"#{budget}")
        and o.get("reason") == "needs_human"
        for o in outcomes
    )
    did_nothing = is_nowhere or (kind is OrderKind.APPROVE and still)
    return Exit.FAILED if found is Exit.OK and did_nothing else found


def _not_there(outcomes: Sequence[Mapping[str, Any]]) -> Exit:
    """NOT_FOUND when the function does not know what was named, else OK."""
    is_missing = any(o.get("reason") in _NOT_THERE for o in outcomes)
    return Exit.NOT_FOUND if is_missing else Exit.OK


def _approve_agent(args: argparse.Namespace, world: World) -> Exit:
    if not _AGENT.fullmatch(args.agent):
        raise UsageError("--agent", args.agent, "give its instance id, i-…, as proctor agents shows it")
    if args.fingerprint is None or not _FINGERPRINT.fullmatch(args.fingerprint):
        raise UsageError(
            "--fingerprint", args.fingerprint, "give the 16 hex digits that the agent shows on its node"
        )
    cluster = world.stack.cluster(args.cluster)
    action = {
        "action": "ApproveAgentKey",
        "agent": f"{cluster}#{args.agent}",
        "fingerprint": args.fingerprint,
    }
    request = {
        "source": "proctor.manual",
        "justification": args.justification,
        "dry_run": not args.apply,
        "actions": [action],
    }
    outcomes = ask(world, governed(AGENT_REPORTS), request)
    data = {"dry_run": not args.apply, "plan": None, "unread": None, "outcomes": outcomes}
    world.console.answer(data, text_of(outcomes, is_dry_run=not args.apply))
    return _not_there(outcomes) or exit_of_outcomes(outcomes)
