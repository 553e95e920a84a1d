"""What people and their laptops do: start sessions, leave without a word, close the lid, come back, reconnect at once."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.simulation.sessions.people import Human, Principal
from tests.simulation.sessions.places import FOREIGN, Place, draw_place
from tests.simulation.sessions.service import EPOCH, TrueSession

if TYPE_CHECKING:
    from tests.simulation.sessions.university import University

_SHELL, _SSH, _PORT = "SSM-SessionManagerRunShell", "AWS-StartSSHSession", "AWS-StartPortForwardingSession"


class Behaviour:
    """All humans of one run."""

    def __init__(self, world: "University") -> None:
        self._world = world
        self._chance = world.dice.stream("behaviour")

    def start(self) -> None:
        """Everybody begins."""
        self._world.service.on_killed = self._killed
        for human in self._world.humans:
            self._world.scheduler.after(self._chance.uniform(0, 60), lambda h=human: self._visit(h))  # type: ignore[misc]
            if human.leaves_at is not None:
                self._world.scheduler.after(human.leaves_at, lambda h=human: self._disable(h))  # type: ignore[misc]

    def _visit(self, human: Human) -> None:
        if self._is_over():
            return
        burst = (
            self._chance.choice([1, 1, 1, 2, 4])
            if human.likes_ports
            else self._chance.choice([1, 1, 1, 1, 2])
        )
        for _ in range(burst):
            self._open(human)
        gap = self._chance.expovariate(1.0 / human.mean_gap_seconds)
        self._world.scheduler.after(1.0 + gap, lambda: self._visit(human))

    def _open(self, human: Human, principal: Principal | None = None) -> None:
        who = principal or self._chance.choice(list(human.principals))
        place = draw_place(self._chance)
        ports = (
            [_PORT, _PORT, _SSH, _SHELL]
            if human.likes_ports
            else [_SHELL, _SHELL, _SSH, _PORT, "Odd-Document"]
        )
        document = self._chance.choice(ports)
        self._world.bus.publish(
            _failed_start(who, self._chance.random())
        ) if self._chance.random() < 0.05 else None
        session = self._world.service.open(human, who, place, document)
        human.opened += 1
        self._world.bus.publish(_start_event(session))
        if not self._world.scenario.is_still:
            self._fate(session)
        elif self._chance.random() < 0.3:
            self._later(20.0, lambda: self._close_lid(session))

    def _fate(self, session: TrueSession) -> None:
        dice = self._chance.random()
        if dice < 0.45:
            self._later(150.0, lambda: self._world.service.leave(session, "leaves"))
        elif dice < 0.75:
            self._later(60.0, lambda: self._close_lid(session))

    def _close_lid(self, session: TrueSession) -> None:
        if not session.is_counted:
            return
        self._world.service.move(session, "Disconnected")
        self._world.story.tell(session.human.nick, f"loses the connection of {session.session_id}")
        if self._world.scenario.is_still:
            return
        dice = self._chance.random()
        if dice < 0.4:
            self._later(60.0, lambda: self._resume(session))
        elif dice < 0.6:
            self._later(120.0, lambda: self._world.service.leave(session, "is timed out of"))

    def _resume(self, session: TrueSession) -> None:
        if session.status == "Disconnected" and not self._is_over():
            self._world.service.move(session, "Connected")
            self._world.story.tell(session.human.nick, f"resumes {session.session_id}")
            self._world.bus.publish(_resume_event(session, self._world.scheduler.now))

    def _killed(self, session: TrueSession) -> None:
        human = session.human
        if human.reconnects > 0 and not self._is_over() and not self._world.scenario.is_still:
            human.reconnects -= 1
            self._later(2.0, lambda: None if self._is_over() else self._open(human, session.principal))

    def _disable(self, human: Human) -> None:
        human.is_disabled = True
        self._world.story.tell("directory", f"{human.nick} is disabled")
        self._world.people_changed()

    def _later(self, mean_seconds: float, step: Any) -> None:
        self._world.scheduler.after(0.5 + self._chance.expovariate(1.0 / mean_seconds), step)

    def _is_over(self) -> bool:
        return self._world.scheduler.now >= self._world.scenario.active_seconds


def foreign_targets() -> tuple[Place, ...]:
    """Places that are not ours."""
    return FOREIGN


def _start_event(session: TrueSession) -> dict[str, Any]:
    at = session.started_at.isoformat().replace("+00:00", "Z")
    return {
        "id": f"the start of {session.session_id}",
        "detail-type": "AWS API Call via CloudTrail",
        "source": "aws.ssm",
        "time": at,
        "detail": {
            "eventName": "StartSession",
            "eventTime": at,
            "errorCode": "",
            "userIdentity": {"arn": session.principal.arn},
            "requestParameters": {
                "target": session.target,
                "documentName": "" if session.document == _SHELL else session.document,
            },
            "responseElements": {"sessionId": session.session_id},
        },
    }


def _resume_event(session: TrueSession, now: float) -> dict[str, Any]:
    at = (EPOCH + timedelta(seconds=int(now))).isoformat()
    event = _start_event(session)
    detail = {
        **event["detail"],
        "eventName": "ResumeSession",
        "eventTime": at,
        "requestParameters": {"sessionId": session.session_id},
    }
    return {**event, "id": f"the resume of {session.session_id}", "detail": detail}


def _failed_start(principal: Principal, dice: float) -> dict[str, Any]:
    """A call that was refused: no session, and null where a record otherwise holds objects."""
    at = EPOCH.isoformat()
    detail = {
        "eventName": "StartSession",
        "eventTime": at,
        "errorCode": "AccessDenied" if dice < 0.5 else "TargetNotConnected",
        "userIdentity": {"arn": principal.arn},
        "requestParameters": None,
        "responseElements": None,
    }
    return {
        "id": "a refused start",
        "detail-type": "AWS API Call via CloudTrail",
        "source": "aws.ssm",
        "detail": detail,
    }
