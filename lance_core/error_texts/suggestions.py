"""Suggestions for misspelt names, for error messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MAX_LENGTH = 80
"""Maximum characters of a name that are compared and shown; comparison takes quadratic time."""

MAX_NAMES = 20
"""Maximum valid names that an error lists; tables may have thousands of columns."""

ALIKE = 0.6
"""Minimum similarity (0 to 1) of a known name that is suggested."""

ALMOST_EQUAL = 0.85
"""Minimum similarity at which a name counts as misspelt where unknown names are allowed."""


def nearest(name: str, known: Iterable[str], similarity: float = ALIKE) -> str | None:
    """The name in ``known`` most similar to ``name``, ignoring case; None below ``similarity``."""
    import difflib

    spellings = {spelling.lower(): spelling for spelling in sorted(known)}
    matches = difflib.get_close_matches(name[:MAX_LENGTH].lower(), spellings, 1, similarity)
    return spellings[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``": did you mean 'x'?"`` with the most similar name, "" if none is similar."""
    near = nearest(name, known)
    return "" if near is None else f": did you mean {near!r}?"


def hint(name: str, known: Iterable[str]) -> str:
    """Like `did_you_mean`, but lists all names in ``known`` if none is similar."""
    known = sorted(known)
    return did_you_mean(name, known) or f"; known: {', '.join(known) or 'none'}"


def shortened(name: str) -> str:
    """``name`` for an error message: quoted, and cut to `MAX_LENGTH` characters."""
    return repr(name if len(name) <= MAX_LENGTH else f"{name[:MAX_LENGTH]}…")


def unknown_argument(name: str, known: Iterable[str]) -> TypeError:
    """The error for a keyword argument that a function does not have."""
    return TypeError(f"unknown argument {shortened(name)}{did_you_mean(name, known)}")


def no_field(name: str, known: Sequence[str], parent: str = "") -> str:
    """What an error says of a field that is not there: the nearest name, some of the valid ones.

    ``parent``: the path of the struct that should have the field; "" for a column.
    """
    there = f" in {parent}" if parent else ""
    valid = ", ".join(map(_as_sql, known[:MAX_NAMES]))
    more = f" and {len(known) - MAX_NAMES:,} more" if len(known) > MAX_NAMES else ""
    similar = did_you_mean(name, known) or "."
    return f"No field named {_as_sql(name)}{there}{similar} Valid fields are {valid}{more}."


def _as_sql(name: str) -> str:
    return name if name.isidentifier() and name == name.lower() else f"`{name}`"
