"""Output: tables that fit, nothing that a terminal would obey, errors in one line."""

import io
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_cli.console import Console, clean, fields, has_colour, shown_time, table

CELLS = st.text(max_size=150)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5))
def test_a_table_never_exceeds_its_width_nor_its_rows(rows: list[tuple[str, str, str]]) -> None:
    lines = table(("ONE", "TWO", "THREE"), rows).split("\n")
    assert len(lines) == len(rows) + 1
    assert max(map(len, lines)) <= 100
    assert all(line.isprintable() for line in lines)


def test_the_widest_column_is_cut_and_the_others_are_whole() -> None:
    text = table(("ID", "WHY"), [("ada-1", "x" * 200)], width=40)
    assert text.splitlines()[1] == "ada-1  " + "x" * 32 + "…"


def test_fields_go_on_under_themselves() -> None:
    text = fields([("a", "word " * 30), ("longer", None), ("yes", True)])
    assert all(len(line) <= 100 for line in text.splitlines())
    assert text.splitlines()[1].startswith("        word")
    assert text.splitlines()[-2:] == ["longer  -", "yes     yes"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("", "-"),
        (True, "yes"),
        (0, "0"),
        ("a\nb", "a b"),
        ("\x1b[31m", "?[31m"),
        ("a\u202eb", "a?b"),
    ],
)
def test_values_are_one_printable_line(value: object, text: str) -> None:
    assert clean(value) == text


def test_times_are_shown_in_utc() -> None:
    assert (
        shown_time(datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))))
        == "2026-01-02 01:04:05Z"
    )
    assert shown_time("2026-01-02T03:04:05+00:00") == "2026-01-02 03:04:05Z"
    assert (shown_time(None), shown_time("soon")) == ("-", "soon")
    assert clean(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02 00:00:00Z"


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert has_colour(Terminal())
    assert not has_colour(io.StringIO())
    assert Console(out=Terminal()).heading("x") == "\033[1mx\033[0m"
    assert Console(out=io.StringIO()).heading("x") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colour(Terminal())


def test_progress_is_for_terminals() -> None:
    quiet, terminal = io.StringIO(), Terminal()
    for stream in (quiet, terminal):
        console = Console(err=stream)
        console.progress("1 of 2")
        console.progress_over()
    assert quiet.getvalue() == ""
    assert "1 of 2" in terminal.getvalue()


def test_an_error_is_one_line_and_json_for_programs() -> None:
    plain, programs = Console(err=io.StringIO()), Console(is_json=True, err=io.StringIO())
    for console in (plain, programs):
        console.error("it\nfailed", 4)
    assert isinstance(plain.err, io.StringIO)
    assert isinstance(programs.err, io.StringIO)
    assert plain.err.getvalue() == "proctor: it failed\n"
    assert json.loads(programs.err.getvalue()) == {"error": "it\nfailed", "exit_code": 4}
