"""What scenarios do and see: people start sessions, and it is looked up what Proctor did about them."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from proctor_local.control import LocalAwsClient, PersonClient
from proctor_local.deployed import DeployedStack
from proctor_local.deployed_function import DeployedFunction, agent_reports, budget_holds
from proctor_local.identities import Identities
from tests.e2e import directory
from tests.e2e.agents import Agents

PATIENCE_SECONDS = 15.0
SWEEP_PATIENCE_SECONDS = 60.0
AFTER_DENIAL_SECONDS, LATER_PATIENCE_SECONDS = 0.6, 5.0
_EVERY_SECONDS = 0.03


class NotSoError(AssertionError):
    """What a scenario waited for did not come true."""


@dataclass
class World:
    """One deployed stack, and people nobody has used yet."""

    stack: DeployedStack
    clusters: Mapping[str, Mapping[str, Any]]
    role_name: str
    outcomes_url: str
    operators_url: str
    agents: Agents
    is_mutant: bool = False
    _unused: dict[str, Iterator[str]] = field(default_factory=dict)
    _signed_in: dict[tuple[str, str], PersonClient] = field(default_factory=dict)
    _heard: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    _started: list[str] = field(default_factory=list)

    @property
    def local(self) -> LocalAwsClient:
        """The local AWS."""
        return self.stack.local

    # functions

    @cached_property
    def functions(self) -> Mapping[str, DeployedFunction]:
        """Every function of the stack by its prefix in logical ids."""
        limits = DeployedFunction(self.stack, "session_limits", "SessionLimits", ("SessionLimitsQueueUrl",))
        return {f.prefix: f for f in (limits, agent_reports(self.stack), budget_holds(self.stack))}

    @property
    def reports(self) -> DeployedFunction:
        """agent_reports."""
        return self.functions["AgentReports"]

    @property
    def holds(self) -> DeployedFunction:
        """budget_holds."""
        return self.functions["BudgetHolds"]

    @cached_property
    def role_names(self) -> frozenset[str]:
        """The functions' own roles."""
        return frozenset(function.role_name for function in self.functions.values())

    # people

    def someone(self, kind: str = "plain") -> str:
        """The login name of somebody new."""
        if kind not in self._unused:
            self._unused[kind] = iter(directory.login_names(kind))
        return next(self._unused[kind])

    def person(self, login_name: str, role: str = directory.SSO_ROLE) -> PersonClient:
        """Somebody signed in through a permission set; `iam` stands for an IAM user, `role/<name>` for a plain role."""
        key = login_name, role
        if key not in self._signed_in:
            self._signed_in[key] = self._sign_in(login_name, role)
        return self._signed_in[key]

    def _sign_in(self, login_name: str, role: str) -> PersonClient:
        identities = Identities(self.local)
        if role == "iam":
            return identities.iam_user(login_name, run_as=login_name)
        if role.startswith("role/"):
            arn = identities.role(
                role.removeprefix("role/"), {"Version": "2012-10-17", "Statement": _ANYTHING}
            )
        else:
            arn = identities.permission_set(role)
        return identities.person(directory.session_name(login_name), arn, run_as=login_name)

    def target(self, cluster: str = directory.ALPHA, group: str = "login") -> str:
        """The target of a node of an instance group."""
        nodes = self.clusters[cluster]["nodes"]
        return str(next(n["target"] for n in nodes if n["instance_group_name"] == group))

    # sessions

    def start(
        self, login_name: str, target: str = "", role: str = directory.SSO_ROLE, document: str = ""
    ) -> str:
        """One session; its id."""
        person = self.person(login_name, role)
        members = {"DocumentName": document} if document else {}
        session_id = person.start_session(target or self.target(), **members)
        self._started.append(session_id)
        return session_id

    def starts(self, login_name: str, number: int, target: str = "", document: str = "") -> list[str]:
        """Several sessions of one person; their ids, oldest first."""
        return [self.start(login_name, target, document=document) for _ in range(number)]

    def session(self, session_id: str) -> dict[str, Any]:
        """A session as it is now."""
        return self.local.session(session_id)

    def is_ended(self, session_id: str) -> bool:
        """Whether the function ended it, under its own role."""
        return f"/{self.role_name}/" in f"{self.session(session_id)['ended_by']}/"

    def expect_ended(self, session_id: str, reason: str = "over_cap") -> dict[str, Any]:
        """Wait until a session is ended, and its record says so; the verdict."""
        self.wait(lambda: self.is_ended(session_id), f"the end of {session_id}")
        return self.expect_verdict(f"session#{session_id}", reason, "applied")

    def expect_verdict(self, subject: str, reason: str, outcome: str = "none") -> dict[str, Any]:
        """Wait for a verdict; an older one will do, since newer ones may stand above it."""
        return self.wait(
            lambda: next(
                (v for v in self.stack.verdicts(subject) if (v["reason"], v["outcome"]) == (reason, outcome)),
                {},
            ),
            f"a verdict {reason}/{outcome} on {subject}",
        )

    def expect_kept(self, *session_ids: str) -> None:
        """Once everything is worked off, the sessions are still there."""
        self.settle()
        for session_id in session_ids:
            session = self.session(session_id)
            if self.is_ended(session_id) or session["status"] not in (
                "Connecting",
                "Connected",
                "Disconnected",
            ):
                raise NotSoError(
                    f"{session_id} is {session['status']}, ended by {session['ended_by'] or 'nobody'}"
                )

    def leave(self) -> None:
        """Everybody logs out, and what others heard is forgotten."""
        for session_id in self._started:
            if self.session(session_id)["status"] not in ("Terminated", "Failed"):
                self.local.exit_session(session_id)
        self._started.clear()

    # hearing

    def outcomes(self) -> list[dict[str, Any]]:
        """What Proctor's functions did so far, as somebody else on the bus gets it."""
        return [e for e in self._hear(self.outcomes_url) if e["detail-type"] == "Proctor Outcome"]

    def changes(self) -> list[dict[str, Any]]:
        """The events so far that say that something observed has changed."""
        return [e for e in self._hear(self.outcomes_url) if e["source"] == "proctor.observed"]

    def operator_messages(self) -> list[dict[str, Any]]:
        """What the operators' topic sent so far: `Subject`, `Message`; alarms have an `AlarmName` in it."""
        return self._hear(self.operators_url)

    def _hear(self, url: str) -> list[dict[str, Any]]:
        self._heard[url] += [json.loads(body) for body in self.stack.take(url)]
        return self._heard[url]

    def expect_told(self, text: str) -> dict[str, Any]:
        """Wait for an operators' message that holds a text."""
        return self.wait(
            lambda: next(
                (m for m in self.operator_messages() if text in f"{m.get('Subject')} {m['Message']}"), {}
            ),
            f"an operators' message with {text!r}",
        )

    def expect_alarm(self, name: str) -> dict[str, Any]:
        """Wait until the operators hear of an alarm."""
        return self.expect_told(f'"{self.stack.name}-session_limits-{name}"')

    def expect_mail(self, login_name: str) -> dict[str, Any]:
        """Wait for a mail to somebody."""
        address = directory.session_name(login_name)
        return self.wait(
            lambda: next((m for m in self.local.mails() if address in m["to"]), {}), f"a mail to {address}"
        )

    # waiting

    def settle(self) -> None:
        """Wait until no message waits for session_limits and none is being worked on."""
        self.wait(self.stack.is_idle, "an empty queue")

    def settle_all(self) -> None:
        """The same for every function."""
        for function in self.functions.values():
            self.wait(function.is_idle, f"empty queues of {function.name}")

    def sweep(self) -> None:
        """Fire the sweep and wait until it is done; it writes the ledger of everybody who has left since the last one."""
        self.stack.sweep()
        self.wait(self.stack.is_idle, "the end of the sweep", SWEEP_PATIENCE_SECONDS)

    def wait[T](self, probe: Callable[[], T], what: str, seconds: float = PATIENCE_SECONDS) -> T:
        """Wait for something true. On a mutant, not long beyond the first refusal: what is refused stays refused.

        What is waited for after that refusal gets longer again, since it may have nothing to do with it.
        """
        was_refused = self.is_mutant and bool(self.refusals())
        deadline = time.monotonic() + (min(seconds, LATER_PATIENCE_SECONDS) if was_refused else seconds)
        may_be_refused = self.is_mutant and not was_refused
        while not (value := probe()):
            if may_be_refused and self.refusals():
                deadline = min(deadline, time.monotonic() + AFTER_DENIAL_SECONDS)
                may_be_refused = False
            if time.monotonic() > deadline:
                raise NotSoError(f"{what}: not so in time")
            time.sleep(_EVERY_SECONDS)
        return value

    def refusals(self) -> list[str]:
        """What IAM refused the functions' roles, and what services could not do in their name."""
        denied = [d for d in self.local.denials() if any(f"/{r}/" in d["principal"] for r in self.role_names)]
        return [
            *(f"{d['action']} on {d['resource']}" for d in denied),
            *(f"{p['where']}: {p['reason']}" for p in self.local.problems()),
        ]


_ANYTHING = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
