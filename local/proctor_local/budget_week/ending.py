"""How it went, in one table."""

from proctor_local.budget_week.university import University


def finish(university: University) -> bool:
    """Check permissions and dead letters, print the table; whether nothing unexpected happened."""
    university.settle()
    book, log = university.book, university.log
    _permissions(university)
    log.title("The budgets' week is over")
    tallies = book.tallies
    rows = [(what, f"{took:.1f} s (at most {bound:.0f} s)") for what, (took, bound) in book.seconds.items()]
    rows += [
        ("holds written, let go", f"{_tally(tallies, 'WriteIntent')}, {_tally(tallies, 'WithdrawIntent')}"),
        ("mails", str(tallies.get("mails", 0))),
        (
            "operators' messages",
            f"{tallies.get('operator messages', 0)}, and {tallies.get('alarms', 0)} alarms",
        ),
        ("time", f"{log.elapsed():.0f} s"),
        ("unexpected", str(len(book.unexpected)) if book.unexpected else "nothing"),
    ]
    for name, value in rows:
        log.plain(f"  {name:<48} {value}")
    for problem in book.unexpected:
        log.say("UNEXPECTED", problem, "bad")
    return not book.unexpected


def _tally(tallies: dict[str, int], action: str) -> int:
    return tallies.get(f"{action} applied", 0)


def _permissions(university: University) -> None:
    """No denial of any role, no delivery that AWS would have dropped, nothing in a dead-letter queue."""
    for denial in university.local.denials():
        university.book.wrong(
            f"IAM refused {denial['action']} on {denial['resource']} to {denial['principal']}"
        )
    for problem in university.local.problems():
        university.book.wrong(f"{problem['where']}: {problem['reason']}")
    for function in (university.holds, university.reports):
        for body in function.take_dead_letters():
            university.book.wrong(f"a dead letter of {function.name}: {body[:300]}")
