"""Builders: one budget in one cluster, judged and decided without ports."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from budget_holds.assess import Assessment, assess
from budget_holds.decide import decide
from budget_holds.definition import BudgetDefinition
from budget_holds.policy import BudgetHoldsPolicy
from budget_holds.snapshot import ClusterView, Order, Path, Situation, Snapshot
from budget_holds.states import Standing
from proctor.domain.agent_protocol import Intent
from proctor.domain.budgets_exemptions import BudgetExemption
from proctor.domain.budgets_memory import BudgetMemory
from proctor.domain.budgets_reading import BudgetAnswer
from proctor.domain.decision import Decision, Mode
from proctor.domain.policy import PolicyInForce
from proctor.domain.slurm_state import SlurmView
from proctor.wire.policy import policy_parser
from tests.fakes.budget_values import CLUSTER, NOW, POLICY, slurm

PARSE_POLICY = policy_parser(BudgetHoldsPolicy)
PARSE_BUDGET = policy_parser(BudgetDefinition)
LAB1: dict[str, Any] = {"account": "lab1", "allocation": {"limit": 1000}, "owner": "ada"}
CLOUD: dict[str, Any] = {"aws_budget": "bill", "owner": "ada"}


def policy(**fields: Any) -> BudgetHoldsPolicy:
    """The usual policy with changes."""
    return PARSE_POLICY(json.dumps({**POLICY, **fields}))


def situation(
    definition: Mapping[str, Any] = LAB1,
    *,
    name: str = "lab1",
    memory: BudgetMemory | None = None,
    answer: BudgetAnswer | None = None,
    bill: BudgetAnswer | None = None,
    order: Order | None = None,
) -> Situation:
    """One budget that is asked about."""
    return Situation(
        cluster=CLUSTER,
        name=name,
        definition=PolicyInForce(CLUSTER, 3, PARSE_BUDGET(json.dumps(definition))),
        memory=memory or BudgetMemory(),
        is_asked=True,
        answer=answer,
        bill=bill,
        order=order,
    )


def view(
    *situations: Situation,
    seen: SlurmView | None = None,
    rules: BudgetHoldsPolicy | None = None,
    intents: Mapping[str, Intent | None] | None = None,
    exemptions: Sequence[BudgetExemption] = (),
) -> ClusterView:
    """A cluster with these budgets."""
    return ClusterView(
        cluster=CLUSTER,
        policy=PolicyInForce(CLUSTER, 7, rules or policy()),
        slurm=seen or slurm(),
        intents=intents or {},
        situations=situations,
        exemptions=tuple(exemptions),
    )


def judged(cluster: ClusterView, now: datetime = NOW) -> Assessment:
    """The cluster's budgets, judged."""
    return assess(cluster, now, Mode.APPLY)


def standing(cluster: ClusterView, now: datetime = NOW) -> Standing:
    """The first budget's standing."""
    return judged(cluster, now).standings[0]


def decided(cluster: ClusterView, now: datetime = NOW, path: Path = Path.SWEEP, **fields: Any) -> Decision:
    """The whole decision about a cluster."""
    return decide(Snapshot(now=now, path=path, bound=Mode.APPLY, clusters=(cluster,), **fields))
