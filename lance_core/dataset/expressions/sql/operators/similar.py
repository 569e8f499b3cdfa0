"""SIMILAR TO: patterns of the SQL standard, which are regular expressions with LIKE's wildcards.

``%`` matches any text and ``_`` one character; ``|``, ``*``, ``+``, ``?``, ``{m,n}``, ``( )`` and
``[ ]`` mean what they mean in regular expressions. All other characters, ``.``, ``^`` and ``$``
too, match themselves. The pattern covers the whole text.
"""

from __future__ import annotations

import functools
import re

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.chunks import once_per_entry
from lance_core.dataset.expressions.sql.nodes.node import (
    Apply,
    Constant,
    Datum,
    Node,
    call,
    constant,
    null,
)
from lance_core.dataset.expressions.sql.operators.distinct_options import call_for_distinct
from lance_core.dataset.expressions.sql.values.coerce import is_text, plain
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

_CLASSES = {
    "ALPHA": r"\p{L}",
    "UPPER": r"\p{Lu}",
    "LOWER": r"\p{Ll}",
    "DIGIT": "0-9",
    "ALNUM": r"\p{L}0-9",
    "SPACE": " ",
    "WHITESPACE": r"\s",
}
"""The standard's names of sets of characters in brackets, as RE2 writes their members."""

_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
MAX_REPEAT = 1000
"""Maximum count of a repetition; RE2 has the same limit."""


def similar_to(subject: Node, pattern: Node, escape: str) -> Node:
    """True if the whole text matches the pattern; NULL if either is NULL.

    ``escape``: the character that makes the next one literal, "" for none. Raises
    `InvalidInputError` for a pattern that the standard does not allow.
    """
    if isinstance(pattern, Constant):
        entries = once_per_entry(subject, lambda entry: similar_to(entry, pattern, escape))
        if entries is not None:
            return entries
    subject, pattern = plain(subject), plain(pattern)
    if not isinstance(pattern, Constant):
        plan = functools.partial(similar_to, escape=escape)
        return call_for_distinct("SIMILAR TO", plan, [subject, pattern], {1: constant("a")})
    if pattern.is_null or pa.types.is_null(subject.type):
        return null(pa.bool_())
    if not (is_text(subject.type) and is_text(pattern.type)):
        raise InvalidInputError(f"SIMILAR TO does not work on {subject.type}, {pattern.type}")
    expression = _Pattern(pattern.value.as_py(), escape).expression()
    return call(
        Apply("SIMILAR TO", (pattern.value.as_py(),)),
        functools.partial(is_similar, pattern=expression),
        subject,
    )


def is_similar(value: Datum, pattern: str) -> Datum:
    """The kernel of `similar_to`; ``pattern`` is one of RE2."""
    return pc.match_substring_regex(value, pattern=pattern)


class _Pattern:
    """Translates a pattern to RE2 in one pass."""

    def __init__(self, text: str, escape: str) -> None:
        self._text = text
        self._escape = escape
        self._at = 0
        self._depth = 0

    def expression(self) -> str:
        """The whole pattern as an expression of RE2 that covers the whole text."""
        parts: list[str] = []
        can_repeat = False
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign in "*+?{" and sign != self._escape:
                if not can_repeat:
                    raise self._error(f"{sign} has nothing to repeat")
                parts.append(self._repetition())
                can_repeat = False
                continue
            can_repeat = sign not in "(|" or sign == self._escape
            parts.append(self._item(sign))
        if self._depth:
            raise self._error("a parenthesis is not closed")
        return rf"(?s)\A(?:{''.join(parts)})\z"

    def _item(self, sign: str) -> str:
        """Translate what begins with ``sign``, other than a repetition."""
        if sign == self._escape:
            return re.escape(self._escaped())
        if sign == "[":
            return self._brackets()
        self._at += 1
        if sign == "(":
            self._depth += 1
            return "(?:"
        if sign == ")":
            self._depth -= 1
            if self._depth < 0:
                raise self._error("a parenthesis is not open")
            return ")"
        return {"%": ".*", "_": ".", "|": "|"}.get(sign) or re.escape(sign)

    def _repetition(self) -> str:
        sign = self._text[self._at]
        if sign != "{":
            self._at += 1
            return sign
        match = _REPEAT.match(self._text, self._at)
        if match is None:
            raise self._error("a repetition is {m}, {m,} or {m,n}")
        low, high = int(match[1]), int(match[3] or match[1])
        if max(low, high) > MAX_REPEAT or high < low:
            raise self._error(f"a repetition has at most {MAX_REPEAT}, not less than the first")
        self._at = match.end()
        return match[0]

    def _escaped(self) -> str:
        """Consume the escape and return the character that it makes literal."""
        if self._at + 1 >= len(self._text):
            raise self._error("the escape has no character after it")
        self._at += 2
        return self._text[self._at - 1]

    def _brackets(self) -> str:
        start = self._at
        self._at += 1
        is_negated = self._text[self._at : self._at + 1] == "^"
        self._at += is_negated
        members: list[str] = []
        while self._text[self._at : self._at + 1] != "]":
            if self._at >= len(self._text):
                self._at = start
                raise self._error("a bracket is not closed")
            if self._text[self._at] == "^" and self._escape != "^":
                raise UnsupportedFeatureError(
                    "exceptions in brackets of SIMILAR TO, such as [a-z^b]; escape a literal ^"
                )
            members.append(self._member())
        self._at += 1
        if not members:
            raise self._error("brackets have no characters")
        return f"[{'^' if is_negated else ''}{''.join(members)}]"

    def _member(self) -> str:
        """A character, a range or a named set in brackets, for RE2."""
        if self._text.startswith("[:", self._at):
            stop = self._text.find(":]", self._at)
            name = self._text[self._at + 2 : stop].upper() if stop > 0 else ""
            if name not in _CLASSES:
                raise self._error(f"sets are called {', '.join(_CLASSES)}")
            self._at = stop + 2
            return _CLASSES[name]
        first = self._character()
        if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 :][:1] != "]":
            self._at += 1
            last = self._character()
            if last < first:
                raise self._error("a range ends before it begins")
            return f"{_in_brackets(first)}-{_in_brackets(last)}"
        return _in_brackets(first)

    def _character(self) -> str:
        if self._at >= len(self._text):
            raise self._error("a bracket is not closed")
        if self._text[self._at] == self._escape:
            return self._escaped()
        self._at += 1
        return self._text[self._at - 1]

    def _error(self, reason: str) -> InvalidInputError:
        return InvalidInputError(
            f"the pattern {self._text!r} of SIMILAR TO is not valid: {reason},"
            f" at character {self._at + 1}"
        )


def _in_brackets(character: str) -> str:
    return rf"\x{{{ord(character):x}}}"
