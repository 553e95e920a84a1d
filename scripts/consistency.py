"""Fails when two lists of one thing disagree, or a module outgrows its limits. Changes nothing."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.locks import lock_problems
from scripts.sizes import size_problems

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("agent", "benchmarks", "cli", "functions", "layers", "lifecycle", "local", "scripts", "tests")


def package_problems(root: Path) -> Iterator[str]:
    """Every package is on mypy's list, and every one with import rules on import-linter's."""
    tool = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    typed = set(tool["mypy"]["packages"])
    linted = set(tool["importlinter"]["root_packages"])
    listing = "pyproject.toml: {} lacks {!r} ({})".format
    for folder in ("layers/proctor", "functions", "agent", "cli", "local"):
        for package in sorted(path.parent.name for path in (root / folder).glob("*/__init__.py")):
            if package not in typed:
                yield listing("tool.mypy.packages", package, folder)
            if folder not in {"cli", "local"} and package not in linted:
                yield listing("tool.importlinter.root_packages", package, folder)
            if folder == "functions":
                yield from (
                    listing(contract, package, folder) for contract in contracts_without(tool, package)
                )


def contracts_without(tool: dict[str, Any], function: str) -> Iterator[str]:
    """The contracts that list every function by name and lack this one."""
    for contract in tool["importlinter"]["contracts"]:
        sources = contract.get("source_modules", [])
        by_name = "=" in contract.get("allowed_modules", []) and not any("*" in name for name in sources)
        if by_name and function not in sources:
            yield f"the import contract {contract['name']!r}"


def main() -> int:
    """Print every problem; the exit code is 1 when there is one."""
    problems = [
        *package_problems(ROOT),
        *lock_problems(ROOT),
        *size_problems(ROOT, SOURCES),
    ]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
