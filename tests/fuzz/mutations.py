"""Hostile events made from real ones: structure-aware changes of the samples, and raw text that is no event at all."""

import copy
import json
import random
from collections.abc import Sequence
from typing import Any

_ODD_TEXTS = (
    "",
    " ",
    "\x00",
    "\u202eadmin",
    "\ud800",
    "\uff41\uff44\uff41",
    "../../etc/passwd",
    "'; DROP TABLE people; --",
    "${aws:userid}",
    "i-" + "0" * 17,
    "sagemaker-cluster:abcdef012345_login-i-0123456789abcdef0",
    "arn:aws:iam::123456789012:root",
    "arn:aws:sts::123456789012:assumed-role//",
    "2026-13-45T99:99:99Z",
    "9999-12-31T23:59:59-23:59",
    "StartSession\n",
    "A" * 5000,
)
_ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    1e308,
    float("nan"),
    [],
    {},
    [[]],
    {"": ""},
    *_ODD_TEXTS,
)


def hostile_body(chance: random.Random, samples: Sequence[Any]) -> str:
    """One queue body: a changed sample four times out of five, else raw text."""
    if chance.random() < 0.2:
        return raw_text(chance, samples)
    event = copy.deepcopy(chance.choice(samples))
    for _ in range(chance.randint(1, 4)):
        event = changed(chance, event)
    return json.dumps(event, ensure_ascii=chance.random() < 0.5)


def changed(chance: random.Random, event: Any) -> Any:
    """The event with one place changed: replaced, removed, doubled, renamed, nested or cut."""
    places = list(_places(event))
    if not places:
        return chance.choice(_ODD_VALUES)
    holder, key = chance.choice(places)
    match chance.randrange(6):
        case 0:
            holder[key] = chance.choice(_ODD_VALUES)
        case 1:
            del holder[key]
        case 2:
            holder[key] = [holder[key], holder[key]]
        case 3 if isinstance(holder, dict):
            holder[str(key).upper() if chance.random() < 0.5 else f" {key}"] = holder.pop(key)
        case 4:
            holder[key] = {"detail": holder[key]}
        case _:
            value = holder[key]
            holder[key] = value[: len(value) // 2] if isinstance(value, str) else chance.choice(_ODD_TEXTS)
    return event


def raw_text(chance: random.Random, samples: Sequence[Any]) -> str:
    """Text that JSON or common sense refuses: cut, garbled, nested without end, or simply something else."""
    whole = json.dumps(chance.choice(samples))
    match chance.randrange(7):
        case 0:
            return whole[: chance.randrange(len(whole))]
        case 1:
            spot = chance.randrange(len(whole))
            return whole[:spot] + chr(chance.randrange(1, 0x2FFF)) + whole[spot + 1 :]
        case 2:
            return "[" * chance.choice((10, 1000, 50_000))
        case 3:
            return chance.choice(("null", "[]", "0", '"text"', "NaN", "1" * 5000, "", "{}", "\ufeff{}"))
        case 4:
            return "".join(chr(chance.randrange(32, 0x2FFF)) for _ in range(chance.randrange(200)))
        case 5:
            return whole + whole
        case _:
            return json.dumps({"Records": [json.loads(whole)]})


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a JSON value."""
    found: list[tuple[Any, Any]] = []
    keys = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    for key in keys:
        found.append((value, key))
        found += _places(value[key])
    return found
