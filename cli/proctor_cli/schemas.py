"""JSON Schemas for editors, into docs/schema: policies, a budget's definition, a line of people.jsonl, a manual request.

The types validate; the words that dataclasses can't carry stand in `schema_texts`. Run as `python -m proctor_cli.schemas`.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_reports.policy import AgentReportsPolicy
from budget_holds.definition import BudgetDefinition
from budget_holds.policy import BudgetHoldsPolicy
from proctor.wire.manual import ManualRequest
from proctor.wire.policy import json_schema
from proctor_cli.people import PersonLine
from proctor_cli.schema_texts import TEXTS as SESSION_TEXTS
from proctor_cli.schema_texts_budgets import TEXTS as BUDGET_TEXTS
from session_limits.policy import SessionLimitsPolicy

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schema"
TEXTS = {**SESSION_TEXTS, **BUDGET_TEXTS}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, str]:
    """File name → text of every schema."""
    found = {
        "session_limits.json": ("SessionLimitsPolicy", json_schema(SessionLimitsPolicy)),
        "budget_holds.json": ("BudgetHoldsPolicy", json_schema(BudgetHoldsPolicy)),
        "budget.json": ("BudgetDefinition", json_schema(BudgetDefinition)),
        "agent_reports.json": ("AgentReportsPolicy", json_schema(AgentReportsPolicy)),
        "people.json": ("PersonLine", PersonLine.model_json_schema()),
        "manual.json": ("ManualRequest", ManualRequest.model_json_schema()),
    }
    return {
        name: json.dumps({"$schema": _DIALECT, **described(root, schema)}, indent=2, ensure_ascii=False)
        + "\n"
        for name, (root, schema) in found.items()
    }


def described(root: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with a description on every field, and bounds where the type states them in code only."""
    made = _object(root, schema)
    made["title"] = root
    if "$defs" in schema:
        made["$defs"] = {name: _object(name, part) for name, part in schema["$defs"].items()}
    return made


def _object(owner: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in schema.items() if name != "title"}
    if "description" in made:
        made["description"] = " ".join(made["description"].split())
    if "properties" in made:
        made["properties"] = {
            name: _property(f"{owner}.{name}", part) for name, part in made["properties"].items()
        }
    return made


def _property(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in schema.items() if key != "title"}
    text, bounds = TEXTS.get(name, (None, {}))
    if text is not None:
        made["description"] = text
    return {
        key: value for key, value in (made | dict(bounds)).items() if value is not None or key == "default"
    }


def main() -> int:
    """Write the files that differ; `--check` writes nothing and exits with 1 when one does."""
    is_check = sys.argv[1:] == ["--check"]
    stale = []
    for name, text in schemas().items():
        path = FOLDER / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if not is_check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    for name in stale:
        print(f"docs/schema/{name}: {'differs; run make schemas' if is_check else 'written'}")
    return 1 if is_check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
