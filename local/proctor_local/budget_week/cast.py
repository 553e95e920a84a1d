"""Which departments there are, what their money is, and how the cluster looks."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from proctor_local.exam_week.cast import DOMAIN, SENDER
from proctor_slurm import ClusterShape, NodeGroup

CLUSTER = "alpha"
CONTROLLER_GROUP = "controller-machine"
INSTANCE_TYPE, PRICE = "ml.p5.48xlarge", "98.32"

LINGUISTICS, TRANSLATION, OPTICS, PHYSICS = "linguistics", "translation", "optics", "physics"
H100, VISION = "h100", "vision"

ACCOUNTS: Mapping[str, str] = {
    LINGUISTICS: "root",
    TRANSLATION: LINGUISTICS,
    OPTICS: "root",
    PHYSICS: "root",
}
"""Slurm account → its parent."""

MEMBERS: Mapping[str, str] = {LINGUISTICS: "games", TRANSLATION: "games", OPTICS: "news", PHYSICS: "backup"}
"""Slurm account → who submits its jobs: accounts of this machine, since Slurm starts jobs for no others."""

OWNERS: Mapping[str, str] = {LINGUISTICS: "prof.lin", OPTICS: "prof.opt"}
"""Department → who answers for its budget."""

SHAPE = ClusterShape(groups=(NodeGroup(H100, 3), NodeGroup(VISION, 4)), cluster_name=CLUSTER)

HYPERPOD: Mapping[str, Mapping[str, Any]] = {
    CONTROLLER_GROUP: {"count": 1},
    H100: {"count": 3, "type": INSTANCE_TYPE},
    VISION: {"count": 4, "type": INSTANCE_TYPE},
}

POLICY: Mapping[str, Any] = {
    "mode": "apply",
    "rates": {
        "node_hour": {INSTANCE_TYPE: PRICE},
        "partitions": dict.fromkeys(("dev", H100, VISION), INSTANCE_TYPE),
    },
    # File systems and storage cost too; without it the first days of a month allow little.
    "plausibility": {"ceiling_slack": 20000},
    "appeal": f"Write to hpc-help@{DOMAIN}.",
}

AWS_BUDGET = "dept-linguistics"
LIMIT_USD = 10_000
THRESHOLDS = (80, 100)

LINGUISTICS_BUDGET: Mapping[str, Any] = {
    "aws_budget": AWS_BUDGET,
    "account": LINGUISTICS,
    "is_only_account": True,
    "owner": OWNERS[LINGUISTICS],
}

OPTICS_LIMIT = "0.10"
"""US dollars a day: two seconds of two nodes, so that a minute shows what a day would."""


def optics_budget(ends_at: datetime) -> dict[str, Any]:
    """A daily allocation whose present period ends at a moment; it holds the department's partition."""
    return {
        "allocation": {
            "limit": OPTICS_LIMIT,
            "time_unit": "DAILY",
            "starts_at": (ends_at - timedelta(days=1)).isoformat(),
        },
        "account": OPTICS,
        "partitions": [VISION],
        "hold": {"level": "partition", "accept_collateral": True},
        "owner": OWNERS[OPTICS],
    }


def people_lines() -> str:
    """The whole people.jsonl."""
    names = sorted({*MEMBERS.values(), *OWNERS.values()})
    return "".join(f"{json.dumps(_line(name))}\n" for name in names)


def _line(login_name: str) -> dict[str, Any]:
    address = f"{login_name}@{DOMAIN}"
    return {
        "login_name": login_name,
        "identities": [{"kind": "role_session", "value": address}],
        "email": address,
    }


__all__ = ["DOMAIN", "SENDER"]
