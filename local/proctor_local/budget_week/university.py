"""The university: local AWS, Proctor's stack, AWS budgets, and a real Slurm with the agent where Slurm can run."""

import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from proctor_local.aws_client import AwsError
from proctor_local.budget_week import cast
from proctor_local.budget_week.agent import Agent
from proctor_local.budget_week.book import Book
from proctor_local.budget_week.watcher import Watcher
from proctor_local.control import LocalAwsClient, wait_until
from proctor_local.deploy import deploy
from proctor_local.deployed import DeployedStack, seed_sender
from proctor_local.deployed_function import (
    DeployedFunction,
    agent_reports,
    budget_holds,
    put_parameter,
    version_in_force,
)
from proctor_local.exam_week.log import Log
from proctor_local.identities import Identities
from proctor_slurm import SlurmStack, ensure_installed

STACK = "proctor"
CONTROLLER_ROLE, NODE_ROLE = "HyperPodController", "HyperPodNodes"
_SHOWN_LINES = 16
_POLICY_PARAMETER = f"/proctor/{cast.CLUSTER}/budget_holds"
_NOTHING = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Deny", "Action": "iam:*", "Resource": "*"}],
}


class University:
    """Everything a scene needs. `slurm` and `agent` are None where Slurm can't run."""

    stack: DeployedStack
    holds: DeployedFunction
    reports: DeployedFunction
    watcher: Watcher

    def __init__(self, local: LocalAwsClient, log: Log) -> None:
        self.local, self.log, self.book = local, log, Book(log)
        self.slurm: SlurmStack | None = None
        self.agent: Agent | None = None
        self.why_no_slurm, self._is_watched = "", False

    # bringing it up

    def open(self, template: Path, architecture: str) -> None:
        """Cluster, roles, stack, Slurm, people, policy, AWS budget, agent: the order in which a team would do it."""
        with ThreadPoolExecutor(1, "budget-week-slurm") as pool:
            starting = pool.submit(self._start_slurm)
            try:
                self._deploy(template, architecture)
            finally:
                starting.result()
        if self.slurm is not None:
            self.log.say("Slurm", f"is up: {self.slurm.run('sinfo', '-h', '-o', '%P %D nodes').strip()!r}")
        else:
            self.log.say("Slurm", f"{self.why_no_slurm}; only what happens in AWS is played")
        self._load()
        self.make_aws_budget(cast.AWS_BUDGET, cast.LINGUISTICS)
        self._start_agent()

    def close(self) -> None:
        """End the log's reader, Slurm, its jobs and the agent."""
        if self._is_watched:
            self.watcher.stop()
        if self.slurm is not None:
            self.slurm.stop()

    def _start_slurm(self) -> None:
        found = ensure_installed()
        if not found.is_available:
            self.why_no_slurm = found.reason
            return
        slurm = SlurmStack(cast.SHAPE)
        slurm.start()
        self.slurm = slurm
        add = ("sacctmgr", "-i", "-Q", "add")
        for account, parent in cast.ACCOUNTS.items():
            slurm.run(*add, "account", account, f"parent={parent}", f"cluster={cast.CLUSTER}")
            login_name = self.submitter(account) or slurm.layout.os_login_name
            slurm.run(*add, "user", login_name, f"account={account}")

    def _deploy(self, template: Path, architecture: str) -> None:
        local, identities = self.local, Identities(self.local)
        local.settings(parameter_event_delay_seconds=0.0, budget_message_delay_seconds=0.0)
        roles = [identities.role(name, _NOTHING) for name in (CONTROLLER_ROLE, NODE_ROLE)]
        self.controller_role_arn = roles[0]
        cluster = local.seed_cluster(cast.CLUSTER, cast.HYPERPOD)
        self.controller: Mapping[str, Any] = next(
            n for n in cluster["nodes"] if n["instance_group_name"] == cast.CONTROLLER_GROUP
        )
        seed_sender(local, cast.SENDER)
        parameters = {
            "ClusterName": cast.CLUSTER,
            "ApplyActions": "true",
            "Sender": cast.SENDER,
            "Architecture": architecture,
            "ControllerRoleArn": roles[0],
            "NodeRoleArn": roles[1],
        }
        outputs = deploy(local, template, STACK, parameters, lambda text: self.log.say("deploy", text))
        for role, policy in ((CONTROLLER_ROLE, "Controller"), (NODE_ROLE, "Node")):
            local.aws().query(
                "iam", "AttachRolePolicy", RoleName=role, PolicyArn=outputs[f"{policy}AgentPolicyArn"]
            )
        self.stack = DeployedStack(local, STACK, outputs)
        self.holds, self.reports = budget_holds(self.stack), agent_reports(self.stack)
        self.watcher = Watcher(self.stack, self.log, self.book)
        self.watcher.start()
        self._is_watched = True

    def _load(self) -> None:
        people = Path(self.local.workers()["workspace"]) / "people.jsonl"
        people.write_text(cast.people_lines(), encoding="utf-8")
        self.log.say("cloud team", "$ proctor people load people.jsonl")
        self.stack.proctor("people", "load", str(people))
        self.write(
            {
                _POLICY_PARAMETER: cast.POLICY,
                f"{_POLICY_PARAMETER}/{cast.LINGUISTICS}": cast.LINGUISTICS_BUDGET,
            }
        )

    def make_aws_budget(self, name: str, department: str) -> None:
        """An AWS budget over what a department alone uses, with its notifications to Proctor's topic."""
        topic = self.stack.outputs["BudgetsTopicArn"]
        notifications = [
            {
                "Notification": {
                    "NotificationType": "ACTUAL",
                    "ComparisonOperator": "GREATER_THAN",
                    "Threshold": threshold,
                    "ThresholdType": "PERCENTAGE",
                },
                "Subscribers": [{"SubscriptionType": "SNS", "Address": topic}],
            }
            for threshold in cast.THRESHOLDS
        ]
        budget = {
            "BudgetName": name,
            "BudgetLimit": {"Amount": str(cast.LIMIT_USD), "Unit": "USD"},
            "TimeUnit": "MONTHLY",
            "BudgetType": "COST",
            "CostTypes": {"IncludeCredit": False, "IncludeRefund": False},
            "CostFilters": {"TagKeyValue": [f"user:Department${department}"]},
        }
        self.local.aws().call(
            "budgets",
            "CreateBudget",
            AccountId=self.local.account,
            Budget=budget,
            NotificationsWithSubscribers=notifications,
        )
        self.log.say("cloud team", f"makes the AWS budget {name}: ${cast.LIMIT_USD:,} a month")

    def _start_agent(self) -> None:
        if self.slurm is None:
            return
        self.agent = Agent(
            self.local, self.slurm, self.stack.outputs, self.controller, self.controller_role_arn
        )
        self.agent.install()
        self.agent.enrol()
        self.log.say("admin", "$ install-agent.sh: the bundle of `make agent`, its key made and sent")
        with self.log.waiting("until the agent is enrolled"):
            wait_until(lambda: self.stack.rows("Agents"), 30, what="the agent's enrolment")
        self.agent.start()
        with self.log.waiting("until the agent has reported"):
            wait_until(
                lambda: any(row.get("slurm_read_at") for row in self.observed("heartbeat")),
                30,
                what="its first whole report",
            )
        self.log.say("agent", f"has enrolled as {self.controller['instance_id']} and reported what it sees")

    # money

    def write(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Write policies and definitions and wait until budget_holds has put them in force."""
        versions = {name: put_parameter(self.stack, name, value) for name, value in values.items()}
        for name in versions:
            self.log.say("cloud team", f"writes {name}")
        with self.log.waiting("until that is in force"):
            wait_until(
                lambda: all(version_in_force(self.stack, n) == v for n, v in versions.items()),
                30,
                what="the versions in force",
            )

    def define(self, budget: str, definition: Mapping[str, Any]) -> None:
        """Define one budget. Functions keep definitions for a minute; fresh copies read the new one at once."""
        self.write({f"{_POLICY_PARAMETER}/{budget}": definition})
        self.holds.recycle()

    def look(self, budget: str) -> None:
        """An operator asks about one budget: a dry run, so nothing is done."""
        answer = self.holds.invoke(
            {
                "source": "proctor.manual",
                "requested_by": "admin@uni.example",
                "justification": "how does it stand?",
                "scope": {"kind": "budget", "id": budget},
            }
        )
        found = [o for o in answer.get("outcomes", ()) if str(o["subject"]).startswith("budget#")]
        self.log.say("Proctor", f"says when asked: {found[0].get('text') if found else answer}", "proctor")

    # looking

    def observed(self, section: str) -> list[dict[str, Any]]:
        """What the agent has reported of a section."""
        scope = f"{cast.CLUSTER}#{section}"
        return [row for row in self.stack.rows("Observed") if row["scope"] == scope]

    def intent(self, sort_key: str) -> dict[str, Any]:
        """An intent as it is stored; empty when there is none."""
        return next((row for row in self.stack.rows("Intents") if row["sk"] == sort_key), {})

    def happens(self, probe: Callable[[], object], seconds: float = 15.0) -> bool:
        """Whether something comes true in time."""
        try:
            wait_until(probe, seconds, every=0.05)
        except TimeoutError:
            return False
        return True

    def settle(self, seconds: float = 30.0) -> None:
        """Wait until nothing waits for the two functions and neither is at work."""
        with self.log.waiting("until the queues are empty"):
            if not self.happens(lambda: self.holds.is_idle() and self.reports.is_idle(), seconds):
                self.book.wrong(
                    f"the queues still hold {self.holds.depth()} and {self.reports.depth()} messages"
                )
        self.watcher.look()

    def submitter(self, account: str) -> str | None:
        """Who submits the account's jobs; None for whoever runs this, the only one a plain user can be."""
        is_root = self.slurm is not None and self.slurm.layout.os_login_name == "root"
        return cast.MEMBERS[account] if is_root else None

    def proctor(self, *arguments: str) -> str:
        """`proctor`, shown with what it answered; empty when it could not."""
        self.log.say("admin", f"$ proctor {' '.join(f'"{a}"' if ' ' in a else a for a in arguments)}")
        try:
            answer = self.stack.proctor(*arguments)
        except (AwsError, RuntimeError, subprocess.SubprocessError) as error:
            self.book.wrong(f"proctor {' '.join(arguments)}: {error}")
            return ""
        lines = answer.strip().splitlines()
        for line in lines[:_SHOWN_LINES]:
            self.log.note(line)
        if len(lines) > _SHOWN_LINES:
            self.log.note(f"… and {len(lines) - _SHOWN_LINES} more lines")
        return answer
