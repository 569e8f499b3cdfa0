"""Translate the condition of a scan to queries that indices may answer.

`condition_of` translates a node of a planned SQL condition. Truth is three-valued, so each lookup
states which of the results TRUE, FALSE and NULL its rows must have; this makes NOT a part of the
lookups. Floats have the same total order in indices and in SQL, except that SQL's 0.0 equals -0.0:
the translation accounts for this.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    And,
    AnswerUnlessNull,
    CallNode,
    Coerce,
    ColumnNode,
    Compare,
    Constant,
    HasItem,
    HasPrefix,
    HasSubstring,
    HasSuffix,
    InList,
    JsonField,
    LikePattern,
    Negation,
    Node,
    NullTest,
    Operator,
    Or,
    RegexMatch,
    TruthTest,
    json_key,
    operands_of,
)
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.encodings.arrow.numpy_values import from_numpy, to_scalar
from lance_core.index.queries import (
    Contains,
    HasAny,
    IndexQuery,
    InRange,
    IsIn,
    IsNull,
    MatchesRegex,
    OfJsonField,
    PlainQuery,
    StartsWith,
    is_above,
)
from lance_core.lazy_dataclass import dataclass

Path: TypeAlias = tuple[str, ...]


class Truth(enum.Enum):
    """Which results of a condition select a row."""

    TRUE = "TRUE"
    FALSE = "FALSE"
    NOT_TRUE = "FALSE or NULL"
    NOT_FALSE = "TRUE or NULL"

    @property
    def needs_all(self) -> bool:
        """True if an AND has such a result only if both operands have such a result."""
        return self in (Truth.TRUE, Truth.NOT_FALSE)


_NEGATED = {
    Truth.TRUE: Truth.FALSE,
    Truth.FALSE: Truth.TRUE,
    Truth.NOT_TRUE: Truth.NOT_FALSE,
    Truth.NOT_FALSE: Truth.NOT_TRUE,
}


@dataclass(frozen=True, slots=True, eq=False)
class ColumnLookup:
    """The rows for which a query of the column at ``path`` has one of the results ``truth``.

    ``kind``: the type of the value. ``implied``: True if the condition implies the query, but is
    not equivalent to it. ``keys``: for a query of a field of JSON documents, which is converted to
    ``kind``, the keys of objects inside each other.
    """

    path: Path
    kind: pa.DataType
    query: PlainQuery
    truth: Truth = Truth.TRUE
    implied: bool = False
    keys: tuple[str, ...] = ()

    @property
    def value(self) -> object:
        """Identifies what the query compares: the column, or the field and its type."""
        return (self.path, self.keys, self.kind) if self.keys else self.path

    @property
    def column_kind(self) -> pa.DataType:
        """The type of the column in files."""
        return pa.large_binary() if self.keys else self.kind

    @property
    def index_query(self) -> IndexQuery:
        """The query as an index of the column gets it."""
        return OfJsonField(self.keys, self.kind, self.query) if self.keys else self.query


@dataclass(frozen=True, slots=True, eq=False)
class AllOf:
    """The rows that all ``parts`` select."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """The rows that at least one of ``parts`` selects; without parts, no rows."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition that cannot be expressed as a query of an index."""


Condition: TypeAlias = ColumnLookup | AllOf | AnyOf | Unknown

_FLOATS = frozenset(type_.id for type_ in (pa.float16(), pa.float32(), pa.float64()))

_UNKNOWN = Unknown()
_NOTHING = AnyOf(())


class Conjunct(NamedTuple):
    """Operands of an AND, and the condition that they all are TRUE."""

    nodes: tuple[Node, ...]
    condition: Condition


def conjuncts_of(node: Node) -> list[Conjunct]:
    """The conditions of which ``node`` is the AND.

    Several ranges of one column, and several excluded values of one column, are one part.
    """
    translation = _Translation()
    groups: dict[object, list[tuple[Node, Condition]]] = {}
    for operand in operands_of(node, And):
        lookup = translation.of(operand, Truth.TRUE)
        key: object = id(operand)
        if isinstance(lookup, ColumnLookup):
            truth, kind = lookup.truth, type(lookup.query)
            if (truth is Truth.TRUE and kind is InRange) or (truth is Truth.FALSE and kind is IsIn):
                key = lookup.value, truth
        groups.setdefault(key, []).append((operand, lookup))
    parts = []
    for group in groups.values():
        operands, conditions = zip(*group, strict=True)
        whole = conditions[0] if len(group) == 1 else all_of(conditions)
        parts.append(Conjunct(operands, _in_total_order(whole)))
    return parts


class _Translation:
    """The translation of one condition. Counts its calls, which may be shared by many parents."""

    def __init__(self) -> None:
        self._left = tuning().indices.max_calls

    def of(self, node: Node, truth: Truth) -> Condition:
        """The rows for which ``node`` has one of the results ``truth``."""
        self._left -= 1
        if self._left < 0 or isinstance(node, Constant):
            return _UNKNOWN
        value = _value(node)
        if value is not None:
            return _of_boolean(value, truth)
        assert isinstance(node, CallNode)
        operator = node.operator
        if isinstance(operator, And | Or):
            parts = [self.of(operand, truth) for operand in operands_of(node, type(operator))]
            needs_all = isinstance(operator, And) == truth.needs_all
            return all_of(parts) if needs_all else any_of(parts)
        if not node.arguments:
            return _UNKNOWN
        first, rest = node.arguments[0], node.arguments[1:]
        match operator:
            case Negation():
                return self.of(first, _NEGATED[truth])
            case TruthTest(True):
                return self.of(first, Truth.TRUE if truth.needs_all else Truth.NOT_TRUE)
            case TruthTest(False):
                return self.of(first, Truth.FALSE if truth.needs_all else Truth.NOT_FALSE)
        value = _value(first)
        return _UNKNOWN if value is None else _lookup(operator, value, rest, truth)


def all_of(parts: Sequence[Condition]) -> Condition:
    """The rows that all ``parts`` select; ranges of one column are merged."""
    flat = list(_flat(parts, AllOf))
    ranges: dict[object, list[ColumnLookup]] = {}
    excluded: dict[object, list[ColumnLookup]] = {}
    others: list[Condition] = []
    for condition in flat:
        if _asks(condition, Truth.TRUE, InRange):
            ranges.setdefault(condition.value, []).append(condition)
        elif _asks(condition, Truth.FALSE, IsIn):
            excluded.setdefault(condition.value, []).append(condition)
        else:
            others.append(condition)
    merged = [_intersection(lookups) for lookups in ranges.values()]
    merged += [_members(lookups) for lookups in excluded.values()]
    if any(
        isinstance(condition, AnyOf) and not condition.parts for condition in [*merged, *others]
    ):
        return _NOTHING
    conditions = [*merged, *others]
    return conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))


def any_of(parts: Sequence[Condition]) -> Condition:
    """The rows that at least one of ``parts`` selects; values of one column are merged."""
    flat = list(_flat(parts, AnyOf))
    if any(isinstance(condition, Unknown) for condition in flat):
        return _UNKNOWN
    members: dict[object, list[ColumnLookup]] = {}
    others: list[Condition] = []
    for condition in flat:
        if _asks(condition, Truth.TRUE, IsIn):
            members.setdefault(condition.value, []).append(condition)
        else:
            others.append(condition)
    conditions = [*map(_members, members.values()), *others]
    return conditions[0] if len(conditions) == 1 else AnyOf(tuple(conditions))


def _asks(condition: Condition, truth: Truth, query: type[IndexQuery]) -> TypeGuard[ColumnLookup]:
    """True if ``condition`` is a lookup by such a query, with such results."""
    return (
        isinstance(condition, ColumnLookup)
        and condition.truth is truth
        and isinstance(condition.query, query)
    )


def _flat(parts: Iterable[Condition], condition_class: type[AllOf | AnyOf]) -> Iterator[Condition]:
    for part in parts:
        if isinstance(part, condition_class):
            yield from part.parts
        else:
            yield part


def _members(lookups: Sequence[ColumnLookup]) -> ColumnLookup:
    """One lookup of the values of all."""
    if len(lookups) == 1:
        return lookups[0]
    values = pa.concat_arrays(
        [lookup.query.values for lookup in lookups if isinstance(lookup.query, IsIn)]
    )
    return replace(lookups[0], query=IsIn(values))


def _intersection(lookups: Sequence[ColumnLookup]) -> ColumnLookup:
    """One lookup of the range that is in all ranges."""
    lower, upper, has_lower, has_upper = None, None, True, True
    for lookup in lookups:
        query = lookup.query
        assert isinstance(query, InRange)
        if query.lower is not None:
            is_more = lower is None or is_above(query.lower, lower)
            if is_more or query.lower.equals(lower):
                has_lower = query.includes_lower and (is_more or has_lower)
                lower = query.lower
        if query.upper is not None:
            is_less = upper is None or is_above(upper, query.upper)
            if is_less or query.upper.equals(upper):
                has_upper = query.includes_upper and (is_less or has_upper)
                upper = query.upper
    return replace(lookups[0], query=InRange(lower, upper, has_lower, has_upper))


@dataclass(frozen=True, slots=True, eq=False)
class _Value:
    """A column or, if there are ``keys``, a field of its JSON documents; see `ColumnLookup`."""

    path: Path
    type: pa.DataType
    keys: tuple[str, ...] = ()

    def lookup(
        self, query: PlainQuery, truth: Truth = Truth.TRUE, *, implied: bool = False
    ) -> ColumnLookup:
        """The rows for which ``query`` of this value has one of the results ``truth``."""
        return ColumnLookup(self.path, self.type, query, truth, implied, self.keys)


def _of_boolean(value: _Value, truth: Truth) -> Condition:
    if not pa.types.is_boolean(value.type):
        return _UNKNOWN
    if truth is Truth.FALSE:
        return value.lookup(IsIn(from_numpy(np.array([False]))))
    return value.lookup(IsIn(from_numpy(np.array([True]))), truth)


def _value(node: Node) -> _Value | None:
    """The column or the field of JSON documents that ``node`` is.

    Extension types are compared as their storage types.
    """
    if isinstance(node, ColumnNode):
        return _Value(node.path, node.type)
    if not isinstance(node, CallNode) or not node.arguments:
        return None
    inner = node.arguments[0]
    if len(node.arguments) == 1:
        if not isinstance(node.operator, Coerce) or not isinstance(inner, ColumnNode):
            return None
        is_extension = isinstance(inner.type, pa.BaseExtensionType)
        is_storage = is_extension and node.type == inner.type.storage_type
        return _Value(inner.path, node.type) if is_storage else None
    key = json_key(node) if isinstance(node.operator, JsonField) else None
    outer = None if key is None else _value(inner)
    if key is None or outer is None or not pa.types.is_large_binary(outer.type):
        return None
    return _Value(outer.path, node.type, (*outer.keys, key))


def _lookup(operator: Operator, column: _Value, rest: tuple[Node, ...], truth: Truth) -> Condition:
    """The rows for which ``operator`` of a column and ``rest`` has one of the results ``truth``."""
    match operator:
        case Compare(sign):
            return _compared(sign, column, rest[0], truth)
        case NullTest():
            return column.lookup(IsNull(), Truth.TRUE if truth.needs_all else Truth.FALSE)
        case AnswerUnlessNull(answer):
            return _unless_null(answer, column, truth)
        case InList():
            return _in_list(operator, column, truth)
        case HasItem(test):
            return _has_item(test, column, truth)
    return _text_search(operator, column, truth)


def _text_search(operator: Operator, column: _Value, truth: Truth) -> Condition:
    match operator:
        case HasPrefix("") | HasSubstring(""):
            return _unless_null(True, column, truth)
        case HasPrefix(text):
            return column.lookup(StartsWith(text), truth)
        case HasSubstring(text):
            return column.lookup(Contains(text), truth)
        case HasSuffix(text) if text and truth is Truth.TRUE:
            return column.lookup(Contains(text), implied=True)
        case LikePattern(pieces=pieces, ignore_case=False) if truth is Truth.TRUE:
            return _like(pieces, column)
        case RegexMatch(pattern, "") if truth is Truth.TRUE:
            return column.lookup(MatchesRegex(pattern))
    return _UNKNOWN


def _compared(sign: str, column: _Value, literal: Node, truth: Truth) -> Condition:
    """The rows of a comparison with a literal that has exactly the type of the column."""
    if not isinstance(literal, Constant):
        return _UNKNOWN
    value = literal.value
    if not value.is_valid or value.type != column.type:
        return _UNKNOWN
    if value.type.id in _FLOATS and math.isnan(value.as_py()):
        return _UNKNOWN
    return _comparison(sign, column, value, truth)


def _comparison(operator: str, column: _Value, literal: Any, truth: Truth) -> Condition:
    if operator == "<>":
        return _comparison("=", column, literal, _NEGATED[truth])
    if truth is Truth.FALSE and operator in _OPPOSITE:
        return _comparison(_OPPOSITE[operator], column, literal, Truth.TRUE)
    query: PlainQuery
    if operator == "=":
        query = IsIn(pa.repeat(literal, 1))
    elif operator in ("<", "<="):
        query = InRange(None, literal, includes_upper=operator == "<=")
    else:
        query = InRange(literal, None, includes_lower=operator == ">=")
    return column.lookup(query, truth)


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _unless_null(answer: bool, column: _Value, truth: Truth) -> Condition:
    """The rows of a test with the result ``answer`` for all values but NULL."""
    own = Truth.TRUE if answer else Truth.FALSE
    if truth is own:
        return column.lookup(IsNull(), Truth.FALSE)
    if truth in (Truth.TRUE, Truth.FALSE):
        return _NOTHING
    if truth is _MAY_BE_NULL[_NEGATED[own]]:
        return column.lookup(IsNull(), Truth.TRUE)
    return _UNKNOWN  # all rows


_MAY_BE_NULL = {Truth.TRUE: Truth.NOT_FALSE, Truth.FALSE: Truth.NOT_TRUE}


def _in_list(operator: InList, column: _Value, truth: Truth) -> Condition:
    values = operator.values
    is_float = pa.types.is_floating(values.type)
    if values.type != column.type or (is_float and pc.any(pc.is_nan(values)).as_py()):
        return _UNKNOWN
    if operator.has_null and truth is not Truth.TRUE:
        return _NOTHING if truth is Truth.FALSE else _UNKNOWN
    if not len(values):
        return _unless_null(False, column, truth)
    return column.lookup(IsIn(values), truth)


def _like(pieces: Sequence[str], column: _Value) -> Condition:
    """A pattern with several wildcards: its literal texts are in all strings that match."""
    parts: list[Condition] = []
    for number, piece in enumerate(pieces):
        if piece.startswith("="):
            query = Contains(piece[1:]) if number else StartsWith(piece[1:])
            parts.append(column.lookup(query, implied=True))
    return all_of(parts) if parts else _UNKNOWN


def _has_item(test: Node, column: _Value, truth: Truth) -> Condition:
    condition = _Translation().of(test, Truth.TRUE)
    if not isinstance(condition, ColumnLookup) or not isinstance(condition.query, IsIn):
        return _UNKNOWN
    return column.lookup(HasAny(_with_both_zeros(condition.query.values)), truth)


def _in_total_order(condition: Condition) -> Condition:
    """``condition`` with lookups of floats as an index sorts them."""
    if isinstance(condition, AllOf | AnyOf):
        return replace(condition, parts=tuple(map(_in_total_order, condition.parts)))
    if isinstance(condition, Unknown) or condition.kind.id not in _FLOATS:
        return condition
    query = condition.query
    if isinstance(query, IsIn):
        return replace(condition, query=IsIn(_with_both_zeros(query.values)))
    if not isinstance(query, InRange):
        return condition
    ordered = InRange(
        _zero(query.lower, is_negative=query.includes_lower),
        _zero(query.upper, is_negative=not query.includes_upper),
        query.includes_lower,
        query.includes_upper,
    )
    return replace(condition, query=ordered)


def _zero(value: pa.Scalar | None, *, is_negative: bool) -> pa.Scalar | None:
    """``value``, with the sign of ``is_negative`` if it is zero."""
    if value is None or value.as_py() != 0:
        return value
    return to_scalar(-0.0 if is_negative else 0.0, pa.float64()).cast(value.type)


def _with_both_zeros(values: pa.Array) -> pa.Array:
    """``values``; of floats, with both zeros if there is one."""
    if not pa.types.is_floating(values.type):
        return values
    floats = values.to_numpy(zero_copy_only=False)
    if not (floats == 0).any():
        return values
    rest = floats[floats != 0]
    return from_numpy(np.concatenate([rest, np.array([-0.0, 0.0], rest.dtype)]))
