"""A whole people.jsonl: every line read, and what only two lines together show. Finds everything wrong at once."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from proctor.domain.identity import Identity, Person
from proctor_cli.findings import Finding, field_names, from_validation, read_json
from proctor_cli.people import IdentityLine, PersonLine

LINE_AT_MOST = 65_536
"""Bytes in one line; a person needs a few hundred."""

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")
_NAMES = field_names(PersonLine, IdentityLine)


@dataclass(frozen=True, slots=True)
class PeopleFile:
    """Line number → person for the lines without an error, and all findings in the order of lines."""

    people: Mapping[int, Person]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What has to be mended before everything can be loaded."""
        return tuple(f for f in self.findings if f.is_error)

    @property
    def bad_lines(self) -> frozenset[int]:
        """Lines with an error; 0 stands for the file itself."""
        return frozenset(f.line for f in self.errors)


def read_people(content: bytes) -> PeopleFile:
    """Read and check a whole file."""
    if content.startswith(_OTHER_BOMS):
        return PeopleFile({}, (Finding(line=0, field="file", value="UTF-16", fix="save it as UTF-8"),))
    people: dict[int, Person] = {}
    findings: list[Finding] = []
    for number, raw in enumerate(content.removeprefix(_BOM).split(b"\n"), start=1):
        if line := raw.strip():
            person, wrong = _read_line(line, number)
            findings += wrong
            if person is not None:
                people[number] = person
    findings += collisions(people)
    bad = {f.line for f in findings}
    good = {number: person for number, person in people.items() if number not in bad}
    findings += [f for number, person in good.items() for f in warnings_about(person, number)]
    return PeopleFile(good, tuple(sorted(findings, key=lambda f: f.line)))


def collisions(people: Mapping[int, Person]) -> list[Finding]:
    """Lines that can't both be right; every one of them gets a finding, for none is known to be the right one."""
    return [*_same_names(people), *_same_identities(people)]


def warnings_about(person: Person, line: int) -> Iterable[Finding]:
    """What is allowed and has consequences that may not be meant."""
    if person.run_as_name is None:
        name = person.run_as if person.run_as is not None else person.login_name
        yield Finding(
            line=line,
            field="run_as",
            value=name,
            fix=f"{person.login_name} is unmapped: the SSM agent can't or may not run a shell as this name",
            is_error=False,
        )
    if not person.identities:
        yield Finding(
            line=line,
            field="identities",
            value="none",
            fix=f"no session will ever be known as {person.login_name}'s",
            is_error=False,
        )


def _read_line(line: bytes, number: int) -> tuple[Person | None, list[Finding]]:
    def refused(value: str, fix: str) -> tuple[None, list[Finding]]:
        return None, [Finding(line=number, field="line", value=value, fix=fix)]

    if len(line) > LINE_AT_MOST:
        return refused(f"{len(line)} bytes", f"a line has at most {LINE_AT_MOST} bytes")
    try:
        text = line.decode()
        read_json(text)
    except UnicodeDecodeError as error:
        return refused(f"byte {error.start + 1}", "save the file as UTF-8")
    except RecursionError:
        return refused("this text", "it is nested too deeply; write one flat object")
    except ValueError as error:
        return refused("this text", f"write one JSON object a line ({error})")
    try:
        return PersonLine.model_validate_json(text).person(), []
    except ValidationError as error:
        return None, from_validation(error, number, _NAMES)


def _same_names(people: Mapping[int, Person]) -> Iterable[Finding]:
    lines: dict[str, list[int]] = defaultdict(list)
    for number, person in people.items():
        lines[person.login_name.casefold()].append(number)
    for numbers in lines.values():
        for number in numbers if len(numbers) > 1 else ():
            name = people[number].login_name
            fix = f"{_others(numbers, number)} the same name, or differ by case only; one person, one line"
            yield Finding(line=number, field="login_name", value=name, fix=fix)


def _same_identities(people: Mapping[int, Person]) -> Iterable[Finding]:
    by_name: dict[tuple[str, str], list[tuple[int, Identity]]] = defaultdict(list)
    for number, person in people.items():
        for identity in person.identities:
            by_name[identity.kind.value, identity.value.casefold()].append((number, identity))
    for holders in by_name.values():
        for number, identity in holders:
            rivals = [n for n, other in holders if n != number and _overlap(identity, other)]
            if rivals:
                account = identity.account_id or "any account"
                fix = f"{_others(rivals, number)} it too; one identity, one person, whatever the case of letters"
                value = f"{identity.kind.value} {identity.value} ({account})"
                yield Finding(line=number, field="identities", value=value, fix=fix)


def _overlap(one: Identity, other: Identity) -> bool:
    """Whether a session could be found under both: the same account, or one of them stands for any."""
    return one.account_id is None or other.account_id is None or one.account_id == other.account_id


def _others(numbers: list[int], number: int) -> str:
    others = sorted({n for n in numbers if n != number})
    named = ", ".join(map(str, others[:5])) + (" …" if len(others) > 5 else "")
    return f"line {named} has" if len(others) == 1 else f"lines {named} have"
