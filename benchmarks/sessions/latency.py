"""From StartSession to the end of the surplus session, on the deployed local stack with a CloudTrail delay of 0 s."""

import json
from pathlib import Path

from benchmarks.sessions.running import ROOT
from proctor_local.control import LocalAwsClient, running, wait_until
from proctor_local.deploy import deploy
from proctor_local.deployed import DeployedStack, seed_sender
from proctor_local.exam_week.book import percentile, seconds_to_end
from proctor_local.identities import Identities

_SENDER = "proctor@uni.example"
_WARM_UP = 5


def event_to_end(build: Path, architecture: str, ends: int = 100) -> dict[str, float]:
    """Milliseconds, p50 and p99 of `ends` surplus sessions, one at a time, warm; each by another person."""
    with running(ROOT / ".emulator/bin/python") as local:
        local.settings(trail_delay_seconds=0.0, calls_per_second={"StartSession": 1000.0})
        target = local.seed_cluster("bench", {"login": {"count": 1}})["nodes"][0]["target"]
        seed_sender(local, _SENDER)
        parameters = {
            "ClusterName": "bench",
            "ApplyActions": "true",
            "Sender": _SENDER,
            "Architecture": architecture,
        }
        stack = DeployedStack(
            local, "proctor", deploy(local, build / "template.yaml", "proctor", parameters, lambda _: None)
        )
        logins = [f"p{number:04d}" for number in range(ends + _WARM_UP)]
        _prepare(local, stack, logins)
        identities = Identities(local)
        role = identities.permission_set("HyperPod")
        surplus: list[str] = []
        for login in logins:
            person = identities.person(f"{login}@uni.example", role, run_as=login)
            person.start_session(target)
            surplus.append(person.start_session(target))
            wait_until(
                lambda: _is_ended(local, surplus[-1]), 10, every=0.05, what="the end of the surplus session"
            )
        rows = {row["session_id"]: row for row in local.sessions()}
        took = [1000 * seconds_to_end(rows[session_id]) for session_id in surplus[_WARM_UP:]]
        return {"p50_ms": percentile(took, 0.5), "p99_ms": percentile(took, 0.99)}


def _prepare(local: LocalAwsClient, stack: DeployedStack, logins: list[str]) -> None:
    lines = [
        {
            "login_name": login,
            "email": f"{login}@uni.example",
            "identities": [{"kind": "role_session", "value": f"{login}@uni.example"}],
        }
        for login in logins
    ]
    people = Path(local.workers()["workspace"]) / "people.jsonl"
    people.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    stack.proctor("people", "load", str(people))
    version = stack.put_policy("bench", {"mode": "apply", "cap": {"max_sessions": 1}})
    wait_until(lambda: stack.version_in_force("bench") == version, 20, what="the policy in force")
    stack.recycle()


def _is_ended(local: LocalAwsClient, session_id: str) -> bool:
    return any(
        r["session_id"] == session_id and r["status"] in ("Terminating", "Terminated")
        for r in local.sessions()
    )
