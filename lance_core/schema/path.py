"""Paths of nested fields as text: names joined by dots.

A name may be quoted with backticks, and one with a dot or a backtick must be; a backtick inside
quotes is doubled: ``point.`x.y```.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lance_core.errors import InvalidInputError

_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r"[^.`]+")
_QUOTED = re.compile(r"`((?:[^`]|``)+)`")
_SEGMENT = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


def format_path(names: Sequence[str]) -> str:
    """The path text for field names, outermost first; quotes the names that have to be."""
    return ".".join(name if _PLAIN.fullmatch(name) else quoted(name) for name in names)


def quoted(name: str) -> str:
    """The name in backticks, without them if it has letters, digits and underscores only."""
    return name if _WORD.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def unquoted(name: str) -> str:
    """One name, which may be quoted. Other text than one quoted name is returned unchanged."""
    inside = _QUOTED.fullmatch(name)
    return name if inside is None else inside[1].replace("``", "`")


def parse_path(text: str) -> tuple[str, ...]:
    """The names in a path. Raises `InvalidInputError` for an empty name or a stray backtick."""
    names = []
    position = 0
    while True:
        match = _SEGMENT.match(text, position)
        if match is None:
            raise InvalidInputError(f"{text!r} is not a field path (at character {position})")
        inside, plain = match.groups()
        names.append(plain if inside is None else inside.replace("``", "`"))
        position = match.end()
        if position == len(text):
            return tuple(names)
        if text[position] != ".":
            raise InvalidInputError(f"{text!r} is not a field path (at character {position})")
        position += 1
