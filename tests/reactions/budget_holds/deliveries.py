"""Events as they come, and a world with one department."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.budget_world import BudgetWorld

EVENTS = Path(__file__).parents[3] / "events" / "budget_holds"
LAB1 = {"account": "lab1", "allocation": {"limit": 1000}, "owner": "ada"}
USAGE = {"source": "proctor.observed", "detail": {"cluster": "alpha", "kind": "usage"}}


def sample(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((EVENTS / name).read_text(encoding="utf-8"))
    return loaded


def message(name: str) -> dict[str, Any]:
    text = f"AWS Budget Notification\nAWS Account 123456789012\n\nBudget Name: {name}\n"
    return {"Type": "Notification", "Message": text}


def mails(world: BudgetWorld, who: str) -> list[str]:
    return [m.headline for m in world.mail.sent if m.email == f"{who}@uni.example"]


def lab1(**fields: Any) -> BudgetWorld:
    world = BudgetWorld(**fields)
    world.define("lab1", LAB1)
    return world
