"""LIKE and ILIKE: ``%`` matches any text, ``_`` one character, an escape makes the next literal."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.chunks import once_per_entry
from lance_core.dataset.expressions.sql.coerce import is_text, plain
from lance_core.dataset.expressions.sql.distinct_options import call_for_distinct
from lance_core.dataset.expressions.sql.node import (
    Constant,
    Datum,
    Kernel,
    Node,
    call,
    constant,
    null,
)
from lance_core.errors import InvalidInputError


def like(subject: Node, pattern: Node, escape: str, ignore_case: bool) -> Node:
    """True if the whole text matches the pattern; NULL if either is NULL."""
    if isinstance(pattern, Constant):
        entries = once_per_entry(subject, lambda entry: like(entry, pattern, escape, ignore_case))
        if entries is not None:
            return entries
    subject, pattern = plain(subject), plain(pattern)
    if not isinstance(pattern, Constant):
        plan = functools.partial(like, escape=escape, ignore_case=ignore_case)
        return call_for_distinct("LIKE", plan, [subject, pattern], {1: constant("a")})
    if pattern.is_null or pa.types.is_null(subject.type):
        return null(pa.bool_())
    if not (is_text(subject.type) and is_text(pattern.type)):
        raise InvalidInputError(f"LIKE does not work on {subject.type}, {pattern.type}")
    return call("LIKE", _kernel(_pieces(pattern.value.as_py(), escape), ignore_case), subject)


def _pieces(pattern: str, escape: str) -> list[str]:
    """The parts of a pattern: ``"%"`` and ``"_"`` for wildcards, ``"=text"`` for literal text."""
    pieces: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        literal = True
        if character == escape and position + 1 < len(pattern):
            position += 1
            character = pattern[position]
        elif character in "%_":
            literal = False
        position += 1
        if not literal:
            pieces.append(character)
        elif pieces and pieces[-1].startswith("="):
            pieces[-1] += character
        else:
            pieces.append("=" + character)
    return pieces


def _kernel(pieces: list[str], ignore_case: bool) -> Kernel:
    """The fastest kernel for a pattern."""
    if not ignore_case:
        match pieces:
            case []:
                return functools.partial(equals, text="")
            case [text] if text.startswith("="):
                return functools.partial(equals, text=text[1:])
            case [text, "%"] if text.startswith("="):
                return functools.partial(pc.starts_with, pattern=text[1:])
            case ["%", text] if text.startswith("="):
                return functools.partial(pc.ends_with, pattern=text[1:])
            case ["%", text, "%"] if text.startswith("="):
                return functools.partial(pc.match_substring, pattern=text[1:])
    expression = "".join(_expression(piece) for piece in pieces)
    pattern = rf"(?s)\A(?:{expression})\z"
    return functools.partial(
        matches, pattern=pattern, pieces=tuple(pieces), ignore_case=ignore_case
    )


def _expression(piece: str) -> str:
    if piece == "%":
        return ".*"
    return "." if piece == "_" else re.escape(piece[1:])


def matches(value: Datum, pattern: str, pieces: Sequence[str], ignore_case: bool) -> Datum:
    """The kernel of other patterns: the regular expression of `_pieces`."""
    return pc.match_substring_regex(value, pattern=pattern, ignore_case=ignore_case)


def equals(value: Datum, text: str) -> Datum:
    """The kernel of a pattern without wildcards."""
    return pc.equal(value, pa.scalar(text, value.type))
