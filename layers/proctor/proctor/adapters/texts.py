"""Texts on their way out: within a service's limits, on one line where it wants one, and without people's addresses."""

import hashlib
import re
import unicodedata

_ADDRESS = re.compile(r"[\w.+=,'-]{1,64}@[\w-]+(?:\.[\w-]+)*")
_SPELLED = str.maketrans(
    {
        "\N{EN DASH}": "-",
        "\N{EM DASH}": "-",
        "\N{RIGHTWARDS ARROW}": "->",
        "\N{LEFT SINGLE QUOTATION MARK}": "'",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
        "ß": "ss",
        "ø": "o",
        "ł": "l",
        "€": "EUR",
    }
)


def clean(text: str, characters_at_most: int) -> str:
    """Without control characters and broken surrogates, which SNS, SES and SQS refuse; line breaks and tabs stay."""
    plain = "".join(c for c in _start(text, characters_at_most) if c.isprintable() or c in "\n\t")
    return cut(plain, characters_at_most)


def one_line(text: str, characters_at_most: int) -> str:
    """One line, so that a headline can't add a header to a mail."""
    start = _start(text, characters_at_most)
    return cut(" ".join(clean(start, len(start)).split()), characters_at_most)


def ascii_line(text: str, characters_at_most: int) -> str:
    """One line of ASCII: accents are dropped, other characters become `?`."""
    start = _start(text, characters_at_most)
    apart = unicodedata.normalize("NFKD", start.translate(_SPELLED))
    bare = "".join(c for c in apart if not unicodedata.combining(c))
    line = " ".join(bare.encode("ascii", errors="replace").decode().split())
    line = "".join(c for c in line if c.isprintable())
    return line if len(line) <= characters_at_most else line[: characters_at_most - 3] + "..."


def cut(text: str, characters_at_most: int) -> str:
    """Shortened, with `…` at the end, when it is too long."""
    return text if len(text) <= characters_at_most else text[: characters_at_most - 1] + "…"


def without_addresses(text: str) -> str:
    """Each e-mail address, and whatever looks like one, as a short digest: the same address gives the same digest."""
    return _ADDRESS.sub(lambda found: f"<address {_digest(found[0])}>", text)


def _start(text: str, characters_at_most: int) -> str:
    """More than can remain of a text, so that a huge one costs nothing."""
    return text[: 4 * characters_at_most]


def _digest(address: str) -> str:
    return hashlib.sha256(address.casefold().encode(errors="replace")).hexdigest()[:8]
