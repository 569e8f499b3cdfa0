"""Suggestions for misspelt names, for the texts of errors."""

from __future__ import annotations

from collections.abc import Iterable

MAX_LENGTH = 80
"""Characters of an unknown name that are compared and shown: comparing takes quadratic time."""

ALIKE = 0.6
"""Similarity, from 0 to 1, from which on a known name is suggested."""

ALMOST_EQUAL = 0.85
"""Similarity from which on a name is taken for a misspelt one where unknown names are allowed."""


def nearest(name: str, known: Iterable[str], similarity: float = ALIKE) -> str | None:
    """The name in ``known`` that is most like ``name``, whatever the case, or None."""
    import difflib

    spellings = {given.lower(): given for given in sorted(known)}
    found = difflib.get_close_matches(name[:MAX_LENGTH].lower(), spellings, 1, similarity)
    return spellings[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``": did you mean 'x'?"`` with the name most like ``name``, "" if there is none."""
    near = nearest(name, known)
    return "" if near is None else f": did you mean {near!r}?"


def hint(name: str, known: Iterable[str]) -> str:
    """As `did_you_mean`, but all names in ``known`` if none is like ``name``."""
    known = sorted(known)
    return did_you_mean(name, known) or f"; known: {', '.join(known) or 'none'}"


def shortened(name: str) -> str:
    """``name`` as an error shows it: quoted, and cut if it is very long."""
    return repr(name if len(name) <= MAX_LENGTH else f"{name[:MAX_LENGTH]}…")


def unknown_argument(name: str, known: Iterable[str]) -> TypeError:
    """The error for a keyword argument that a function does not have."""
    return TypeError(f"unknown argument {shortened(name)}{did_you_mean(name, known)}")
