"""Monday to Thursday: one scene a method, in the order in which they are played."""

from proctor_local.exam_week import cast
from proctor_local.exam_week.book import Fate
from proctor_local.exam_week.campus import Campus
from proctor_local.exam_week.watcher import short

PORT_FORWARD = "AWS-StartPortForwardingSession"


def monday(campus: Campus) -> None:
    """Three dozen people within their caps, and the first who is over."""
    campus.log.title("Monday: three dozen researchers get to work, nobody over the cap of 3")
    for number, name in enumerate(cast.RESEARCHERS):
        permission_set = cast.STUDENT if number % 2 else cast.RESEARCHER
        for place in range(1 + number % 3):
            campus.starts(
                name, target=campus.target(number=place), permission_set=permission_set, is_quiet=True
            )
    campus.log.say(
        "researchers", f"{len(cast.RESEARCHERS)} people started {campus.book.tallies['started']} sessions"
    )
    campus.settle()
    campus.log.note("Within the cap Proctor does nothing and says nothing.")
    one_too_many(campus)


def one_too_many(campus: Campus) -> None:
    """A fourth session, where three are allowed."""
    campus.log.title("Ada opens one session too many")
    for _ in range(3):
        campus.starts("ada")
    campus.settle()
    campus.expect_end(campus.starts("ada", Fate.ENDS))
    campus.settle()
    campus.expect("ada was told by mail", _was_mailed(campus, "ada"))


def tuesday(campus: Campus) -> None:
    """How sessions are counted."""
    laptop_dies(campus)
    two_permission_sets(campus)
    two_clusters(campus)
    port_forwards(campus)


def laptop_dies(campus: Campus) -> None:
    """Disconnected sessions count."""
    campus.log.title("Tuesday: Ben's laptop dies; his sessions stay, disconnected")
    old = [campus.starts("ben") for _ in range(3)]
    campus.settle()
    for session_id in old:
        campus.local.set_status(session_id, "Disconnected")
    campus.log.say("ben", "closes the lid: 3 sessions are Disconnected")
    campus.expect_end(campus.starts("ben", Fate.ENDS))
    campus.local.exit_session(old[0])
    campus.log.say(
        "ben", f"is told why, and types exit in {short(old[0])}: no API call, so no event tells of it"
    )
    campus.sweep()
    campus.starts("ben")
    campus.settle()


def two_permission_sets(campus: Campus) -> None:
    """One person under two roles is one person."""
    campus.log.title("Chen signs in under two permission sets: one person, one cap")
    for permission_set in (cast.RESEARCHER, cast.STUDENT, cast.RESEARCHER):
        campus.starts("chen", permission_set=permission_set)
    campus.settle()
    campus.expect_end(campus.starts("chen", Fate.ENDS, permission_set=cast.STUDENT))


def two_clusters(campus: Campus) -> None:
    """The cap over all clusters is 5."""
    campus.log.title("Dora works on both clusters: 3 on each are allowed, 5 in all")
    for number in range(5):
        cluster = cast.MAIN if number < 3 else cast.SECOND
        campus.starts("dora", target=campus.target(cluster=cluster))
    campus.settle()
    campus.expect_end(campus.starts("dora", Fate.ENDS, target=campus.target(cluster=cast.SECOND)))


def port_forwards(campus: Campus) -> None:
    """Port forwards count like shells."""
    campus.log.title("Port hoards port forwards")
    started = [campus.starts("port", Fate.OPEN, document=PORT_FORWARD) for _ in range(7)]
    campus.settle()
    ended = [session_id for session_id in started if campus.is_ended(session_id)]
    campus.expect(f"4 of 7 port forwards end, not {len(ended)}", len(ended) == 4)
    campus.book.timed.update(ended)


def wednesday(campus: Campus) -> None:
    """Who may not be there whatever the count, and who must not be touched."""
    strangers(campus)
    closed_doors(campus)
    spared(campus)


def strangers(campus: Campus) -> None:
    """An unmapped owner is reported; a session that is not ours is left alone."""
    campus.log.title(
        "Wednesday: somebody whom the directory doesn't know, and a session that is none of Proctor's business"
    )
    unknown = campus.starts("zoe")
    plain = campus.local.add_target("i-0123456789abcdef0")
    foreign = [campus.starts("ada", target=plain) for _ in range(2)]
    campus.settle()
    for session_id in (unknown, foreign[0]):
        campus.log.say("proctor why", f"{short(session_id)}: {campus.why(f'session#{session_id}')}", "quiet")


def closed_doors(campus: Campus) -> None:
    """A disabled person, and a researcher on the controller."""
    campus.log.title("Kira left the university; Milo tries the controller")
    campus.expect_end(campus.starts("kira", Fate.ENDS))
    campus.expect_end(campus.starts("milo", Fate.ENDS, target=campus.target("controller-machine")))
    campus.starts("root1", target=campus.target("controller-machine"))
    campus.settle()


def spared(campus: Campus) -> None:
    """Break-glass, an exemption, a group's cap; and a mailbox that bounces."""
    campus.log.title("Those who may have more: break-glass (5), an exemption (6 for a deadline), staff (6)")
    for _ in range(5):
        campus.starts("root1", permission_set=cast.BREAK_GLASS)
    for name in ("erin", "prof"):
        for _ in range(6):
            campus.starts(name, is_quiet=True)
        campus.log.say(name, "starts 6 sessions")
    campus.settle()
    campus.log.title("Sina is over the cap, and mail to her bounces")
    for _ in range(3):
        campus.starts("sina", is_quiet=True)
    campus.settle()
    campus.expect_end(campus.starts("sina", Fate.ENDS))
    campus.settle()
    verdict = campus.stack.wait_for_verdict("notice#sina")
    campus.log.say("proctor why", f"notice to sina: {verdict['outcome']}: {verdict['detail']}", "quiet")
    campus.expect("the notice to sina is undeliverable", "undeliverable" in verdict["detail"])


def _was_mailed(campus: Campus, login_name: str) -> bool:
    return campus.happens(
        lambda: any(cast.session_name(login_name) in m["to"] for m in campus.local.mails()), 5
    )
