"""`lean_models.py DATA` takes out of botocore's data in a layer what every cold start would parse and nobody read.

Documentation is two thirds of each service's description; operations, shapes and constraints stay as they are, so every call
still works and is still validated. `endpoints.json` keeps the services whose descriptions are there. What is left is stored
plain, since unpacking costs more than reading.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any


def lean(value: Any) -> Any:
    """The same description without its `documentation` texts; a member that is itself named so stays, being no text."""
    if isinstance(value, dict):
        return {k: lean(v) for k, v in value.items() if not (k == "documentation" and isinstance(v, str))}
    if isinstance(value, list):
        return [lean(item) for item in value]
    return value


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


def main(data: Path) -> None:
    """Rewrite the descriptions, then the endpoints."""
    for path in sorted(data.rglob("*.json.gz")):
        write(path.with_suffix(""), lean(json.loads(gzip.decompress(path.read_bytes()))))
        path.unlink()
    endpoints = data / "endpoints.json"
    write(endpoints, kept_endpoints(json.loads(endpoints.read_text()), endpoint_prefixes(data)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
