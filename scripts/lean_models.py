"""`lean_models.py DATA OPERATIONS` takes out of botocore's data in a layer what every cold start would parse and nobody read.

OPERATIONS is layers/dependencies/botocore-operations.txt. Of each service there the listed operations stay, with every shape
that they reach, errors too, as they are but without their documentation: so every call still works and is still validated.
`endpoints.json` keeps the services whose descriptions are there. What is left is stored plain, since unpacking costs more than
reading.
"""

import gzip
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def kept_operations(text: str) -> dict[str, frozenset[str]]:
    """Service → operations as the API names them. Raises ValueError for a line that is not `service: Operation ...`."""
    kept: dict[str, frozenset[str]] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        service, colon, names = line.partition(":")
        if not colon or not names.split() or service in kept:
            message = f"{line!r}: write each service once, as `service: Operation Operation`"
            raise ValueError(message)
        kept[service] = frozenset(names.split())
    return kept


def lean(value: Any) -> Any:
    """The same description without its `documentation` texts; a member that is itself named so stays, being no text."""
    if isinstance(value, dict):
        return {k: lean(v) for k, v in value.items() if not (k == "documentation" and isinstance(v, str))}
    if isinstance(value, list):
        return [lean(item) for item in value]
    return value


def with_operations(description: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """A `service-2.json` with the named operations and the shapes they reach. Raises KeyError for a name it doesn't know."""
    operations = {name: description["operations"][name] for name in sorted(names)}
    shapes, reached = description["shapes"], set[str]()
    waiting = list(_shape_names(operations))
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _shape_names(shapes[name])
    kept = {name: shape for name, shape in shapes.items() if name in reached}
    return {**description, "operations": operations, "shapes": kept}


def _shape_names(value: Any) -> Iterator[str]:
    """Every `{"shape": "Name"}` below; a member that is itself named `shape` is an object, not a name."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "shape" and isinstance(item, str):
                yield item
            else:
                yield from _shape_names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _shape_names(item)


def kept_endpoints(endpoints: dict[str, Any], services: set[str]) -> dict[str, Any]:
    """`endpoints.json` with the given services only; partitions, Regions and defaults stay."""
    for partition in endpoints["partitions"]:
        partition["services"] = {k: v for k, v in partition["services"].items() if k in services}
    return endpoints


def endpoint_prefixes(data: Path) -> set[str]:
    """The names under which `endpoints.json` knows the services whose descriptions are there."""
    found: set[str] = set()
    for path in data.glob("*/*/service-2.json"):
        metadata = json.loads(path.read_text())["metadata"]
        found |= {path.parts[-3], metadata["endpointPrefix"]}
    return found


def write(path: Path, value: Any) -> None:
    """Short JSON."""
    path.write_text(json.dumps(value, separators=(",", ":")))


def main(data: Path, operations: Path) -> None:
    """Rewrite the newest description of each service, then the endpoints."""
    kept = kept_operations(operations.read_text())
    for service in kept:
        for older in sorted(data.glob(f"{service}/*/"))[:-1]:
            shutil.rmtree(older)
    for path in sorted(data.rglob("*.json.gz")):
        value = lean(json.loads(gzip.decompress(path.read_bytes())))
        if path.name == "service-2.json.gz":
            value = with_operations(value, kept[path.parts[-3]])
        write(path.with_suffix(""), value)
        path.unlink()
    endpoints = data / "endpoints.json"
    write(endpoints, kept_endpoints(json.loads(endpoints.read_text()), endpoint_prefixes(data)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
