"""How the week ended: what happened, in one table, and whether everything went as it should."""

from collections.abc import Sequence

from proctor_local.exam_week.book import is_ended_by, percentile, seconds_to_end
from proctor_local.exam_week.campus import Campus
from proctor_local.exam_week.cast import CHARACTERS, RESEARCHERS, STUDENTS

LATENCY_AT_MOST_SECONDS = 1.0


def finish(campus: Campus) -> bool:
    """Check everything, print the table; whether nothing unexpected happened."""
    campus.settle()
    campus.log.title("The week is over")
    sessions = campus.local.sessions()
    campus.book.compare(sessions, campus.role_name)
    _permissions(campus)
    ended = [s for s in sessions if is_ended_by(s, campus.role_name)]
    timed = [seconds_to_end(s) for s in ended if s["session_id"] in campus.book.timed]
    burst = [seconds_to_end(s) for s in ended if s["session_id"] in campus.book.burst]
    if percentile(timed, 0.99) > LATENCY_AT_MOST_SECONDS:
        campus.book.wrong(
            f"latency p99 is {percentile(timed, 0.99):.2f} s, at most {LATENCY_AT_MOST_SECONDS} s is promised"
        )
    tallies = campus.book.tallies
    rows = [
        ("people", f"{len(CHARACTERS) + len(RESEARCHERS) + len(STUDENTS)} in the directory, 1 unknown to it"),
        ("sessions started", str(len(sessions))),
        ("ended by Proctor", f"{len(ended)} (of them {len(burst)} in the storm)"),
        ("left alone", str(len(sessions) - len(ended))),
        ("would have ended (dry run)", str(tallies.get("TerminateSession dry_run", 0))),
        ("mails sent", f"{tallies.get('mails', 0)}, undeliverable {tallies.get('NotifyPerson failed', 0)}"),
        (
            "operators' messages",
            f"{tallies.get('operator messages', 0)}, and {tallies.get('alarms', 0)} alarms",
        ),
        ("start to end, one by one", _latency(timed)),
        ("start to end, in the storm", f"{_latency(burst)}; {campus.book.facts.get('burst', '')}"),
        ("unexpected", str(len(campus.book.unexpected)) if campus.book.unexpected else "nothing"),
    ]
    for name, value in rows:
        campus.log.plain(f"  {name:<28} {value}")
    for problem in campus.book.unexpected:
        campus.log.say("UNEXPECTED", problem, "bad")
    return not campus.book.unexpected


def _permissions(campus: Campus) -> None:
    """No denial of the function's role, no delivery that AWS would have dropped, nothing in the dead-letter queue."""
    for denial in campus.local.denials():
        campus.book.wrong(f"IAM refused {denial['action']} on {denial['resource']} to {denial['principal']}")
    for problem in campus.local.problems():
        campus.book.wrong(f"{problem['where']}: {problem['reason']}")
    for body in campus.stack.take_dead_letters():
        campus.book.wrong(f"a dead letter: {body}")


def _latency(seconds: Sequence[float]) -> str:
    if not seconds:
        return "none"
    return (
        f"p50 {percentile(seconds, 0.5):.2f} s, p99 {percentile(seconds, 0.99):.2f} s ({len(seconds)} ends)"
    )
