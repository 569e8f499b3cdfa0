"""The syntax tree of an SQL expression, before names and types are resolved.

A chain of one operator is one flat node, so that a long expression does not make a deep tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Name:
    """One part of a dotted name."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class NameReference:
    """A dotted name."""

    parts: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: digits, perhaps with a sign, point and exponent."""

    digits: str


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    value: str


@dataclass(frozen=True, slots=True)
class Bytes:
    """Hexadecimal digits."""

    digits: str


@dataclass(frozen=True, slots=True)
class Boolean:
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True, slots=True)
class Null:
    """NULL."""


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """``[a, b]``."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Literals:
    """The literals of a long IN list, by kind.

    ``fractions``: the text of all numbers that are not in ``integers``.
    """

    integers: list[int]
    fractions: list[str]
    texts: list[str]
    has_null: bool


@dataclass(frozen=True, slots=True)
class Logic:
    """``operands`` joined by AND or by OR."""

    is_and: bool
    operands: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """NOT."""

    operand: Tree


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: Tree


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A chain of operators: ``first``, then pairs of an operator and its right operand."""

    first: Tree
    rest: tuple[tuple[str, Tree], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One of = <> < <= > >=."""

    operator: str
    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Distinct:
    """IS [NOT] DISTINCT FROM."""

    left: Tree
    right: Tree
    negated: bool


@dataclass(frozen=True, slots=True)
class Is:
    """IS [NOT] NULL, TRUE or FALSE; ``value`` is None for NULL."""

    subject: Tree
    value: bool | None
    negated: bool


@dataclass(frozen=True, slots=True)
class In:
    """[NOT] IN."""

    subject: Tree
    choices: tuple[Tree, ...] | Literals
    negated: bool


@dataclass(frozen=True, slots=True)
class Between:
    """[NOT] BETWEEN."""

    subject: Tree
    low: Tree
    high: Tree
    negated: bool


@dataclass(frozen=True, slots=True)
class Like:
    """[NOT] LIKE or ILIKE."""

    subject: Tree
    pattern: Tree
    escape: str
    ignore_case: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class SimilarTo:
    """[NOT] SIMILAR TO."""

    subject: Tree
    pattern: Tree
    escape: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Regexp:
    """``~``, or ``~*`` if ``ignore_case``; with ``!`` before it if ``negated``."""

    subject: Tree
    pattern: Tree
    ignore_case: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type in CAST: the name in upper case, and the numbers in parentheses after it."""

    name: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """CAST, ``::``, or a literal after a type, such as ``DATE '2024-02-29'``.

    ``strict``: False for TRY_CAST, which returns NULL instead of an error.
    """

    operand: Tree
    type: TypeName
    strict: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """CASE; a ``subject``, if given, is compared with the test of each branch."""

    subject: Tree | None
    branches: tuple[tuple[Tree, Tree], ...]
    default: Tree | None


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call by name."""

    name: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Subscript:
    """``subject[index]``."""

    subject: Tree
    index: Tree


@dataclass(frozen=True, slots=True)
class Member:
    """``subject.name``, where the subject is not a dotted name."""

    subject: Tree
    name: str


Tree = (
    NameReference
    | Number
    | Text
    | Bytes
    | Boolean
    | Null
    | ListLiteral
    | Logic
    | Not
    | Negative
    | Arithmetic
    | Comparison
    | Distinct
    | Is
    | In
    | Between
    | Like
    | SimilarTo
    | Regexp
    | Cast
    | Case
    | FunctionCall
    | Subscript
    | Member
)

INTERVAL_UNITS: Mapping[str, tuple[int, int, int]] = {
    **dict.fromkeys(("millennium", "millennia"), (12_000, 0, 0)),
    **dict.fromkeys(("century", "centuries"), (1200, 0, 0)),
    **dict.fromkeys(("decade", "decades"), (120, 0, 0)),
    **dict.fromkeys(("year", "years", "yr", "yrs", "y"), (12, 0, 0)),
    **dict.fromkeys(("quarter", "quarters"), (3, 0, 0)),
    **dict.fromkeys(("month", "months", "mon", "mons"), (1, 0, 0)),
    **dict.fromkeys(("week", "weeks", "w"), (0, 7, 0)),
    **dict.fromkeys(("day", "days", "d"), (0, 1, 0)),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), (0, 0, 3600 * 10**9)),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), (0, 0, 60 * 10**9)),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), (0, 0, 10**9)),
    **dict.fromkeys(("millisecond", "milliseconds", "msec", "msecs", "ms"), (0, 0, 10**6)),
    **dict.fromkeys(("microsecond", "microseconds", "usec", "usecs", "us"), (0, 0, 10**3)),
    **dict.fromkeys(("nanosecond", "nanoseconds", "nsec", "nsecs", "ns"), (0, 0, 1)),
}
"""Months, days and nanoseconds of each unit of an interval, by its name in lower case."""
