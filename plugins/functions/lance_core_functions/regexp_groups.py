r"""Groups of regular expressions, and replacements that refer to them, in the syntax of RE2.

pylance has the syntax of Rust's `regex`. RE2 writes groups in replacements as ``\1``, and Arrow
needs groups with names.
"""

from __future__ import annotations

import re

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.sql_functions import (
    regexp_syntax,
)


def group_names(pattern: str) -> list[str | None]:
    """The names of the capturing groups in order, None for those without."""
    tokens = regexp_syntax.TOKENS.finditer(pattern)
    return [token["name"] for token in tokens if token["group"] or token["named"]]


def with_numbered_groups(pattern: str) -> tuple[str, int]:
    """A pattern of RE2 with groups named g0, g1, … as Arrow needs it, and their number.

    A pattern without groups is wrapped into the group g0; its number of groups is 0.
    """
    count = 0

    def renamed(token: re.Match[str]) -> str:
        nonlocal count
        if not (token["group"] or token["named"]):
            return token[0]
        count += 1
        return f"(?P<g{count - 1}>"

    result = regexp_syntax.TOKENS.sub(renamed, pattern)
    return (result, count) if count else (f"(?P<g0>{pattern})", 0)


_POSIX_GROUP = re.compile(r"\\{1,2}(\d+)")
_REFERENCE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>[^}]*)\}|(?P<plain>[0-9A-Za-z_]+))")


def replacement_to_re2(replacement: str, names: list[str | None]) -> str:
    r"""A replacement in RE2's syntax; ``names`` are those of `group_names`.

    ``$1``, ``${1}``, ``$name``, ``${name}`` and ``\1`` stand for groups, ``$0`` for the match,
    ``$$`` for a dollar. A group that the pattern does not have is empty; other backslashes are
    literal.
    """
    text = _POSIX_GROUP.sub(lambda reference: f"${{{reference[1]}}}", replacement)
    parts: list[str] = []
    position = 0
    for reference in _REFERENCE.finditer(text):
        parts.append(text[position : reference.start()].replace("\\", r"\\"))
        parts.append(
            "$" if reference["dollar"] else _group(reference["braced"] or reference["plain"], names)
        )
        position = reference.end()
    return "".join([*parts, text[position:].replace("\\", r"\\")])


def _group(name: str | None, names: list[str | None]) -> str:
    if name and name.isascii() and name.isdecimal():
        number = int(name[:6])
    elif name and name in names:
        number = names.index(name) + 1
    else:
        return ""
    if number > len(names):
        return ""
    if number > MAX_GROUP:
        raise UnsupportedFeatureError(f"the group {name} in a replacement of regexp_replace")
    return f"\\{number}"


MAX_GROUP = 9
"""The last group that RE2 can replace by."""


def check_groups(what: str, pattern: str, number: int) -> None:
    """Raise `InvalidInputError` if the pattern has no group ``number``."""
    count = len(group_names(pattern))
    if not 0 <= number <= count:
        raise InvalidInputError(f"{what}: the pattern has {count} groups, not a group {number}")
