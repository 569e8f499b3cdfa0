"""The words of an SQL statement, and the texts between them.

Expressions are not parsed: Spark gets them as the user wrote them, so that they have its meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lance_core.errors import InvalidInputError

_TOKEN = re.compile(
    r"""
    (?P<space> \s+ | --[^\n]* | /\*.*?\*/ )
  | (?P<text> '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
  | (?P<name> `(?:[^`]|``)*` )
  | (?P<word> \w+ )
  | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_DEPTH = {"(": 1, "[": 1, "CASE": 1, ")": -1, "]": -1, "END": -1}


@dataclass(frozen=True, slots=True)
class Token:
    """A word in upper case, a sign, or a quoted name or text as it is written."""

    category: str
    text: str
    start: int
    end: int


class Tokens:
    """Reads a statement from its beginning to its end.

    Its methods raise `InvalidInputError` with what they expected, and where.
    """

    def __init__(self, statement: str) -> None:
        self._statement = statement.strip().removesuffix(";").rstrip()
        self._tokens = [
            Token(category, match[0].upper() if category == "word" else match[0], *match.span())
            for match in _TOKEN.finditer(self._statement)
            if (category := match.lastgroup or "") != "space"
        ]
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._tokens)

    def is_next(self, *words: str) -> bool:
        """True if ``words`` come next."""
        following = self._tokens[self._at : self._at + len(words)]
        return [token.text for token in following] == [*words]

    def accept(self, *words: str) -> bool:
        """Skip ``words`` if they come next."""
        if not self.is_next(*words):
            return False
        self._at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Skip ``words``."""
        if not self.accept(*words):
            raise self.error(" ".join(words))

    def expect_end(self) -> None:
        if not self.is_at_end:
            raise self.error("the end of the statement")

    def name(self) -> tuple[str, ...]:
        """The parts of a name, such as ``catalog.db.t``, without quotes."""
        parts = [self._part()]
        while self.accept("."):
            parts.append(self._part())
        return tuple(parts)

    def alias(self, *keywords: str) -> str | None:
        """The alias after a name, None if one of ``keywords`` or nothing comes next."""
        if self.accept("AS"):
            return self._part()
        token = self._next()
        if token is None or token.category not in ("name", "word") or token.text in keywords:
            return None
        return self._part()

    def string(self) -> str:
        """The content of a quoted text."""
        token = self._next()
        if token is None or token.category != "text":
            raise self.error("a quoted text")
        self._at += 1
        quote = token.text[0]
        return re.sub(r"\\(.)", r"\1", token.text[1:-1].replace(quote * 2, quote))

    def number(self) -> int:
        token = self._next()
        if token is None or not token.text.isdigit():
            raise self.error("a number")
        self._at += 1
        return int(token.text)

    def until(self, *words: str) -> str:
        """The text up to one of ``words`` outside of parentheses and CASE, or up to the end."""
        start, depth = self._at, 0
        while not self.is_at_end:
            token = self._tokens[self._at]
            if not depth and token.category != "text" and token.text in words:
                break
            depth += _DEPTH.get(token.text, 0) if token.category in ("word", "sign") else 0
            if depth < 0:
                break
            self._at += 1
        if self._at == start:
            raise self.error("an expression")
        return self._statement[self._tokens[start].start : self._tokens[self._at - 1].end]

    def error(self, expected: str) -> InvalidInputError:
        token = self._next()
        at = "the end" if token is None else repr(self._statement[token.start : token.start + 30])
        return InvalidInputError(f"SQL: {expected} is expected at {at}")

    def _part(self) -> str:
        token = self._next()
        if token is None or token.category not in ("name", "word"):
            raise self.error("a name")
        self._at += 1
        written = self._statement[token.start : token.end]
        return written[1:-1].replace("``", "`") if token.category == "name" else written

    def _next(self) -> Token | None:
        return None if self.is_at_end else self._tokens[self._at]
