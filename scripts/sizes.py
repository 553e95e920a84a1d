"""How long a module and a function may be: above that, they are split by noun."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 40


def size_problems(root: Path, folders: Iterable[str]) -> Iterator[str]:
    """Modules over 300 lines and functions over 40, docstrings not counted in functions."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text()
            name = path.relative_to(root)
            if (lines := text.count("\n")) > MAX_MODULE_LINES:
                yield f"{name}: {lines} lines, at most {MAX_MODULE_LINES}"
            for function, lines in long_functions(text):
                yield f"{name}: {function}() has {lines} lines, at most {MAX_FUNCTION_LINES}"


def long_functions(text: str) -> Iterator[tuple[str, int]]:
    """Name and length of every function that is too long, from `def` to its last line, less its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = span(node) - (
                span(node.body[0]) if ast.get_docstring(node, clean=False) is not None else 0
            )
            if lines > MAX_FUNCTION_LINES:
                yield node.name, lines


def span(node: ast.stmt) -> int:
    """Lines that a statement takes."""
    return (node.end_lineno or node.lineno) - node.lineno + 1
