"""SQL text to a syntax tree, in the dialect that Lance users write.

Names are quoted with backticks, strings with ' or " (a doubled quote stands for itself, a backslash
for itself), ``==`` is ``=``, bytes are ``X'00ff'`` or ``0x00ff``. The functions that we know come
out as a name and arguments. All of it is done on the words, before they are parsed: sqlglot's
parser cannot be extended where it is compiled.

Import this module inside functions only: it loads sqlglot.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection
from typing import Any, ClassVar

from sqlglot import exp, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]  # moved in 28

from lance_core.dataset.sql.functions import NAMES
from lance_core.errors import InvalidInputError

MAX_DEPTH = 100
"""Most levels of nesting; one level costs the parser about ten stack frames."""

MAX_CHARACTERS = 4 << 20


class Lance(Dialect):
    """Differences from sqlglot's own dialect."""

    class Tokenizer(tokens.Tokenizer):
        """Words and quotes."""

        IDENTIFIERS: ClassVar = ["`"]
        QUOTES: ClassVar = ["'", '"']
        STRING_ESCAPES: ClassVar = ["'", '"']
        HEX_STRINGS: ClassVar = [("x'", "'"), ("X'", "'"), ("0x", ""), ("0X", "")]
        COMMANDS: ClassVar = set()
        KEYWORDS: ClassVar = {**tokens.Tokenizer.KEYWORDS, "==": TokenType.EQ}


def parse(text: str, names: Collection[str] = ()) -> exp.Expression:
    """The tree of one expression; it is shared, do not change it.

    ``names``: columns. A keyword that is one's name counts as the column where it cannot be
    anything else, as in ``from = 1``.
    Raises `InvalidInputError` with the position for text that is not one expression.
    """
    try:
        return _parse(text, ())
    except InvalidInputError:
        lower = text.lower()
        taken = tuple(name for name in names if name.lower() in lower)
        if not taken:
            raise
        try:
            return _parse(text, taken)
        except InvalidInputError:
            pass
        raise


@functools.lru_cache(maxsize=256)
def _parse(text: str, names: tuple[str, ...]) -> exp.Expression:
    """``names``: words that are names here, even keywords."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidInputError(f"an expression of {len(text)} characters is too long")
    dialect = Lance()
    try:
        words = dialect.tokenize(text)
        _check_nesting(text, words)
        _quote(words, names)
        _hide_functions(words)
        trees = dialect.parser().parse(_in_parentheses(words), text)
    except ParseError as error:
        raise InvalidInputError(_complaint(text, error)) from None
    except TokenError:
        raise InvalidInputError(
            f"cannot parse {_shown(text)}: a quote is not closed, or a character is unknown"
        ) from None
    except RecursionError:
        raise InvalidInputError(f"cannot parse {_shown(text)}: nested too deeply") from None
    tree = trees[0].this if len(trees) == 1 and isinstance(trees[0], exp.Paren) else None
    if not isinstance(tree, exp.Expression) or isinstance(tree, exp.Alias | exp.Query):
        raise InvalidInputError(f"cannot parse {_shown(text)}: not a single expression")
    return tree


def _in_parentheses(words: list[Any]) -> list[Any]:
    """So that nothing is taken for a statement, as ``comment = 1`` would be."""
    last = words[-1]
    place = (last.line, last.col, last.start, last.end)
    opening, closing = Token(TokenType.L_PAREN, "("), Token(TokenType.R_PAREN, ")", *place)
    return [opening, *words, closing]


def _hide_functions(words: list[Any]) -> None:
    """Puts a space behind the names of functions that we know: sqlglot then does not know them."""
    for word, following in itertools.pairwise(words):
        if following.token_type == TokenType.L_PAREN and word.text.lower() in NAMES:
            word.token_type = TokenType.VAR
            word.text += " "


def _quote(words: list[Any], names: tuple[str, ...]) -> None:
    """Makes every word that is one of ``names`` a name in backticks."""
    actual = {name.lower(): name for name in names}
    for word in words:
        if word.text.lower() in actual and word.token_type != TokenType.STRING:
            word.token_type = TokenType.IDENTIFIER
            word.text = actual[word.text.lower()]


def _complaint(text: str, error: ParseError) -> str:
    first = error.errors[0] if error.errors else {}
    reason = _plain(str(first.get("description") or error))
    if reason.startswith("Required keyword"):
        reason = "an operand is missing"
    where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
    return f"cannot parse {_shown(text)}: {reason}{where}"


def _plain(text: str) -> str:
    return text.split("\n", maxsplit=1)[0].strip().rstrip(".")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:200] + "…")


_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS}


def _check_nesting(text: str, words: list[Any]) -> None:
    """The parser goes down one call per bracket or prefix: bound both before it starts."""
    if not words:
        raise InvalidInputError(f"cannot parse {_shown(text)}: it is empty")
    depth = prefixes = brackets = 0
    for word in words:
        kind = word.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIX else 0
        brackets += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if brackets < 0 or kind == TokenType.SEMICOLON:
            raise InvalidInputError(
                f"cannot parse {_shown(text)}: unexpected {word.text!r}"
                f" at line {word.line}, column {word.col}"
            )
        if depth + prefixes > MAX_DEPTH:
            raise InvalidInputError(
                f"cannot parse {_shown(text)}: nested more than {MAX_DEPTH} levels deep"
                f" at line {word.line}, column {word.col}"
            )
