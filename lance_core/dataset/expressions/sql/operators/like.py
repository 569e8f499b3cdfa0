"""LIKE and ILIKE: ``%`` matches any text, ``_`` one character, an escape makes the next literal."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.chunks import once_per_entry
from lance_core.dataset.expressions.sql.nodes.node import (
    Constant,
    HasPrefix,
    HasSubstring,
    HasSuffix,
    Kernel,
    LikePattern,
    Node,
    call,
    constant,
    null,
)
from lance_core.dataset.expressions.sql.operators.compare import OPERATORS
from lance_core.dataset.expressions.sql.operators.distinct_options import call_for_distinct
from lance_core.dataset.expressions.sql.values.coerce import is_text, plain
from lance_core.encodings.arrow.numpy_values import to_scalar
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
    text = pattern.value.as_py()
    pieces = _pieces(text, escape)
    if not ignore_case:
        simple = _simple_search(pieces, subject)
        if simple is not None:
            return simple
    expression = "".join(map(_expression, pieces))
    kernel = functools.partial(
        pc.match_substring_regex, pattern=rf"(?s)\A(?:{expression})\z", ignore_case=ignore_case
    )
    return call(LikePattern(text, tuple(pieces), ignore_case), kernel, subject)


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


def _simple_search(pieces: list[str], subject: Node) -> Node | None:
    """The node of a pattern that a faster kernel evaluates, None for others."""
    match pieces:
        case []:
            return _equals(subject, "")
        case [text] if text.startswith("="):
            return _equals(subject, text[1:])
        case [text, "%"] if text.startswith("="):
            return search(HasPrefix(text[1:]), subject)
        case ["%", text] if text.startswith("="):
            return search(HasSuffix(text[1:]), subject)
        case ["%", text, "%"] if text.startswith("="):
            return search(HasSubstring(text[1:]), subject)
    return None


def _expression(piece: str) -> str:
    if piece == "%":
        return ".*"
    return "." if piece == "_" else re.escape(piece[1:])


def _equals(subject: Node, text: str) -> Node:
    literal = Constant(to_scalar(text, subject.type))
    return call(OPERATORS["="], pc.equal, subject, literal, kind=pa.bool_())


_SEARCHES: Mapping[type, Kernel] = {
    HasPrefix: pc.starts_with,
    HasSuffix: pc.ends_with,
    HasSubstring: pc.match_substring,
}


def search(operator: HasPrefix | HasSuffix | HasSubstring, subject: Node) -> Node:
    """The search of texts for a literal text."""
    kernel = functools.partial(_SEARCHES[type(operator)], pattern=operator.text)
    return call(operator, kernel, subject, kind=pa.bool_())
