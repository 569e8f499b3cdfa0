"""Paths of nested fields as text: names joined by dots.

A name with a character other than letters, digits and underscores is quoted with backticks, and a
backtick inside quotes is doubled: ``point.`x.y```.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lance_core.errors import InvalidInputError

_PLAIN = re.compile(r"\w+")
_SEGMENT = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


def format_path(names: Sequence[str]) -> str:
    """The path text for field names, outermost first."""
    return ".".join(
        name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`" for name in names
    )


def parse_path(text: str) -> tuple[str, ...]:
    """The names in a path. Raises `InvalidInputError` for an empty name or a stray backtick."""
    names = []
    position = 0
    while True:
        match = _SEGMENT.match(text, position)
        if match is None:
            raise InvalidInputError(f"{text!r} is not a field path (at character {position})")
        quoted, plain = match.groups()
        names.append(plain if quoted is None else quoted.replace("``", "`"))
        position = match.end()
        if position == len(text):
            return tuple(names)
        if text[position] != ".":
            raise InvalidInputError(f"{text!r} is not a field path (at character {position})")
        position += 1
