"""Thursday and Friday: what goes wrong, what operators do, and two hundred sessions in one second."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from proctor_local.exam_week import cast
from proctor_local.exam_week.book import Fate
from proctor_local.exam_week.campus import STARTS_PER_SECOND, Campus
from proctor_local.exam_week.watcher import short

BURST_EACH, CAP = 5, 3
_RECONNECTS_AT_MOST = 12


def thursday(campus: Campus) -> None:
    """A client that reconnects at once, and an event that never arrives."""
    reconnecting(campus)
    lost_event(campus)


def reconnecting(campus: Campus) -> None:
    """End, reconnect, end, reconnect: Proctor backs off and proposes what would help."""
    campus.log.title("Thursday: Loop's client reconnects at once")
    for _ in range(CAP):
        campus.starts("loop", is_quiet=True)
    campus.settle()
    seen = campus.book.tallies.get("NotifyOperators applied", 0)
    for attempt in range(_RECONNECTS_AT_MOST):
        session_id = campus.starts("loop", Fate.ENDS)
        campus.settle()
        if not campus.happens(partial(campus.is_ended, session_id), 0.5):
            reason = campus.stack.wait_for_verdict(f"session#{session_id}")
            campus.log.say("Proctor", f"backs off: {reason['text']}", "proctor")
            campus.sweep()
        campus.expect_end(session_id, is_timed=attempt < CAP, seconds=15)
        if campus.stack.verdict("loop#loop"):
            break
    proposal = campus.stack.verdict("loop#loop")
    campus.expect("an IAM deny was proposed to the operators", bool(proposal))
    campus.expect(
        "the operators got it",
        campus.happens(lambda: campus.book.tallies.get("NotifyOperators applied", 0) > seen),
    )
    campus.log.say(
        "loop", "gets a call from the operators and mends the client; nothing was denied by Proctor itself"
    )


def lost_event(campus: Campus) -> None:
    """The sweep finds what no event told of."""
    campus.log.title("Lena's fourth session starts while CloudTrail loses its record")
    for _ in range(CAP):
        campus.starts("lena", is_quiet=True)
    campus.settle()
    campus.local.settings(lose_next_records=1)
    session_id = campus.starts("lena", Fate.ENDS)
    time.sleep(1.0)
    campus.expect("nobody knows of it yet", not campus.is_ended(session_id))
    campus.log.note("No event, so nothing happens until the next look at everything.")
    campus.sweep()
    campus.expect_end(session_id, is_timed=False)


def friday(campus: Campus) -> None:
    """Operators at work, then the storm."""
    policy_edit(campus)
    by_hand(campus)
    storm(campus)


def policy_edit(campus: Campus) -> None:
    """A bad version is refused, a good one put in force."""
    campus.log.title("Friday: the cloud team edits the policy, first with a slip")
    version = campus.stack.version_in_force(cast.MAIN)
    policy = dict(cast.POLICIES[cast.MAIN])
    refused = campus.put_policy(cast.MAIN, json.dumps(policy | {"cap": {"max_sesions": 4}}))
    subject = f"policy#{cast.MAIN}"
    campus.expect(
        "the slip is refused",
        campus.happens(lambda: campus.stack.verdict(subject).get("reason") == "policy_refused"),
    )
    campus.log.say("proctor why", f"policy: {campus.stack.verdict(subject)['text']}", "quiet")
    campus.expect(
        "the old version stays in force", campus.stack.version_in_force(cast.MAIN) == version < refused
    )
    campus.put_policy(cast.MAIN, policy | {"appeal": f"Ring 4711 or write to hpc-help@{cast.DOMAIN}."})
    campus.settle()


def by_hand(campus: Campus) -> None:
    """A dry run, then the end of one named session."""
    campus.log.title("An operator looks first, and then ends one session by hand")
    session_id = campus.starts("theo", Fate.ENDS)
    campus.settle()
    request = {
        "source": "proctor.manual",
        "requested_by": "operator@uni.example",
        "justification": "ticket 4712: the laptop was stolen",
        "dry_run": True,
        "actions": [{"action": "TerminateSession", "session_id": session_id}],
    }
    for is_dry_run in (True, False):
        answer = campus.stack.invoke(request | {"dry_run": is_dry_run})
        outcomes = [o for o in answer.get("outcomes", ()) if o["action"] == "TerminateSession"]
        said = outcomes[0]["outcome"] if outcomes else str(answer)
        campus.log.say("operator", f"sam remote invoke, dry_run={str(is_dry_run).lower()}: {said}")
        expected = "dry_run" if is_dry_run else "applied"
        campus.expect(f"the manual request answers {expected}", said == expected)
        campus.expect("only the real one ends it", campus.is_ended(session_id) != is_dry_run)


def storm(campus: Campus) -> None:
    """200 sessions in one second, 80 of them surplus."""
    number = len(cast.STUDENTS) * BURST_EACH
    campus.log.title(
        f"10:00, the exam begins: {len(cast.STUDENTS)} students start {number} sessions in one second"
    )
    campus.log.note(
        "Session Manager lets 3 StartSession calls a second through; that limit is lifted for this scene."
    )
    for name in cast.STUDENTS:
        campus.person(name, cast.STUDENT)
    campus.local.settings(calls_per_second={})
    campus.watcher.is_brief = True
    began = time.monotonic()
    with ThreadPoolExecutor(8, "exam-week-student") as pool:
        started = list(pool.map(lambda i: _one_of_many(campus, i), range(number)))
    took = time.monotonic() - began
    campus.log.say("students", f"started {len(started)} sessions in {took:.2f} s")
    workers = _work_off(campus, began)
    campus.book.facts["burst"] = f"{len(started)} starts in {took:.2f} s"
    campus.expect(f"at most 2 copies run at once, not {workers}", workers <= 2)
    campus.sweep()
    campus.watcher.is_brief = False
    campus.local.settings(calls_per_second={"StartSession": STARTS_PER_SECOND})
    _count(campus, started)


def _one_of_many(campus: Campus, number: int) -> str:
    name = cast.STUDENTS[number % len(cast.STUDENTS)]
    target = campus.target(number=number)
    return campus.starts(name, Fate.OPEN, target=target, permission_set=cast.STUDENT, is_quiet=True)


def _work_off(campus: Campus, began: float) -> int:
    """Wait until the queue is empty, saying how it goes; the most copies of the function seen at once."""
    most, said_at = 0, time.monotonic()
    while not campus.stack.is_idle() and time.monotonic() - began < 90:
        most = max(most, campus.stack.copies())
        if time.monotonic() - said_at > 2:
            waiting, in_flight = campus.stack.depth()
            campus.log.note(f"… {waiting} events wait, {in_flight} are being worked on by {most} copies")
            said_at = time.monotonic()
        time.sleep(0.1)
    campus.log.say(
        "Proctor", f"has worked off the storm {time.monotonic() - began:.1f} s after its beginning", "proctor"
    )
    return most


def _count(campus: Campus, started: Sequence[str]) -> None:
    """None lost, and nobody over the cap or pushed below it."""
    by_id = {str(s["session_id"]): s for s in campus.local.sessions()}
    ended = [session_id for session_id in started if campus.is_ended(session_id)]
    campus.book.burst.update(ended)
    left = dict.fromkeys(cast.STUDENTS, 0)
    for session_id in started:
        session = by_id[session_id]
        left[session_id.partition("@")[0]] += session["status"] == "Connected"
    off = {name: count for name, count in left.items() if count != CAP}
    campus.log.say("Proctor", f"ended {len(ended)} surplus sessions; every student keeps {CAP}", "proctor")
    campus.expect(f"every student keeps {CAP}: {off}", not off)
    campus.log.note(f"For example {short(ended[0])}: {campus.why(f'session#{ended[0]}')}" if ended else "")
