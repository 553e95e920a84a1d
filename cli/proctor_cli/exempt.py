"""`proctor exempt`: another cap, or none, for one person until a time; or the early end of that."""

import argparse
import re
from datetime import datetime, timedelta

from proctor.domain.errors import NotFoundError
from proctor.domain.exemptions import Exemption
from proctor_cli.console import shown_time
from proctor_cli.exits import Exit, UsageError
from proctor_cli.governed import SESSION_LIMITS
from proctor_cli.world import World

LONGEST = timedelta(days=366)
_SPAN = re.compile(r"\+?(\d{1,5})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_JUSTIFICATION_AT_MOST = 512


def run(args: argparse.Namespace, world: World) -> Exit:
    """Grant, or with --revoke end what was granted."""
    now = world.clock()
    justification = _justification(args.justification)
    cluster = None if args.cluster is None else world.stack.cluster(args.cluster)
    if args.revoke:
        return _revoke(args.login_name, cluster, now, world)
    if args.until is None or (args.max_sessions is None and not args.no_cap):
        raise UsageError("--until", args.until, "give --until TIME and either --max-sessions N or --no-cap")
    ends_at = end_of(args.until, now)
    if world.people.by_login_name(args.login_name) is None:
        raise NotFoundError(f"login_name: {args.login_name!r} is not in the people directory")
    exemption = Exemption(
        login_name=args.login_name,
        ends_at=ends_at,
        granted_by=world.caller,
        justification=justification,
        max_sessions=None if args.no_cap else args.max_sessions,
        cluster=cluster,
    )
    world.exemptions.put(SESSION_LIMITS, exemption)
    data = {
        "login_name": exemption.login_name,
        "cluster": cluster,
        "max_sessions": exemption.max_sessions,
        "ends_at": ends_at,
        "granted_by": exemption.granted_by,
    }
    cap = "no cap" if args.no_cap else f"a cap of {args.max_sessions}"
    text = f"{args.login_name} has {cap} on {cluster or 'all clusters'} until {shown_time(ends_at)}, within 60 s."
    world.console.answer(data, text)
    return Exit.OK


def end_of(text: str, now: datetime) -> datetime:
    """`90m`, `8h`, `7d` from now, or a time with its zone. Raises UsageError for the past and for more than 366 days."""
    if found := _SPAN.fullmatch(text):
        ends_at = (now + timedelta(**{_UNITS[found[2]]: int(found[1])})).replace(microsecond=0)
    else:
        try:
            ends_at = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError("--until", text, "write 8h, 7d, or a time like 2026-12-24T18:00+01:00") from None
        if ends_at.tzinfo is None:
            raise UsageError("--until", text, "add a time and its zone, e.g. 2026-12-24T18:00+01:00 or …Z")
        ends_at = ends_at.astimezone(now.tzinfo)
    if not now < ends_at <= now + LONGEST:
        raise UsageError("--until", text, "choose a time in the future, at most 366 days away")
    return ends_at


def _justification(text: str | None) -> str:
    if text is None or not text.strip() or len(text) > _JUSTIFICATION_AT_MOST:
        raise UsageError("--justification", text, f"say why, in 1 to {_JUSTIFICATION_AT_MOST} characters")
    return text.strip()


def _revoke(login_name: str, cluster: str | None, now: datetime, world: World) -> Exit:
    """End every running exemption of a person, of one cluster if named. The rows stay, with who ended them."""
    table = world.exemptions
    running = [
        row
        for row in table.ids(SESSION_LIMITS)
        if row["login_name"] == login_name
        and datetime.fromisoformat(row["ends_at"]) > now
        and cluster in (None, row.get("cluster"))
    ]
    if not running:
        raise NotFoundError(f"login_name: {login_name!r} has no running exemption to end")
    for row in running:
        table.end(SESSION_LIMITS, str(row["id"]), now, world.caller)
    data = {"login_name": login_name, "ended": [row["id"] for row in running], "ended_at": now}
    world.console.answer(data, f"{len(running)} exemption(s) of {login_name} end now, within 60 s.")
    return Exit.OK
