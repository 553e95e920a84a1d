"""What operators do: write policies (good and bad), pause, ask for things by hand; and what they learn of crashes."""

import json
from typing import TYPE_CHECKING, Any

from proctor.domain.errors import ProctorError
from tests.simulation.core.violation import ViolationError
from tests.simulation.sessions.evaluators import Environment
from tests.simulation.sessions.parameters import policy_name
from tests.simulation.sessions.scenario import CLUSTERS, draw_policy

if TYPE_CHECKING:
    from tests.simulation.sessions.university import University

_SMALL_BUDGET = {
    "max_share_percent": 100,
    "session_ends": {"per_run": 2, "per_window": 4, "window_minutes": 5},
}


class Operators:
    """One run's operators."""

    def __init__(self, world: "University") -> None:
        self._world = world
        self._chance = world.dice.stream("operators")
        self.asked_ends: set[str] = set()

    def start(self) -> None:
        """Put the first policies in force and plan the day."""
        world, scenario = self._world, self._world.scenario
        for cluster in CLUSTERS:
            policy = self._fitted(scenario.policies[cluster])
            first = {**policy, "mode": "dry_run"} if scenario.dry_run_seconds else policy
            version = world.parameters.write(policy_name(cluster), first)
            world.parameters.label(policy_name(cluster), version)
            if scenario.dry_run_seconds:
                self._plan(scenario.dry_run_seconds, lambda c=cluster, p=policy: self._write(c, p))
        for _ in range(scenario.policy_changes):
            self._plan(self._chance.uniform(30, scenario.active_seconds), self._change_policy)
        if scenario.pause is not None:
            cluster = self._chance.choice(list(CLUSTERS))
            start, end = scenario.pause
            self._plan(start, lambda: world.parameters.set_pause(cluster, is_paused=True))
            self._plan(
                min(end, scenario.active_seconds),
                lambda: world.parameters.set_pause(cluster, is_paused=False),
            )
        for _ in range(scenario.manual_requests):
            self._plan(self._chance.uniform(60, scenario.active_seconds), self._ask_by_hand)

    def product_crashed(self, name: str, where: dict[str, Any]) -> None:
        """A record made Proctor's own code raise what it never should."""
        self._world.scheduler.fail(ViolationError("crash", f"{name}: {where}", [name]))

    def _plan(self, at: float, step: Any) -> None:
        self._world.scheduler.after(at, step)

    def _fitted(self, policy: Any) -> dict[str, Any]:
        return {**policy, "guardrails": _SMALL_BUDGET} if self._world.scenario.small_budget else dict(policy)

    def _change_policy(self) -> None:
        cluster = self._chance.choice(list(CLUSTERS))
        if self._chance.random() < 0.25:
            self._write(cluster, {"mode": "apply", "cap": {"max_session": 0}})
            return
        policy = self._fitted(draw_policy(self._chance))
        if self._chance.random() < 0.4:
            policy["weights"] = {"port_forward": self._chance.choice([0, 2])}
        self._write(cluster, policy)

    def _write(self, cluster: str, policy: dict[str, Any]) -> None:
        name = policy_name(cluster)
        self._world.parameters.write(name, policy)
        detail = {"operation": "Update", "name": name, "type": "String"}
        self._world.bus.publish(
            {
                "id": f"change of {name}",
                "source": "aws.ssm",
                "detail-type": "Parameter Store Change",
                "detail": detail,
            }
        )

    def _ask_by_hand(self) -> None:
        sessions = [s for s in self._world.service.ours() if s.is_counted]
        if not sessions:
            return
        session = self._chance.choice(sessions)
        request: dict[str, Any] = {
            "source": "proctor.manual",
            "requested_by": "ops@uni.example",
            "justification": "ticket 4711",
            "dry_run": self._chance.random() < 0.4,
        }
        if self._chance.random() < 0.5 and session.human.login_name:
            request["scope"] = {"kind": "person", "id": session.human.login_name}
        elif self._chance.random() < 0.3:
            request["scope"] = {"kind": "all"}
        else:
            request["actions"] = [{"action": "TerminateSession", "session_id": session.session_id}]
            if not request["dry_run"]:
                self.asked_ends.add(session.session_id)
        self._world.story.tell("operator", f"asks by hand: {json.dumps(request)}")
        environment = Environment(self._world.site, f"M{int(self._world.scheduler.now)}", 0.0)
        self._world.scheduler.spawn(lambda: self._invoke(environment, request))

    def _invoke(self, environment: Environment, request: dict[str, Any]) -> None:
        try:
            environment.invoke(request)
        except ProctorError as error:
            self._world.story.tell("operator", f"gets {type(error).__name__}: {error}")
