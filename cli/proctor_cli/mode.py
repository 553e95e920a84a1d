"""`proctor mode`: one field of a policy, in a new version of its parameter; everything else in it stays as it is."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.domain.decision import Mode
from proctor.domain.errors import ContendedError, InvalidInputError, NotFoundError
from proctor.domain.policy import IN_FORCE, policy_parameter
from proctor.wire.policy import policy_parser
from proctor_cli.exits import Exit, UsageError
from proctor_cli.governed import Governed, governed
from proctor_cli.parameters import POLICY_AT_MOST, ParameterText, read_parameter, write_parameter
from proctor_cli.world import World


@dataclass(frozen=True, slots=True)
class _Base:
    """What is built on: the newest version if it is valid, else the one in force."""

    document: dict[str, Any]
    text: str
    newest: int
    note: str = ""


def run(args: argparse.Namespace, world: World) -> Exit:
    """Write the changed policy, unless it says so already."""
    function = governed(args.function)
    if args.rule is not None and args.rule not in function.rules:
        raise UsageError("--rule", args.rule, f"name one of {', '.join(function.rules)}")
    cluster = world.stack.cluster(args.cluster)
    name = policy_parameter(cluster, function.name)
    base = _base(world, function, name)
    changed = with_mode(base.document, Mode(args.mode), args.rule)
    what = f"{function.name}{f', rule {args.rule},' if args.rule else ''} on {cluster}"
    if changed == base.document and not base.note:
        version, text = base.newest, f"{what} is in mode {args.mode} already; nothing was written."
    else:
        version = _write(world, name, changed, base, function)
        text = (
            f"{what}: mode {args.mode}, in version {version} of {name}.{base.note}\n"
            "It is in force once the function has validated it, within seconds; proctor status shows it."
        )
    data = {"parameter": name, "version": version, "policy": changed, "is_written": version != base.newest}
    world.console.answer(data, "\n".join([text, *_caveats(world, args.mode, changed, args.rule)]))
    return Exit.OK


def with_mode(document: Mapping[str, Any], mode: Mode, rule: str | None) -> dict[str, Any]:
    """The policy with the function's or a rule's mode set; the order of fields stays."""
    if rule is None:
        return {**document, "mode": mode.value}
    rules = document.get("rules", {})
    return {**document, "rules": {**rules, rule: mode.value}}


def _base(world: World, function: Governed, name: str) -> _Base:
    newest = read_parameter(world.clients, name)
    if newest is None:
        raise NotFoundError(f"policy: {name} does not exist; write it first, {{}} is valid")
    problem = _problem(function, newest)
    if problem is None:
        return _Base(json.loads(newest.text), newest.text, newest.version)
    in_force = read_parameter(world.clients, name, IN_FORCE)
    if in_force is None or _problem(function, in_force) is not None:
        raise InvalidInputError(f"policy {name}", newest.version, f"mend it first: {problem}")
    note = f" It is built on version {in_force.version}, in force, since version {newest.version} is refused."
    return _Base(json.loads(in_force.text), in_force.text, newest.version, note)


def _problem(function: Governed, version: ParameterText) -> str | None:
    try:
        policy_parser(function.policy)(version.text)
    except InvalidInputError as error:
        return str(error)
    return None


def _write(world: World, name: str, document: Mapping[str, Any], base: _Base, function: Governed) -> int:
    indent = 2 if "\n" in base.text.strip() else None
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    policy_parser(function.policy)(text)
    if len(text.encode()) > POLICY_AT_MOST:
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    if len(text.encode()) > POLICY_AT_MOST:
        raise InvalidInputError(
            f"policy {name}", f"{len(text.encode())} bytes", f"shorten it to {POLICY_AT_MOST}"
        )
    current = read_parameter(world.clients, name)
    if current is None or current.version != base.newest:
        raise ContendedError(
            f"{name}: somebody else has just written it; nothing was changed, run this again"
        )
    version = write_parameter(world.clients, name, text)
    if version != base.newest + 1:
        raise ContendedError(
            f"{name}: versions {base.newest + 1} to {version - 1} were written at the same moment and version {version} "
            "does not hold their changes; compare them"
        )
    return version


def _caveats(world: World, mode: str, document: Mapping[str, Any], rule: str | None) -> list[str]:
    """What else bounds the mode, so that nobody takes `apply` for acting."""
    if mode != Mode.APPLY.value:
        return []
    found = []
    if world.stack.bound is not Mode.APPLY:
        found.append("Nothing is done yet all the same: the stack's parameter ApplyActions is false.")
    own = document.get("mode", Mode.DRY_RUN.value)
    if rule is not None and own != Mode.APPLY.value:
        found.append(
            f"Nothing is done yet all the same: the policy's own mode is {own}, and a rule can't widen it."
        )
    return found
