"""Lines of people.jsonl that are refused: what is wrong, the line, the field that is named, and a part of what is said."""

import json
from typing import Any

from proctor_cli.people_file import LINE_AT_MOST


def line(login_name: str, *values: str, **more: Any) -> dict[str, Any]:
    identities = [{"kind": "role_session", "value": v} for v in values or (f"{login_name}@uni.example",)]
    return {"login_name": login_name, "identities": identities, **more}


def one(kind: str, value: str, **more: Any) -> dict[str, Any]:
    """A person with one identity."""
    return {"login_name": "ada", "identities": [{"kind": kind, "value": value, **more}]}


BAD_LINES: list[tuple[str, dict[str, Any] | str, str, str]] = [
    ("no JSON", "{", "line", "one JSON object a line"),
    ("a list", "[]", "document", "object"),
    ("a name twice", '{"login_name": "a", "login_name": "b", "identities": []}', "line", "'login_name' stands there twice"),
    ("NaN", '{"login_name": "a", "identities": [], "email": NaN}', "line", "NaN"),
    ("too deep", "[" * 30_000 + "]" * 30_000, "line", "nested too deeply"),
    ("too long", json.dumps("x" * LINE_AT_MOST), "line", f"{LINE_AT_MOST}"),
    ("no login name", {"identities": []}, "login_name", "add this field"),
    ("no identities", {"login_name": "ada"}, "identities", "add this field"),
    ("misspelt field", line("ada", timezone="UTC"), "timezone", "did you mean time_zone?"),
    ("unheard-of field", line("ada", zzz=1), "zzz", "remove it"),
    ("blank in the name", line("ada lovelace", "a@b"), "login_name", "letters, digits"),
    ("CR in the name", line("ada\r", "a@b"), "login_name", "letters, digits"),
    ("newline at the end", line("ada\n", "a@b"), "login_name", "letters, digits"),
    ("key separator", line("ada#x", "a@b"), "login_name", "letters, digits"),
    ("33 characters", line("a" * 33, "a@b"), "login_name", "up to 32"),
    ("no ASCII", line("aarsø", "a@b"), "login_name", "letters, digits"),
    ("number for a name", {"login_name": 7, "identities": []}, "login_name", "string"),
    ("text for a boolean", line("ada", is_disabled="false"), "is_disabled", "boolean"),
    ("number for a boolean", line("ada", is_break_glass=1), "is_break_glass", "boolean"),
    ("unknown kind", one("sso", "a@b"), "identities.0.kind", "'role_session' or 'iam_user'"),
    ("an ARN", line("ada", "arn:aws:iam::123456789012:user/ada"), "identities.0", "without path or ARN"),
    ("one character", line("ada", "a"), "identities.0", "2 to 64"),
    ("the same identity twice", line("ada", "a@b", "A@B"), "document", "stands there twice"),
    ("short account", one("iam_user", "a", account_id="123"), "identities.0.account_id", "12 digits"),
    ("other digits", one("iam_user", "a", account_id="\uff11" * 12), "identities.0.account_id", "12 digits"),
    ("account as a number", one("iam_user", "a", account_id=123456789012), "identities.0.account_id", "string"),
    ("role with a path", one("role_session", "ada", roles=["aws-reserved/x"]), "identities.0.roles.0", "without path"),
    ("any role", one("role_session", "ada", roles=["*"]), "identities.0.roles.0", "anybody could take the name"),
    ("roles of an IAM user", one("iam_user", "ada", roles=["Lab_*"]), "identities.0", "an IAM user has none"),
    ("no address", line("ada", email="ada"), "email", "one plain address"),
    ("two addresses", line("ada", email="a@b.ch, c@d.ch"), "email", "one plain address"),
    ("header injection", line("ada", email="a@b.ch\nBcc: x@y.ch"), "email", "one plain address"),
    ("dots", line("ada", email="a..b@c.ch"), "email", "one plain address"),
    ("misspelt zone", line("ada", time_zone="Europe/Londn"), "time_zone", "did you mean Europe/London?"),
    ("path for a zone", line("ada", time_zone="../../etc/passwd"), "time_zone", "IANA"),
    ("folder for a zone", line("ada", time_zone="Europe"), "time_zone", "IANA"),
    ("control character in a group", line("ada", groups=["physics\x1b[2J"]), "groups.0", "control characters"),
    ("empty run-as", line("ada", run_as=""), "run_as", "1 character"),
]  # fmt: skip
