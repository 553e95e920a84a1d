"""`proctor people load` and `proctor people show`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from proctor.adapters.people_table import record_of
from proctor.domain.errors import NotFoundError
from proctor.domain.identity import Person
from proctor_cli.console import Console, fields, table
from proctor_cli.exits import Exit, UsageError
from proctor_cli.findings import Finding
from proctor_cli.people_file import PeopleFile, read_people, warnings_about
from proctor_cli.people_plan import Plan, check_shrink, plan_load, write
from proctor_cli.world import World

_NAMES_SHOWN = 8
_FINDINGS_SHOWN = 50
FILE_AT_MOST = 64 * 1024 * 1024


def load(args: argparse.Namespace, world: World) -> Exit:
    """Make the people directory equal to a file."""
    file = read_people(read_file(args.file))
    if file.errors and (not args.skip_bad or not file.people):
        _report(world.console, args.file, file, None, "Nothing was written: mend these lines first.")
        return Exit.FAILED
    plan = plan_load(file, world.people.rows())
    check_shrink(plan, is_allowed=args.allow_shrink)
    if args.dry_run:
        ending = "Nothing was written: this is a dry run."
    elif plan.is_empty:
        ending = "Nothing to write: the directory holds these people already."
    else:
        _write(plan, world)
        ending = f"Written: {len(plan.puts)} rows put, {len(plan.deletes)} removed."
    _report(world.console, args.file, file, plan, ending)
    return Exit.FAILED if file.errors else Exit.OK


def show(args: argparse.Namespace, world: World) -> Exit:
    """One person of the directory."""
    person = world.people.by_login_name(args.login_name)
    if person is None:
        raise NotFoundError(f"login_name: {args.login_name!r} is not in the people directory")
    warnings = list(warnings_about(person, 0))
    record = {**record_of(person), "run_as_name": person.run_as_name}
    world.console.answer({**record, "warnings": [str(w) for w in warnings]}, _person_text(person, warnings))
    return Exit.OK


def read_file(name: str) -> bytes:
    """A file's bytes. Raises UsageError when it can't be read or is larger than 64 MB."""
    path = Path(name)
    try:
        if path.stat().st_size > FILE_AT_MOST:
            raise UsageError("file", name, "it is larger than 64 MB")
        return path.read_bytes()
    except OSError as error:
        raise UsageError("file", name, f"name a readable file ({error.strerror})") from None


def person_fields(person: Person) -> list[tuple[str, object]]:
    """The person's fields but for the identities."""
    return [
        ("login_name", person.login_name),
        ("email", person.email),
        ("time_zone", person.time_zone),
        ("groups", ", ".join(sorted(person.groups))),
        ("run_as", person.run_as_name or "unmapped"),
        ("disabled", person.is_disabled),
        ("break-glass", person.is_break_glass),
    ]


def _person_text(person: Person, warnings: Sequence[Finding]) -> str:
    rows = [
        (i.kind.value, i.value, i.account_id or "any", ", ".join(i.roles) or "trusted_roles of the policy")
        for i in person.identities
    ]
    parts = [fields(person_fields(person)), "", table(("KIND", "NAME", "ACCOUNT", "ROLES"), rows)]
    return "\n".join([*parts, *(str(w) for w in warnings)])


def _write(plan: Plan, world: World) -> None:
    console = world.console
    write(plan, world.people, lambda done, total: console.progress(f"{done} of {total} rows"))
    console.progress_over()


def _report(console: Console, name: str, file: PeopleFile, plan: Plan | None, ending: str) -> None:
    warnings = [f for f in file.findings if not f.is_error]
    bad = len(file.bad_lines)
    lines = [f"{name}: {len(file.people)} people, {bad} bad lines, {len(warnings)} warnings"]
    lines += [str(f) for f in file.findings[:_FINDINGS_SHOWN]]
    if len(file.findings) > _FINDINGS_SHOWN:
        lines.append(f"… and {len(file.findings) - _FINDINGS_SHOWN} more; --json lists all")
    if plan is not None:
        lines += ["", _plan_text(plan), ""]
    data = {
        "file": name,
        "people": len(file.people),
        "findings": [f.as_record() for f in file.findings],
        "plan": plan.as_record() if plan else None,
        "result": ending,
    }
    console.answer(data, "\n".join([*lines, ending]))


def _plan_text(plan: Plan) -> str:
    changed = [f"{name} ({', '.join(names)})" for name, names in plan.changed.items()]
    rows = [
        ("present", plan.present, ""),
        ("added", len(plan.added), _some(plan.added)),
        ("changed", len(plan.changed), _some(changed)),
        ("removed", len(plan.removed), _some(plan.removed)),
    ]
    if plan.kept:
        rows.append(("kept", len(plan.kept), f"{_some(plan.kept)}: while a line is bad nobody is removed"))
    return table(("PEOPLE", "COUNT", "WHO"), rows)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES_SHOWN]) + (" …" if len(names) > _NAMES_SHOWN else "")
