"""`proctor policy check`: validates a policy file offline, with the very parser that the function uses."""

import argparse
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from proctor_cli.exits import Exit
from proctor_cli.findings import Finding, from_validation, read_json
from proctor_cli.governed import governed
from proctor_cli.parameters import POLICY_AT_MOST
from proctor_cli.people_commands import read_file
from proctor_cli.world import World

_BOM = b"\xef\xbb\xbf"


def run(args: argparse.Namespace, world: World) -> Exit:
    """Print every finding; the exit code is 1 when there is one."""
    function = governed(args.function)
    found = findings(read_file(args.file), function.policy)
    verdict = "valid" if not found else f"{len(found)} finding(s); the function would refuse it"
    data = {"file": args.file, "function": function.name, "findings": [f.as_record() for f in found]}
    lines = [f"{args.file}: {verdict}", *map(str, found)]
    world.console.answer(data, "\n".join(lines))
    return Exit.FAILED if found else Exit.OK


def findings(content: bytes, policy: type[Any]) -> list[Finding]:
    """Everything wrong with a policy text, or with any other parameter's."""
    try:
        text = content.decode("utf-8-sig")
        read_json(text)
    except (ValueError, RecursionError) as error:
        fix = f"write one valid JSON object in UTF-8 ({error})"
        return [Finding(line=0, field="document", value="this text", fix=fix)]
    found = []
    if content.startswith(_BOM):
        found.append(
            Finding(line=0, field="document", value="a byte order mark", fix="save it as UTF-8 without BOM")
        )
    size = len(text.encode())
    if size > POLICY_AT_MOST:
        fix = f"shorten it to {POLICY_AT_MOST} bytes, the size of a parameter"
        found.append(Finding(line=0, field="document", value=f"{size} bytes", fix=fix))
    try:
        TypeAdapter(policy).validate_json(text)
    except ValidationError as error:
        found += from_validation(error, known=policy_names(policy))
    return found


def policy_names(policy: Any) -> Iterable[str]:
    """Every field name of a policy and of what is inside it."""
    if not is_dataclass(policy):
        return
    hints = get_type_hints(policy)
    for item in fields(policy):
        yield item.name
        for inner in (hints[item.name], *get_args(hints[item.name])):
            yield from policy_names(inner)
