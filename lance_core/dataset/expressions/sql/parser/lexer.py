"""Lexer: SQL text to words (names, numbers, strings and signs) with their offsets.

Backticks quote names; ' or " quotes strings. A doubled quote in a string is one quote; a backslash
has no special meaning. Bytes are ``X'00ff'`` or ``0x00ff``. The literals of a long ``IN (…)`` list
are one word.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from lance_core.errors import InvalidInputError

MAX_CHARACTERS = 1 << 21
"""Maximum characters of an expression without the literals of long IN lists.

20,000 conditions of 100 characters fit into it; longer text would take several seconds.
"""

MIN_LITERALS = 20
"""Minimum number of literals of an IN list that make one word; fewer are separate words."""


class Kind(Enum):
    """The kind of a word; the value names it in error messages."""

    WORD = "a word"
    NAME = "a name in backticks"
    TEXT = "text"
    NUMBER = "a number"
    BYTES = "bytes"
    LITERALS = "literals"
    SIGN = "a sign"
    END = "the end"


class Word(NamedTuple):
    """A word: ``text`` without quotes; ``start``, the offset of its first character.

    ``upper``: the text in upper case if the word may be a keyword or a sign, otherwise empty.
    """

    kind: Kind
    text: str
    start: int
    upper: str = ""


_TEXT = r"'[^']*(?:''[^']*)*'"
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_WORDS = re.compile(
    rf"""(?>\s+|--[^\n]*)*+(?:
    [xX]'(?P<bytes>[^']*)' | 0[xX](?P<digits>[0-9a-fA-F]+)(?!\w)
    | (?P<word>(?:[^\W\d]|[^\x00-\x7f])(?:\w|[^\x00-\x7f\s])*)
    | (?P<number>(?>\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?+)(?!\w)
    | (?P<text>{_TEXT}|"[^"]*(?:""[^"]*)*")
    | `(?P<name>[^`]*(?:``[^`]*)*)`
    | (?P<comment>/\*)
    | (?P<sign><=>|<>|!=|!~\*|!~|~\*|==|<=|>=|\|\||::|<<|>>|[-+*/%=<>().,\[\]?&|^~;])
    | (?P<end>\Z))""",
    re.VERBOSE,
)
_LITERAL = rf"\s*(?:{_TEXT}|{_NUMBER}|NULL)\s*"
_LITERALS = re.compile(
    rf"\s*\((?P<literals>{_LITERAL}(?:,{_LITERAL}){{{MIN_LITERALS - 1},}})\)", re.IGNORECASE
)
_ONE_LITERAL = re.compile(rf"{_TEXT}|{_NUMBER}|NULL", re.IGNORECASE)
_COMMENT_ENDS = re.compile(r"/\*|\*/")


def words(text: str) -> list[Word]:
    """All words of ``text``, then a word of kind END.

    Raises `InvalidInputError` with the position of a character that begins no word.
    """
    read_words: list[Word] = []
    position, in_literals, last = 0, 0, ""
    while True:
        if last == "IN":
            match = _LITERALS.match(text, position)
            if match is not None:
                read_words.append(Word(Kind.LITERALS, match["literals"], position))
                position, last = match.end(), ""
                in_literals += match.end() - match.start()
        match = _WORDS.match(text, position)
        group = None if match is None else match.lastgroup
        if match is None or group is None:
            raise _unknown(text, position)
        start, position = match.start(group), match.end()
        if position - in_literals > MAX_CHARACTERS:
            raise InvalidInputError(
                f"an expression of more than {MAX_CHARACTERS} characters, not counting the"
                " literals in lists of IN, is too long"
            )
        if group == "comment":
            position = _after_comment(text, start)
            continue
        value = match[group]
        last = value.upper() if group in _KEYWORDS else ""
        if group in _QUOTED:
            value = _unquoted(group, value)
        read_words.append(Word(_KINDS[group], value, start, last))
        if group == "end":
            return read_words


_KINDS = {
    "word": Kind.WORD,
    "name": Kind.NAME,
    "text": Kind.TEXT,
    "number": Kind.NUMBER,
    "bytes": Kind.BYTES,
    "digits": Kind.BYTES,
    "sign": Kind.SIGN,
    "end": Kind.END,
}
_KEYWORDS, _QUOTED = frozenset({"word", "sign"}), frozenset({"text", "name"})


def _unquoted(group: str, value: str) -> str:
    if group == "name":
        return value.replace("``", "`")
    return value[1:-1].replace(value[0] * 2, value[0])


def _after_comment(text: str, start: int) -> int:
    """The offset after the comment that begins at ``start``; comments may be nested."""
    depth = 0
    for match in _COMMENT_ENDS.finditer(text, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    raise InvalidInputError(f"cannot parse {excerpt(text)}: a comment is not closed")


def split_literals(body: str) -> list[str]:
    """The texts of the literals in a word of kind `Kind.LITERALS`."""
    return _ONE_LITERAL.findall(body)


def position_text(text: str, start: int) -> str:
    """The line and column of a character, for error messages."""
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return f"at line {line}, column {column}"


def excerpt(text: str) -> str:
    """The text for error messages, shortened if it is long."""
    return repr(text if len(text) <= 200 else text[:200] + "…")


def _unknown(text: str, position: int) -> InvalidInputError:
    return InvalidInputError(
        f"cannot parse {excerpt(text)}: a quote is not closed, or a character or number is unknown"
        f" {position_text(text, position)}"
    )
