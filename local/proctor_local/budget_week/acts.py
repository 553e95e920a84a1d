"""What happens in AWS: a department crosses 80 and 100 %, an admin releases it by hand. Slurm's part is in slurm_acts."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from proctor_local.budget_week import cast
from proctor_local.budget_week.book import APPLIED_WITHIN
from proctor_local.budget_week.university import University

HELD = f"account#{cast.LINGUISTICS}"
_LEAD_SECONDS = 50


def eighty_percent(university: University) -> None:
    """Owner and operators are told; nothing is held."""
    log = university.log
    log.title("Monday: linguistics has spent 80 % of its month")
    _refresh(university, "8125.50")
    told = university.happens(lambda: _mails(university, cast.OWNERS[cast.LINGUISTICS], "80 % is spent"))
    university.book.expect("the owner is told at 80 %", told)
    university.settle()
    university.book.expect("nothing is held at 80 %", not university.intent(HELD))


def hundred_percent(university: University) -> float:
    """The hold is written; the moment at which AWS had the figure, by time.monotonic()."""
    university.log.title("Tuesday: the money of linguistics is spent")
    began = time.monotonic()
    _refresh(university, "10040.00")
    if university.slurm is None:
        university.book.measure(
            "hold written after AWS had the figure",
            APPLIED_WITHIN,
            lambda: university.intent(HELD).get("is_held"),
            began,
        )
    return began


def members_are_told(university: University) -> None:
    """Whose work waits gets a mail, where Slurm is there to know whose it is."""
    if university.slurm is None:
        return
    member = university.submitter(cast.LINGUISTICS) or university.slurm.layout.os_login_name
    if member in cast.MEMBERS.values():
        told = university.happens(lambda: _mails(university, member, "wait"))
        university.book.expect("members are told when they are held", told)


def released_by_hand(university: University) -> None:
    """A grant is on its way: the admin lets the department go on."""
    university.log.title("Thursday: an admin releases linguistics by hand; a grant is on its way")
    why = "grant 17 is on its way"
    university.proctor("release", cast.LINGUISTICS, "--justification", why, "--apply")


def stays_released(university: University) -> None:
    """The sweep and a message that comes again change nothing."""
    university.local.refresh_budget(cast.AWS_BUDGET, actual="9900.00", messages=0)
    _refresh(university, "10090.00")
    university.settle()
    university.log.say("schedule", "sweep, fired by hand here: it comes every 10 minutes")
    university.holds.sweep()
    university.settle()
    is_free = university.intent(HELD).get("is_held") is False
    university.book.expect("what an admin released stays released", is_free)
    if is_free:
        university.log.say(
            "Proctor", "leaves it released: over the limit, and an admin's word stands", "proctor"
        )


def border() -> datetime:
    """When the present day of optics' allocation ends: soon, on a whole second, and not just before an hour of use begins."""
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=_LEAD_SECONDS)
    return at if at.minute < 59 else at.replace(minute=0, second=5) + timedelta(hours=1)


def _refresh(university: University, actual: str) -> None:
    university.local.refresh_budget(cast.AWS_BUDGET, actual=actual)
    university.log.say(
        "AWS Budgets",
        f"has new figures: {cast.AWS_BUDGET} has spent ${float(actual):,.2f} of ${cast.LIMIT_USD:,}",
    )


def _mails(university: University, login_name: str, text: str) -> list[dict[str, Any]]:
    address = f"{login_name}@{cast.DOMAIN}"
    return [m for m in university.local.mails() if address in m["to"] and text in m["subject"]]
