"""What a load would change: rows to put and keys to remove, from the people wanted and the rows present."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from proctor.adapters.people_table import person_of, record_of
from proctor.domain.identity import Person
from proctor_cli.exits import RefusedError
from proctor_cli.people_file import PeopleFile, collisions

MAX_SHRINK_PERCENT = 20
"""A file that removes more of the present people than this is taken for a broken export."""

_PERSON = "person#"
_ROWS_AT_ONCE = 500

type Rows = Mapping[str, Mapping[str, Any]]


class PeopleWriter(Protocol):
    """The writing side of the people directory."""

    def write(self, puts: Mapping[str, Person], deletes: Iterable[str]) -> None:
        """Write rows and remove keys."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The difference. `changed` says which fields; `kept` are present people whose line is bad or may be."""

    present: int
    wanted: int
    added: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    puts: Mapping[str, Person]
    deletes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the table is as wanted already."""
        return not self.puts and not self.deletes

    def as_record(self) -> dict[str, object]:
        """For programs."""
        return {
            "present": self.present,
            "wanted": self.wanted,
            "added": list(self.added),
            "changed": {name: list(names) for name, names in self.changed.items()},
            "removed": list(self.removed),
            "kept": list(self.kept),
            "rows_to_put": len(self.puts),
            "rows_to_remove": len(self.deletes),
        }


def rows_of(person: Person) -> dict[str, Person]:
    """Every key under which a person stands in the directory."""
    return {f"{_PERSON}{person.login_name}": person, **{i.key: person for i in person.identities}}


def plan_load(file: PeopleFile, present: Rows) -> Plan:
    """Compare records, not only keys, so that a second load writes nothing.

    While any line is bad nobody is removed: whoever is missing from the good lines may stand on a bad one.
    """
    wanted = {person.login_name: person for person in file.people.values()}
    there = {key.removeprefix(_PERSON): row for key, row in present.items() if key.startswith(_PERSON)}
    missing = tuple(sorted(there.keys() - wanted.keys()))
    kept = missing if file.errors else ()
    rows = {key: p for person in wanted.values() for key, p in rows_of(person).items()}
    _refuse_taken(wanted, [there[name] for name in kept if there[name]])
    puts = {key: p for key, p in rows.items() if present.get(key) != record_of(p)}
    deletes = tuple(
        sorted(key for key, row in present.items() if key not in rows and row.get("login_name") not in kept)
    )
    touched = {p.login_name for p in puts.values()} | {str(present[k].get("login_name")) for k in deletes}
    changed = {
        name: _changed_fields(there[name], wanted[name])
        for name in sorted(touched & wanted.keys() & there.keys())
    }
    return Plan(
        present=len(there),
        wanted=len(wanted),
        added=tuple(sorted(wanted.keys() - there.keys())),
        changed=changed,
        removed=() if kept else missing,
        kept=kept,
        puts=puts,
        deletes=deletes,
    )


def check_shrink(plan: Plan, *, is_allowed: bool) -> None:
    """Refuse a file that removes too many. Raises RefusedError that says how to go on."""
    if is_allowed or not plan.removed or 100 * len(plan.removed) <= MAX_SHRINK_PERCENT * plan.present:
        return
    raise RefusedError(
        f"file: it removes {len(plan.removed)} of {plan.present} people, more than {MAX_SHRINK_PERCENT} %; "
        "check the export, and give --allow-shrink if that is meant"
    )


def write(plan: Plan, table: PeopleWriter, progress: Callable[[int, int], None]) -> None:
    """Put first, remove last: a load that breaks off leaves too much, and the next one ends it."""
    puts, total = list(plan.puts.items()), len(plan.puts) + len(plan.deletes)
    done = 0
    for start in range(0, len(puts), _ROWS_AT_ONCE):
        part = dict(puts[start : start + _ROWS_AT_ONCE])
        table.write(part, ())
        done += len(part)
        progress(done, total)
    for start in range(0, len(plan.deletes), _ROWS_AT_ONCE):
        keys = plan.deletes[start : start + _ROWS_AT_ONCE]
        table.write({}, keys)
        done += len(keys)
        progress(done, total)


def _refuse_taken(wanted: Mapping[str, Person], kept: Collection[Mapping[str, Any]]) -> None:
    """A good line must not take the name or identity of somebody who stays only because a line is bad."""
    numbered = dict(enumerate([*wanted.values(), *map(person_of, kept)], start=1))
    taken = [f for f in collisions(numbered) if f.line <= len(wanted)]
    if taken:
        named = sorted({numbered[f.line].login_name for f in taken})
        raise RefusedError(
            f"{taken[0].field}: {taken[0].value} of {', '.join(named)} belongs to somebody in the directory whose line "
            "may be bad; mend the bad lines first"
        )


def _changed_fields(old: Mapping[str, Any], person: Person) -> tuple[str, ...]:
    new = record_of(person)
    names = [name for name in new if old.get(name) != new[name]]
    return tuple(names) or ("rows",)
