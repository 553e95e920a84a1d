"""`proctor status`: the stack, its modes, policies, queues and latest verdicts, and what needs attention."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from proctor.adapters.aws_errors import translated
from proctor.adapters.items import from_item, to_item
from proctor.domain.decision import Mode, lowest
from proctor.domain.errors import ProctorError
from proctor_cli.attention import agents_attention, budgets_attention, read_agents, read_budgets
from proctor_cli.console import clean, fields, shown_age, shown_time, table
from proctor_cli.exits import Exit, exit_of, message_of
from proctor_cli.governed import BUDGET_HOLDS, FIRST_SWEEP, FUNCTIONS, SESSION_LIMITS, Governed
from proctor_cli.tables import MEGABYTES_AT_MOST, VerdictRows
from proctor_cli.world import World


@dataclass(slots=True)
class _Report:
    """What was read, what needs attention, and what could not be read."""

    data: dict[str, Any] = field(default_factory=dict)
    attention: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    exit: Exit = Exit.OK

    def read(self, name: str, reader: Callable[[], Any]) -> None:
        """One part; a part that can't be read doesn't take the others with it."""
        try:
            self.data[name] = reader()
        except ProctorError as error:
            self.data[name] = None
            self.unread[name] = message_of(error)
            self.exit = max(self.exit, exit_of(error))


def run(args: argparse.Namespace, world: World) -> Exit:
    """Read everything and print it; the exit code is that of the worst part that could not be read."""
    del args
    stack, report = world.stack, _Report()
    report.data["stack"] = {
        "name": stack.name,
        "account_id": stack.account_id,
        "region": stack.region,
        "status": stack.status,
        "mode": stack.bound.value,
    }
    report.read("clusters", lambda: _clusters(world))
    report.read("queues", lambda: _queues(world))
    rows = VerdictRows((), is_partial=False)

    def verdicts() -> dict[str, Any]:
        nonlocal rows
        rows = world.verdicts.latest_rows()
        return _verdicts(rows)

    report.read("verdicts", verdicts)
    report.read("sweep", lambda: _sweep(world))
    report.read("agents", lambda: read_agents(world))
    report.read("budgets", lambda: read_budgets(rows.rows, world))
    if report.data["agents"] and (note := report.data["agents"]["note"]):
        report.unread["enrolled agents"] = note
        report.exit = max(report.exit, Exit.REFUSED)
    report.attention = _attention(report.data)
    data = {**report.data, "attention": report.attention, "unread": report.unread}
    world.console.answer(data, _text(report, world))
    return report.exit


def _clusters(world: World) -> list[dict[str, Any]]:
    paused = world.pause.paused_clusters()
    return [row for function in FUNCTIONS.values() for row in _policies(function, world, paused)]


def _policies(function: Governed, world: World, paused: Mapping[str, str]) -> list[dict[str, Any]]:
    """One row a cluster. A function without modes observes at its defaults where it has no policy."""
    policies = world.policies_of(function)
    in_force, found = policies.in_force(), []
    for cluster in world.stack.clusters:
        draft, policy = policies.draft(cluster), in_force.get(cluster)
        own = getattr(policy.policy, "mode", None) if policy else None
        bound = own or (Mode.OFF if function.rules else Mode.APPLY)
        rules = getattr(policy.policy, "rules", {}) if policy else {}
        found.append(
            {
                "cluster": cluster,
                "function": function.name,
                "paused": paused.get(cluster),
                "policy_mode": own.value if own else None,
                "mode": lowest(world.stack.bound, bound).value,
                "rules": {r.value: m.value for r, m in rules.items()},
                "version_in_force": policy.version if policy else None,
                "newest_version": draft.version if draft else None,
                "newest_error": draft.error if draft else None,
                "needs_policy": bool(function.rules),
            }
        )
    return found


def _queues(world: World) -> list[dict[str, Any]]:
    found = []
    for function in FUNCTIONS:
        waiting, in_flight = _depth(world, world.stack.function_output(function, "QueueUrl"))
        dead, _ = _depth(world, world.stack.function_output(function, "DeadLetterQueueUrl"))
        found.append({"function": function, "waiting": waiting, "in_flight": in_flight, "dead_letters": dead})
    return found


def _depth(world: World, url: str) -> tuple[int, int]:
    with translated("sqs:GetQueueAttributes"):
        answer = world.clients.sqs().get_queue_attributes(
            QueueUrl=url,
            AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
        )
    values: Mapping[str, str] = {str(k): v for k, v in answer["Attributes"].items()}
    return int(values["ApproximateNumberOfMessages"]), int(values["ApproximateNumberOfMessagesNotVisible"])


def _verdicts(read: VerdictRows) -> dict[str, Any]:
    by_sweep = [str(row["decided_at"]) for row in read.rows if row.get("trigger") == "Sweep"]
    return {
        "subjects": len(read.rows),
        "is_partial": read.is_partial,
        "by_outcome": dict(Counter(row["outcome"] for row in read.rows).most_common()),
        "by_reason": dict(Counter(row["reason"] for row in read.rows).most_common()),
        "newest_at": str(read.rows[0]["decided_at"]) if read.rows else None,
        "newest_by_sweep_at": max(by_sweep, default=None),
    }


def _sweep(world: World) -> dict[str, str | None]:
    with translated("dynamodb:GetItem"):
        answer = world.clients.dynamodb().get_item(
            TableName=world.stack.output("MemoryTableName"),
            Key=to_item({"scope": "mark", "subject": FIRST_SWEEP}),
        )
    row = from_item(answer.get("Item") or {})
    return {"first_at": row.get("first_at"), "last_at": row.get("last_at")}


def _attention(data: Mapping[str, Any]) -> list[str]:
    found = [line for row in data["clusters"] or () for line in _cluster_attention(row)]
    found += [
        f"{queue['function']}: {queue['dead_letters']} events could not be processed (dead letters)"
        for queue in data["queues"] or ()
        if queue["dead_letters"]
    ]
    if data["agents"] is not None:
        with_budgets = [
            row["cluster"]
            for row in data["clusters"] or ()
            if row["function"] == BUDGET_HOLDS and row["version_in_force"] is not None
        ]
        found += agents_attention(data["agents"], with_budgets)
    if data["budgets"] is not None:
        found += budgets_attention(data["budgets"])
    if data["sweep"] is not None and data["sweep"]["first_at"] is None:
        found.append("no sweep has run yet: the schedule starts within minutes of the deployment")
    return found


def _cluster_attention(row: Mapping[str, Any]) -> Iterator[str]:
    name = f"{row['cluster']}, {row['function']}"
    if row["paused"] and row["function"] == SESSION_LIMITS:
        yield f"{row['cluster']} is paused: {row['paused']}; go on with: proctor resume {row['cluster']}"
    if row["newest_error"]:
        yield f"{name}: policy version {row['newest_version']} is refused: {row['newest_error']}"
    elif row["newest_version"] != row["version_in_force"]:
        is_first = row["version_in_force"] is None and row["needs_policy"]
        until = ", so nothing is judged there: it awaits validation by the next sweep" if is_first else ""
        yield f"{name}: policy version {row['newest_version']} is not in force yet{until}"
        return
    if row["version_in_force"] is None and row["needs_policy"]:
        yield f"{name}: no policy is in force, so nothing is judged there"


def _text(report: _Report, world: World) -> str:
    heading, data = world.console.heading, report.data
    stack = data["stack"]
    parts = [
        heading("Stack"),
        fields(
            [
                ("name", f"{stack['name']} ({stack['status']})"),
                ("account, Region", f"{stack['account_id']}, {stack['region']}"),
                ("mode", _stack_mode(stack["mode"])),
            ]
        ),
    ]
    for title, name, shown in (
        ("Policies", "clusters", _clusters_text),
        ("Queues", "queues", _queues_text),
        ("Sweep", "sweep", lambda sweep: _sweep_text(sweep, data["verdicts"])),
        ("Agents", "agents", _agents_text),
        ("Latest verdicts", "verdicts", _verdicts_text),
    ):
        text = f"not read: {clean(report.unread[name])}" if name in report.unread else shown(data[name])
        parts += ["", heading(title), text]
    if "budgets" in report.unread:
        parts += ["", heading("Budgets"), f"not read: {clean(report.unread['budgets'])}"]
    parts += [
        "",
        heading("Needs attention"),
        "\n".join(f"- {clean(line)}" for line in report.attention) or "nothing",
    ]
    return "\n".join(parts)


def _stack_mode(mode: str) -> str:
    return "apply" if mode == "apply" else "dry_run: everything is decided and recorded, nothing is done"


def _clusters_text(rows: list[dict[str, Any]]) -> str:
    return table(
        ("CLUSTER", "FUNCTION", "MODE", "POLICY SAYS", "IN FORCE", "NEWEST", "PAUSED"),
        [
            (
                row["cluster"],
                row["function"],
                row["mode"],
                ", ".join([str(row["policy_mode"] or "-"), *(f"{r}: {m}" for r, m in row["rules"].items())]),
                row["version_in_force"],
                f"{row['newest_version']} refused" if row["newest_error"] else row["newest_version"],
                row["paused"] or "no",
            )
            for row in rows
        ],
    )


def _queues_text(rows: list[dict[str, Any]]) -> str:
    cells = [(r["function"], r["waiting"], r["in_flight"], r["dead_letters"]) for r in rows]
    return table(("FUNCTION", "WAITING", "IN FLIGHT", "DEAD LETTERS"), cells)


def _sweep_text(sweep: Mapping[str, Any], verdicts: Mapping[str, Any] | None) -> str:
    newest = verdicts["newest_by_sweep_at"] if verdicts else None
    return fields(
        [
            ("first ran at", shown_time(sweep["first_at"])),
            ("last ran at", shown_time(sweep["last_at"])),
            ("last changed a verdict at", shown_time(newest)),
        ]
    )


def _agents_text(agents: Mapping[str, Any]) -> str:
    controllers = [
        (
            f"controller of {row['cluster']}",
            f"{row['node'] or row['instance_id']}, reported {shown_age(timedelta(seconds=row['age_seconds']))} ago",
        )
        for row in agents["controllers"]
    ]
    shown = [("agents", agents["count"]), *controllers]
    if agents["note"]:
        shown.append(("not read", f"enrolled agents, so disputed keys are unknown: {agents['note']}"))
    return fields(shown)


def _verdicts_text(verdicts: Mapping[str, Any]) -> str:
    def counts(name: str) -> str:
        return ", ".join(f"{value} {count}" for value, count in verdicts[name].items())

    more = f" (at least: only {MEGABYTES_AT_MOST} MB were read)" if verdicts["is_partial"] else ""
    return fields(
        [
            ("subjects", f"{verdicts['subjects']}{more}"),
            ("outcomes", counts("by_outcome")),
            ("reasons", counts("by_reason")),
            ("newest at", shown_time(verdicts["newest_at"])),
        ]
    )
