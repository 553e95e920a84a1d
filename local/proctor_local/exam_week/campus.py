"""The university: brings up the stack as a cloud team would, then lets people sign in and start sessions."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from proctor_local.control import LocalAwsClient, PersonClient, wait_until
from proctor_local.deploy import deploy
from proctor_local.deployed import DeployedStack, seed_sender
from proctor_local.exam_week import cast
from proctor_local.exam_week.book import Book, Fate, is_ended_by
from proctor_local.exam_week.log import Log
from proctor_local.exam_week.watcher import Watcher, short
from proctor_local.identities import Identities

STACK = "proctor"
STARTS_PER_SECOND = 25.0
_ENDED_WITHIN_SECONDS = 10.0


class Campus:
    """Everything a scene needs."""

    def __init__(self, local: LocalAwsClient, log: Log) -> None:
        self.local, self.log, self.book = local, log, Book()
        self._identities = Identities(local)
        self._signed_in: dict[tuple[str, str], PersonClient] = {}
        self._clusters: dict[str, Mapping[str, Any]] = {}

    # bringing it up

    def open(self, template: Path, architecture: str) -> None:
        """Clusters, stack, people, policies, an exemption: the order in which a team would do it."""
        self.local.settings(trail_delay_seconds=0.0, calls_per_second={"StartSession": STARTS_PER_SECOND})
        for name, groups in cast.CLUSTERS.items():
            self._clusters[name] = self.local.seed_cluster(name, groups, cluster_id=cast.CLUSTER_IDS[name])
        seed_sender(self.local, cast.SENDER)
        parameters = {
            "ClusterName": cast.MAIN,
            "MoreClusterNames": cast.SECOND,
            "ApplyActions": "true",
            "Sender": cast.SENDER,
            "Architecture": architecture,
        }
        outputs = deploy(self.local, template, STACK, parameters, lambda text: self.log.say("deploy", text))
        self.stack = DeployedStack(self.local, STACK, outputs)
        self.role_name = self.stack.role_arn.rsplit("/", 1)[-1]
        self.watcher = Watcher(self.stack, self.log, self.book)
        self.watcher.start()
        self._load()

    def _load(self) -> None:
        people = Path(self.local.workers()["workspace"]) / "people.jsonl"
        people.write_text(cast.people_lines(), encoding="utf-8")
        self._run("people", "load", str(people))
        for cluster, policy in cast.POLICIES.items():
            self.put_policy(cluster, policy)
        justification = "paper deadline"
        self._run("exempt", "erin", "--until", "8h", "--max-sessions", "6", "--justification", justification)
        self.local.suppress(cast.session_name("sina"))
        self.stack.recycle()
        self.log.note(
            "Functions keep policies and exemptions for a minute; fresh copies read the new ones at once."
        )

    def put_policy(self, cluster: str, policy: Mapping[str, Any] | str) -> int:
        """Write a policy and wait until it is in force, where it is valid."""
        version = self.stack.put_policy(cluster, policy)
        self.log.say("cloud team", f"writes version {version} of the policy of {cluster}")
        if not isinstance(policy, str):
            with self.log.waiting("until the version is in force"):
                wait_until(
                    lambda: self.stack.version_in_force(cluster) == version, 20, what="the policy in force"
                )
        return version

    def _run(self, *arguments: str) -> None:
        shown = [Path(a).name if a.startswith("/") else f'"{a}"' if " " in a else a for a in arguments]
        self.log.say("cloud team", f"$ proctor {' '.join(shown)}")
        self.stack.proctor(*arguments)

    # people

    def person(self, login_name: str, permission_set: str = cast.RESEARCHER) -> PersonClient:
        """Somebody signed in through Identity Center."""
        key = login_name, permission_set
        if key not in self._signed_in:
            role = self._identities.permission_set(permission_set)
            self._signed_in[key] = self._identities.person(
                cast.session_name(login_name), role, run_as=login_name
            )
        return self._signed_in[key]

    def target(self, group: str = "login", number: int = 0, cluster: str = cast.MAIN) -> str:
        """The target of a node of an instance group."""
        nodes = [n for n in self._clusters[cluster]["nodes"] if n["instance_group_name"] == group]
        return str(nodes[number % len(nodes)]["target"])

    def starts(
        self,
        login_name: str,
        fate: Fate = Fate.STAYS,
        *,
        target: str = "",
        permission_set: str = cast.RESEARCHER,
        document: str = "",
        is_quiet: bool = False,
    ) -> str:
        """One session; the session id."""
        person = self.person(login_name, permission_set)
        members: dict[str, Any] = {"DocumentName": document} if document else {}
        session_id = person.start_patiently(target or self.target(), **members)
        self.book.note(session_id, fate)
        self.book.count("started")
        if not is_quiet:
            kind = f" with {document}" if document else ""
            self.log.say(login_name, f"starts {short(session_id)} on {self._place(target)}{kind}")
        return session_id

    def _place(self, target: str) -> str:
        """A node as people call it: cluster, instance group and number."""
        wanted = target or self.target()
        for name, cluster in self._clusters.items():
            numbers: Counter[str] = Counter()
            for node in cluster["nodes"]:
                group = str(node["instance_group_name"])
                numbers[group] += 1
                if node["target"] == wanted:
                    return f"{name}, {group} {numbers[group]}"
        return f"{wanted}, a machine outside the clusters"

    def expect_end(
        self, session_id: str, *, is_timed: bool = True, seconds: float = _ENDED_WITHIN_SECONDS
    ) -> None:
        """Wait until Proctor has ended a session, or note that it did not."""
        self.book.note(session_id, Fate.ENDS)
        if is_timed:
            self.book.timed.add(session_id)
        if not self.happens(lambda: self.is_ended(session_id), seconds):
            self.wrong(f"{short(session_id)} was not ended within {seconds:.0f} s")

    def expect(self, what: str, is_so: bool) -> None:  # noqa: FBT001 - reads as a sentence
        """Note as unexpected what is not so."""
        if not is_so:
            self.wrong(f"not so: {what}")

    def wrong(self, what: str) -> None:
        """Something unexpected."""
        self.book.wrong(what)
        self.log.say("UNEXPECTED", what, "bad")

    def happens(self, probe: Callable[[], object], seconds: float = _ENDED_WITHIN_SECONDS) -> bool:
        """Whether something comes true in time."""
        try:
            wait_until(probe, seconds, every=0.1)
        except TimeoutError:
            return False
        return True

    def session(self, session_id: str) -> Mapping[str, Any]:
        """A session as it is now."""
        return self.local.session(session_id)

    def is_ended(self, session_id: str) -> bool:
        """Whether Proctor ended it."""
        return is_ended_by(self.session(session_id), self.role_name)

    def settle(self, seconds: float = 60.0) -> None:
        """Wait until nothing is waiting for the function and nothing is running."""
        with self.log.waiting("until the queue is empty"):
            if not self.happens(self.stack.is_idle, seconds):
                self.wrong(f"the queue still holds {self.stack.depth()} messages after {seconds:.0f} s")
        self.watcher.look()

    def sweep(self) -> None:
        """Fire the sweep now and wait for it."""
        self.log.say("schedule", "sweep, fired by hand here: it comes every 2 minutes, too long to watch")
        self.stack.sweep()
        self.settle()

    def why(self, subject: str) -> str:
        """Proctor's reason about a subject, in its words."""
        verdict = self.stack.wait_for_verdict(subject)
        return f"{verdict['reason']}: {verdict['text']}"
