"""Parser: SQL text of Lance's dialect to a syntax tree.

Operators have the precedence of DataFusion, from lowest to highest: OR; AND; NOT; IS; LIKE;
comparisons, BETWEEN and IN; ``|``; ``<<``, ``>>`` and ``^``; ``&``; sums; products and ``||``;
``::``. Operators of one precedence associate to the left.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

from lance_core.dataset.expressions.sql.parser import syntax
from lance_core.dataset.expressions.sql.parser.chains import (
    Chain,
    Nested,
    Operand,
    depth_of,
    tree_of,
)
from lance_core.dataset.expressions.sql.parser.lexer import (
    Kind,
    Word,
    excerpt,
    position_text,
    split_literals,
    words,
)
from lance_core.dataset.expressions.sql.parser.syntax import INTERVAL_UNITS, Name
from lance_core.errors import InvalidInputError, LanceError, UnsupportedFeatureError

MAX_DEPTH = 100
"""Maximum nesting depth. Each level takes about ten Python stack frames in parser and planner."""

_MAX_KEPT = 1 << 14
"""Maximum characters of a text whose tree is cached."""

_OR, _AND, _NOT, _IS, _LIKE, _COMPARES, _BIT_OR, _SHIFT, _BIT_AND, _SUM, _PRODUCT = range(1, 12)

_COMPARISONS = {"==": "=", "!=": "<>", **{sign: sign for sign in ("=", "<>", "<", "<=", ">", ">=")}}
_REGEXPS = frozenset({"~", "~*", "!~", "!~*"})
"""Operators of regular expressions: * ignores case, ! negates."""

_STRENGTHS = {
    "OR": _OR,
    "AND": _AND,
    "IS": _IS,
    "LIKE": _LIKE,
    "ILIKE": _LIKE,
    "SIMILAR": _LIKE,
    "IN": _COMPARES,
    "BETWEEN": _COMPARES,
    **dict.fromkeys(_COMPARISONS, _COMPARES),
    **dict.fromkeys(_REGEXPS, _COMPARES),
    "|": _BIT_OR,
    **dict.fromkeys(("<<", ">>", "^"), _SHIFT),
    "&": _BIT_AND,
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "%": _PRODUCT,
    "||": _PRODUCT,
}
_UNKNOWN = frozenset({"<=>", "?", "OVER", "RLIKE"})
"""Words and signs of SQL that this dialect does not support."""

_TYPED = frozenset({"DATE", "TIME", "TIMESTAMP", "DATETIME"})
_WITH_NUMBERS = _TYPED | {"DECIMAL", "NUMERIC"}
"""Types that may stand before a text, as in ``DECIMAL(5, 2) '1.25'``."""

_LONG_TYPES = {"DOUBLE": ("PRECISION",), "CHAR": ("VARYING",), "CHARACTER": ("VARYING",)}
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"})


def parse(text: str, names: Collection[str] = ()) -> syntax.Tree:
    """The syntax tree of one expression.

    ``names``: the names of columns. A keyword that is also a column's name is read as the column
    if the text is no valid expression otherwise, as in ``from = 1``.
    Raises `InvalidInputError` with the position for text that is not one expression, and
    `UnsupportedFeatureError` for constructs that only other dialects have.
    """
    lower = text.lower()
    taken = tuple(name for name in names if name.lower() in lower)
    if len(text) > _MAX_KEPT:
        return _parse(text, taken)
    return _kept(text, taken)


def _parse(text: str, names: tuple[str, ...]) -> syntax.Tree:
    """Parse ``text``; if that fails, parse again with keywords in ``names`` read as columns."""
    read_words = words(text)
    if read_words[0].kind is Kind.END:
        raise InvalidInputError(f"cannot parse {excerpt(text)}: it is empty")
    try:
        return _Parser(text, read_words).whole()
    except (InvalidInputError, UnsupportedFeatureError):
        actual = {name.lower(): name for name in names}
        quoted = [_quoted(word, actual) for word in read_words]
        if quoted == read_words:
            raise
        try:
            return _Parser(text, quoted).whole()
        except (InvalidInputError, UnsupportedFeatureError):
            pass
        raise


_kept = functools.lru_cache(maxsize=256)(_parse)


def _quoted(word: Word, actual: Mapping[str, str]) -> Word:
    if word.kind is Kind.WORD and word.text.lower() in actual:
        return Word(Kind.NAME, actual[word.text.lower()], word.start)
    return word


class _Parser:
    """A one-pass parser over words; its stack depth depends on nesting, not on length."""

    def __init__(self, text: str, read_words: list[Word]) -> None:
        self._text = text
        self._words = read_words
        self._at = 0
        self._depth = 0

    def expression(self, weakest: int = 0) -> syntax.Tree:
        """Parse the longest expression of operators with a higher precedence than ``weakest``."""
        return self.condition() if weakest < _AND else self._stronger(self._operand, weakest)

    def condition(self) -> syntax.Tree:
        """Parse operands of AND and OR, and groups of them in parentheses.

        Uses a stack of its own: programs write chains of thousands of nested parentheses.
        """
        groups: list[Chain] = []
        chain = Chain()
        while True:
            while self._next.upper == "(" and self._words[self._at + 1].upper != "SELECT":
                self._take()
                groups.append(chain)
                chain = Chain()
            operand: Operand = self._stronger(self._operand, _AND)
            while not chain.accepts(self._next.upper, operand):
                operand = chain.end(operand)
                if not groups:
                    return tree_of(operand)
                operand = self._closed_group(operand)
                chain = groups.pop()
            self._take()

    def _closed_group(self, group: Operand) -> Operand:
        """Parse ``)`` and the operators to which the group is an operand."""
        if self._next.upper == ",":
            raise UnsupportedFeatureError("a tuple is not supported in an expression")
        self._expect(")")
        depth = depth_of(group)
        self._check_depth(self._depth + depth)
        if self._next.kind is Kind.END or self._next.upper in ("AND", "OR", ")"):
            return group
        start = self._at
        tree = self._stronger(lambda: self._postfixed(tree_of(group)), _AND)
        return Nested(tree, depth + 1) if self._at > start else group

    def _stronger(self, operand: Callable[[], syntax.Tree], weakest: int) -> syntax.Tree:
        """Parse an ``operand`` and the operators after it that are stronger than ``weakest``."""
        self._enter()
        tree = operand()
        wrapped = 0
        while True:
            sign = self._next.upper
            strength = _STRENGTHS.get(sign, 0)
            if sign == "NOT":
                strength = _STRENGTHS.get(self._words[self._at + 1].upper, 0)
            if strength <= weakest:
                break
            if strength > _COMPARES:
                tree = self._arithmetic(tree, strength)
            else:
                wrapped += 1
                self._check_depth(self._depth + wrapped)
                tree = self._predicate(tree, sign)
        self._depth -= 1
        return tree

    def whole(self) -> syntax.Tree:
        """Parse all words as one expression, which a semicolon may end."""
        tree = self.expression()
        self._accept(";")
        if self._next.kind is not Kind.END:
            raise self._unexpected()
        return tree

    @property
    def _next(self) -> Word:
        return self._words[self._at]

    def _take(self) -> Word:
        word = self._words[self._at]
        self._at += 1
        return word

    def _accept(self, *expected: str) -> bool:
        """Consume the words ``expected`` and return True if they are the next ones."""
        if any(
            self._words[min(self._at + i, len(self._words) - 1)].upper != keyword
            for i, keyword in enumerate(expected)
        ):
            return False
        self._at += len(expected)
        return True

    def _expect(self, *expected: str) -> None:
        if not self._accept(*expected):
            raise self._unexpected(f"{' '.join(expected)} is expected")

    def _unexpected(self, why: str = "") -> LanceError:
        word = self._next
        if word.upper in _UNKNOWN:
            return UnsupportedFeatureError(f"{word.text} is not supported in an expression")
        if word.kind is Kind.END:
            reason = why or "an operand is missing"
        else:
            reason = f"unexpected {excerpt(word.text)}" + (f", {why}" if why else "")
        last = max(0, len(self._text.rstrip()) - 1)
        where = position_text(self._text, last if word.kind is Kind.END else word.start)
        return InvalidInputError(f"cannot parse {excerpt(self._text)}: {reason} {where}")

    def _enter(self) -> None:
        self._depth += 1
        self._check_depth(self._depth)

    def _check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise InvalidInputError(
                f"cannot parse {excerpt(self._text)}: nested more than {MAX_DEPTH} levels deep"
                f" {position_text(self._text, self._next.start)}"
            )

    def _arithmetic(self, first: syntax.Tree, strength: int) -> syntax.Tree:
        rest = []
        while _STRENGTHS.get(self._next.upper, 0) == strength:
            sign = self._take().text
            rest.append((sign, self.expression(strength)))
        return syntax.Arithmetic(first, tuple(rest))

    def _predicate(self, tree: syntax.Tree, sign: str) -> syntax.Tree:
        if sign in _COMPARISONS:
            self._take()
            return syntax.Comparison(_COMPARISONS[sign], tree, self.expression(_COMPARES))
        if sign in _REGEXPS:
            self._take()
            return self._regexp(tree, sign)
        if self._accept("IS"):
            return self._is(tree)
        negated = self._accept("NOT")
        if self._accept("IN"):
            return syntax.In(tree, self._choices(), negated)
        if self._accept("BETWEEN"):
            low = self.expression(_COMPARES)
            self._expect("AND")
            return syntax.Between(tree, low, self.expression(_COMPARES), negated)
        if self._accept("SIMILAR", "TO"):
            pattern = self.expression(_LIKE)
            return syntax.SimilarTo(tree, pattern, self._escape(), negated)
        ignore_case = self._accept("ILIKE")
        if not ignore_case and not self._accept("LIKE"):
            raise self._unexpected("IN, BETWEEN, LIKE or SIMILAR TO is expected")
        pattern = self.expression(_LIKE)
        return syntax.Like(tree, pattern, self._escape(), ignore_case, negated)

    def _regexp(self, tree: syntax.Tree, sign: str) -> syntax.Tree:
        return syntax.Regexp(tree, self.expression(_COMPARES), sign[-1] == "*", sign[0] == "!")

    def _escape(self) -> str:
        """Parse ESCAPE and its character, which is a backslash by default; "" means none."""
        if not self._accept("ESCAPE"):
            return "\\"
        word = self._take()
        if word.kind is not Kind.TEXT or len(word.text) > 1:
            raise InvalidInputError(f"ESCAPE needs one character, not {word.text!r}")
        return word.text

    def _is(self, tree: syntax.Tree) -> syntax.Tree:
        negated = self._accept("NOT")
        if self._accept("NULL") or self._accept("UNKNOWN"):
            return syntax.Is(tree, None, negated)
        for name, value in (("TRUE", True), ("FALSE", False)):
            if self._accept(name):
                return syntax.Is(tree, value, negated)
        self._expect("DISTINCT", "FROM")
        return syntax.Distinct(tree, self.expression(_COMPARES), negated)

    def _choices(self) -> tuple[syntax.Tree, ...] | syntax.Literals:
        if self._next.kind is Kind.LITERALS:
            return literals(self._take().text)
        self._expect("(")
        if self._next.upper in ("SELECT", ")"):
            raise UnsupportedFeatureError("IN needs a list of values")
        return self._list(")")

    def _list(self, closing: str, words: Sequence[str] = ()) -> tuple[syntax.Tree, ...]:
        """Parse expressions separated by commas or ``words``, and the ``closing`` sign."""
        items: list[syntax.Tree] = []
        if not self._accept(closing):
            items.append(self.expression())
            while self._accept(",") or any(self._accept(word) for word in words):
                items.append(self.expression())
            self._expect(closing)
        return tuple(items)

    def _operand(self) -> syntax.Tree:
        prefix = _PREFIXES.get(self._next.upper)
        if prefix is not None:
            self._take()
            return prefix(self)
        return self._postfixed(self._primary())

    def negation(self) -> syntax.Tree:
        return syntax.Not(self.expression(_NOT))

    def minus(self) -> syntax.Tree:
        operand = self.expression(_PRODUCT)
        if isinstance(operand, syntax.Number) and operand.digits[0] != "-":
            return syntax.Number(f"-{operand.digits}")
        return syntax.Negative(operand)

    def plus(self) -> syntax.Tree:
        return self.expression(_PRODUCT)

    def _primary(self) -> syntax.Tree:
        word = self._next
        if word.kind in (Kind.WORD, Kind.NAME):
            return self._named()
        self._at += 1
        match word.kind:
            case Kind.NUMBER:
                return syntax.Number(word.text)
            case Kind.TEXT:
                return syntax.Text(word.text)
            case Kind.BYTES:
                return syntax.Bytes(word.text)
        if word.text == "(":
            return self._parenthesis()
        if word.text == "[":
            return syntax.ListLiteral(self._list("]"))
        self._at -= 1
        raise self._unexpected()

    def _parenthesis(self) -> syntax.Tree:
        if self._next.upper == "SELECT":
            raise UnsupportedFeatureError("a subquery is not supported in an expression")
        tree = self.expression()
        if self._next.upper == ",":
            raise UnsupportedFeatureError("a tuple is not supported in an expression")
        self._expect(")")
        return tree

    def _named(self) -> syntax.Tree:
        word = self._take()
        following = self._next
        if word.kind is Kind.WORD:
            special = _SPECIAL.get(word.upper)
            if special is not None and (word.upper not in _CALLS or following.upper == "("):
                return special(self)
            if word.upper in _RESERVED:
                self._at -= 1
                raise self._unexpected()
            if following.upper == "(":
                return self._call(word)
            if word.upper == "ARRAY" and self._accept("["):
                return syntax.ListLiteral(self._list("]"))
            if word.upper in _TYPED and following.kind is Kind.TEXT:
                return syntax.Cast(syntax.Text(self._take().text), syntax.TypeName(word.upper, ()))
            if word.upper == "INTERVAL" and following.kind in (Kind.TEXT, Kind.NUMBER):
                return self._interval()
        parts = [Name(word.text, word.kind is Kind.NAME)]
        while self._next.upper == ".":
            self._take()
            parts.append(self._name())
        return syntax.NameReference(tuple(parts))

    def _name(self) -> Name:
        word = self._next
        if word.kind not in (Kind.WORD, Kind.NAME):
            raise self._unexpected("a name is expected")
        self._take()
        return Name(word.text, word.kind is Kind.NAME)

    def _call(self, name: Word) -> syntax.Tree:
        self._expect("(")
        if self._next.upper in ("SELECT", "*", "DISTINCT"):
            raise UnsupportedFeatureError(
                f"{name.text}({self._next.text} …) is not supported in an expression"
            )
        start = self._at
        numbers = self._numbers() if name.upper in _WITH_NUMBERS else ()
        if numbers:
            text = self._take()
            if text.kind is Kind.TEXT:
                return syntax.Cast(syntax.Text(text.text), syntax.TypeName(name.upper, numbers))
        self._at = start
        return syntax.FunctionCall(name.text, self._list(")", _SEPARATORS.get(name.upper, ())))

    def _numbers(self) -> tuple[int, ...]:
        """Parse integers separated by commas, and ``)``; return ``()`` for other words."""
        numbers = []
        while self._next.kind is Kind.NUMBER and self._next.text.isdecimal():
            numbers.append(int(self._take().text[:9]))
            if self._accept(")"):
                return tuple(numbers)
            if not self._accept(","):
                break
        return ()

    def _postfixed(self, tree: syntax.Tree) -> syntax.Tree:
        wrapped = 0
        while True:
            sign = self._next.upper
            if sign not in ("[", "::", "."):
                return tree
            wrapped += 1
            self._check_depth(self._depth + wrapped)
            self._take()
            if sign == "[":
                tree = syntax.Subscript(tree, self.expression())
                self._expect("]")
            elif sign == "::":
                tree = syntax.Cast(tree, self._type())
            else:
                tree = syntax.Member(tree, self._name().text)

    def _type(self) -> syntax.TypeName:
        word = self._next
        if word.kind is not Kind.WORD:
            raise self._unexpected("a type is expected")
        self._take()
        name = word.upper
        if name in _LONG_TYPES and self._accept(*_LONG_TYPES[name]):
            name = f"{name} {_LONG_TYPES[name][0]}"
        if name in _INTEGERS and self._accept("UNSIGNED"):
            name = f"{name} UNSIGNED"
        numbers: tuple[int, ...] = ()
        if self._accept("("):
            numbers = self._numbers()
            if not numbers:
                raise UnsupportedFeatureError(f"the type {name} with these arguments in CAST")
        return syntax.TypeName(name, numbers)

    def cast(self) -> syntax.Tree:
        strict = self._words[self._at - 1].upper == "CAST"
        self._expect("(")
        operand = self.expression()
        self._expect("AS")
        type_ = self._type()
        self._expect(")")
        return syntax.Cast(operand, type_, strict)

    def _interval(self) -> syntax.Tree:
        """Parse ``'1 day'``, ``'1' DAY`` or ``1 DAY``."""
        text = self._take().text
        if self._next.kind is Kind.WORD and self._next.text.lower() in INTERVAL_UNITS:
            text = f"{text} {self._take().text}"
        return syntax.Cast(syntax.Text(text), syntax.TypeName("INTERVAL", ()))

    def extract(self) -> syntax.Tree:
        self._expect("(")
        part = self._take()
        if part.kind not in (Kind.WORD, Kind.TEXT):
            self._at -= 1
            raise self._unexpected("a part of a date is expected")
        self._expect("FROM")
        operand = self.expression()
        self._expect(")")
        return syntax.FunctionCall("date_part", (syntax.Text(part.text), operand))

    def clock(self) -> syntax.Tree:
        """Parse ``current_date`` or ``current_timestamp``, with or without parentheses."""
        name = self._words[self._at - 1].text
        self._accept("(", ")")
        return syntax.FunctionCall(name, ())

    def case(self) -> syntax.Tree:
        subject = None if self._next.upper == "WHEN" else self.expression()
        branches = []
        while self._accept("WHEN"):
            test = self.expression()
            self._expect("THEN")
            branches.append((test, self.expression()))
        if not branches:
            raise self._unexpected("WHEN is expected")
        default = self.expression() if self._accept("ELSE") else None
        self._expect("END")
        return syntax.Case(subject, tuple(branches), default)


def literals(body: str) -> syntax.Literals:
    """The literals of an IN list, which commas separate."""
    try:
        numbers = list(map(int, body.split(",")))
    except ValueError:
        return _literals_of_kinds(body)
    if max(numbers) >= _INTEGER_LIMIT or min(numbers) <= -_INTEGER_LIMIT:
        return _literals_of_kinds(body)
    return syntax.Literals(numbers, [], [], has_null=False)


def _literals_of_kinds(body: str) -> syntax.Literals:
    integers: list[int] = []
    fractions: list[str] = []
    texts: list[str] = []
    has_null = False
    for literal in split_literals(body):
        if literal[0] == "'":
            texts.append(literal[1:-1].replace("''", "'"))
        elif len(literal) <= _DIGITS and literal.lstrip("+-").isdecimal():
            integers.append(int(literal))
        elif literal[0] in "nN":
            has_null = True
        else:
            fractions.append(literal.removeprefix("+"))
    return syntax.Literals(integers, fractions, texts, has_null)


_DIGITS = 40
"""Maximum digits of an integer in an IN list; longer ones are read as floats."""

_INTEGER_LIMIT = 10 ** (_DIGITS - 1)

_PREFIXES: Mapping[str, Callable[[_Parser], syntax.Tree]] = {
    "NOT": _Parser.negation,
    "-": _Parser.minus,
    "+": _Parser.plus,
}
_SPECIAL: Mapping[str, Callable[[_Parser], syntax.Tree]] = {
    "NULL": lambda _: syntax.Null(),
    "TRUE": lambda _: syntax.Boolean(True),
    "FALSE": lambda _: syntax.Boolean(False),
    "CAST": _Parser.cast,
    "TRY_CAST": _Parser.cast,
    "EXTRACT": _Parser.extract,
    "CASE": _Parser.case,
    "CURRENT_DATE": _Parser.clock,
    "CURRENT_TIMESTAMP": _Parser.clock,
}
_CALLS = frozenset({"CAST", "TRY_CAST", "EXTRACT"})
_SEPARATORS: Mapping[str, Sequence[str]] = {
    "OVERLAY": ("PLACING", "FROM", "FOR"),
    "SUBSTR": ("FROM", "FOR"),
    "SUBSTRING": ("FROM", "FOR"),
}
"""Words of the standard that may stand for the commas in a call, as in ``substring(s FROM 2)``."""

_RESERVED = frozenset(
    {
        *("AND", "OR", "IN", "IS", "LIKE", "ILIKE", "BETWEEN", "ESCAPE", "AS"),
        *("WHEN", "THEN", "ELSE", "END", "DISTINCT", "SELECT", "FROM"),
    }
)
"""Keywords: they name a column only in backticks, or if the text cannot be parsed otherwise."""
