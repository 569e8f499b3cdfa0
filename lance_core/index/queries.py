"""Conditions on one column that an index may answer.

Values have exactly the type of the indexed column (list indices: of its items) and are not null.
They are compared as an index sorts them: floats in total order, in which -0.0 is below 0.0, a NaN
with a sign below all numbers and other NaN above. The creator of a query gives both zeros where SQL
does not distinguish them. All queries are NULL for a null value of the column, except `IsNull`.
"""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class IsIn:
    """The value is one of ``values``, which has at least one entry; also for ``=``."""

    values: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class InRange:
    """The value is between two bounds; a bound that is None does not exist."""

    lower: pa.Scalar | None = None
    upper: pa.Scalar | None = None
    includes_lower: bool = True
    includes_upper: bool = True

    @property
    def is_reversed(self) -> bool:
        """True if the lower bound is above the upper one: no value satisfies the query."""
        if self.lower is None or self.upper is None:
            return False
        return is_above(self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class IsNull:
    """The value is null."""


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The string starts with ``prefix``, which is not empty."""

    prefix: str


@dataclass(frozen=True, slots=True)
class Contains:
    """The string contains ``text``, which is not empty."""

    text: str


@dataclass(frozen=True, slots=True)
class MatchesRegex:
    """The string matches the regular expression ``pattern`` somewhere."""

    pattern: str


@dataclass(frozen=True, slots=True, eq=False)
class HasAny:
    """The list contains at least one of ``values``, which has at least one entry."""

    values: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class HasAll:
    """The list contains all ``values``, of which there is at least one."""

    values: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class OfJsonField:
    """A field of the JSON document satisfies ``query``.

    ``keys``: the keys of objects inside each other, outermost first; there is at least one.
    ``kind``: the type to which the functions ``json_get_bool``, ``json_get_int``,
    ``json_get_float`` and ``json_get_string`` convert the field. ``query`` is a query of such
    values; the value is null if the document or the field is null, and if there is no such field.
    """

    keys: tuple[str, ...]
    kind: pa.DataType
    query: PlainQuery


def is_above(value: pa.Scalar, other: pa.Scalar) -> bool:
    """True if ``value`` is greater than ``other``, which has the same type."""
    if pa.types.is_float16(value.type):  # Arrow does not compare half floats
        return bool(value.as_py() > other.as_py())
    return bool(pc.greater(value, other).as_py())


PlainQuery: TypeAlias = (
    IsIn | InRange | IsNull | StartsWith | Contains | MatchesRegex | HasAny | HasAll
)
"""A query of the value of a column."""

IndexQuery: TypeAlias = PlainQuery | OfJsonField
"""A condition on an indexed column, or on a field of its JSON documents."""
