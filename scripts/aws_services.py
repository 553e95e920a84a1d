"""The AWS services that the code asks boto3 for, against those whose descriptions the layer keeps."""

import ast
from collections.abc import Iterator
from pathlib import Path

KEPT = "layers/dependencies/botocore-services.txt"


def service_problems(root: Path) -> Iterator[str]:
    """Every service that a function asks for has its description in the layer."""
    kept = {line for line in (root / KEPT).read_text().splitlines() if line and not line.startswith("#")}
    for folder in ("functions", "layers"):
        for path in sorted((root / folder).rglob("*.py")):
            for service in sorted(client_names(path.read_text()) - kept):
                yield f"{path.relative_to(root)}: client({service!r}) isn't in {KEPT}"


def client_names(text: str) -> set[str]:
    """The names in `client("ssm")` calls, whatever the object: a Session, a lazy factory."""
    return {
        node.args[0].value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id)
        in {"client", "create_client"}
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }
