"""Translate the condition of a scan to queries that indices may answer.

`condition_of` translates a node of a planned SQL condition. Truth is three-valued, so each lookup
states which of the results TRUE, FALSE and NULL its rows must have; this makes NOT a part of the
lookups. Floats have the same total order in indices and in SQL, except that SQL's 0.0 equals -0.0:
the translation accounts for this.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import (
    chunks,
    coerce,
    compare,
    json_functions,
    like,
    lists,
    logic,
    membership,
    regexp,
)
from lance_core.dataset.expressions.sql.interval_analysis import function_of
from lance_core.dataset.expressions.sql.node import CallNode, ColumnNode, Constant, Kernel, Node
from lance_core.encodings.arrow.numpy_values import from_numpy
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

MAX_PARTS = 1000
"""Maximum calls in a condition that is translated; more would take longer than they may save."""

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
    for one in _operands(node, pc.and_kleene):
        found = translation.of(one, Truth.TRUE)
        key: object = id(one)
        if _asks(found, Truth.TRUE, InRange) or _asks(found, Truth.FALSE, IsIn):
            key = found.value, found.truth
        groups.setdefault(key, []).append((one, found))
    parts = []
    for group in groups.values():
        whole = all_of([condition for _, condition in group])
        parts.append(Conjunct(tuple(one for one, _ in group), _in_total_order(whole)))
    return parts


def _operands(node: Node, kernel: Kernel) -> Iterator[Node]:
    """The operands of nested calls of ``kernel``, which may be deeper than Python's stack."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, CallNode) and one.kernel is kernel:
            waiting.extend(reversed(one.arguments))
        else:
            yield one


class _Translation:
    """The translation of one condition. Counts its calls, which may be shared by many parents."""

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def of(self, node: Node, truth: Truth) -> Condition:
        """The rows for which ``node`` has one of the results ``truth``."""
        self._left -= 1
        if self._left < 0 or isinstance(node, Constant):
            return _UNKNOWN
        value = _value(node)
        if value is not None:
            return _of_boolean(value, truth)
        assert isinstance(node, CallNode)
        function, options = function_of(node.kernel)
        if function in (pc.and_kleene, pc.or_kleene):
            parts = [self.of(one, truth) for one in _operands(node, node.kernel)]
            needs_all = (function is pc.and_kleene) == truth.needs_all
            return all_of(parts) if needs_all else any_of(parts)
        if not node.arguments:
            return _UNKNOWN
        first = node.arguments[0]
        if function is pc.invert:
            return self.of(first, _NEGATED[truth])
        if function is logic.known_true:
            return self.of(first, Truth.TRUE if truth.needs_all else Truth.NOT_TRUE)
        if function is logic.known_false:
            return self.of(first, Truth.FALSE if truth.needs_all else Truth.NOT_FALSE)
        value = _value(first)
        rule = None if value is None else _RULES.get(function)
        if value is None or rule is None:
            return _UNKNOWN
        return rule(value, node.arguments[1:], options, truth)


def all_of(parts: Sequence[Condition]) -> Condition:
    """The rows that all ``parts`` select; ranges of one column are merged."""
    flat = list(_flat(parts, AllOf))
    ranges: dict[object, list[ColumnLookup]] = {}
    excluded: dict[object, list[ColumnLookup]] = {}
    others: list[Condition] = []
    for one in flat:
        if _asks(one, Truth.TRUE, InRange):
            ranges.setdefault(one.value, []).append(one)
        elif _asks(one, Truth.FALSE, IsIn):
            excluded.setdefault(one.value, []).append(one)
        else:
            others.append(one)
    merged = [_intersection(some) for some in ranges.values()]
    merged += [_members(some) for some in excluded.values()]
    if any(isinstance(one, AnyOf) and not one.parts for one in [*merged, *others]):
        return _NOTHING
    found = [*merged, *others]
    return found[0] if len(found) == 1 else AllOf(tuple(found))


def any_of(parts: Sequence[Condition]) -> Condition:
    """The rows that at least one of ``parts`` selects; values of one column are merged."""
    flat = list(_flat(parts, AnyOf))
    if any(isinstance(one, Unknown) for one in flat):
        return _UNKNOWN
    members: dict[object, list[ColumnLookup]] = {}
    others: list[Condition] = []
    for one in flat:
        if _asks(one, Truth.TRUE, IsIn):
            members.setdefault(one.value, []).append(one)
        else:
            others.append(one)
    found = [*map(_members, members.values()), *others]
    return found[0] if len(found) == 1 else AnyOf(tuple(found))


def _asks(one: Condition, truth: Truth, query: type[IndexQuery]) -> TypeGuard[ColumnLookup]:
    """True if ``one`` is a lookup by such a query, with such results."""
    return isinstance(one, ColumnLookup) and one.truth is truth and isinstance(one.query, query)


def _flat(parts: Iterable[Condition], kind: type[AllOf | AnyOf]) -> Iterator[Condition]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts
        else:
            yield part


def _members(some: Sequence[ColumnLookup]) -> ColumnLookup:
    """One lookup of the values of all."""
    if len(some) == 1:
        return some[0]
    values = pa.concat_arrays([one.query.values for one in some if isinstance(one.query, IsIn)])
    return replace(some[0], query=IsIn(values))


def _intersection(some: Sequence[ColumnLookup]) -> ColumnLookup:
    """One lookup of the range that is in all ranges."""
    lower, upper, has_lower, has_upper = None, None, True, True
    for one in some:
        query = one.query
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
    return replace(some[0], query=InRange(lower, upper, has_lower, has_upper))


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
        return value.lookup(IsIn(pa.array([False])))
    return value.lookup(IsIn(pa.array([True])), truth)


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
        is_cast = function_of(node.kernel)[0] is coerce.cast_value
        if not is_cast or not isinstance(inner, ColumnNode):
            return None
        is_extension = isinstance(inner.type, pa.BaseExtensionType)
        is_storage = is_extension and node.type == inner.type.storage_type
        return _Value(inner.path, node.type) if is_storage else None
    key = json_functions.field_key(node)
    outer = None if key is None else _value(inner)
    if key is None or outer is None or not pa.types.is_large_binary(outer.type):
        return None
    return _Value(outer.path, node.type, (*outer.keys, key))


_Rest: TypeAlias = "tuple[Node, ...]"
_Options: TypeAlias = Mapping[str, Any]
_Rule: TypeAlias = "Callable[[_Value, _Rest, _Options, Truth], Condition]"


def _literal(column: _Value, rest: _Rest) -> pa.Scalar | None:
    """The literal of a comparison, with exactly the type of the column."""
    if len(rest) != 1 or not isinstance(rest[0], Constant) or rest[0].is_null:
        return None
    value = rest[0].value
    return value if value.type == column.type else None


def _compared(operator: str) -> _Rule:
    """The rule of a comparison with a literal."""

    def rule(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
        literal = _literal(column, rest)
        return _UNKNOWN if literal is None else _comparison(operator, column, literal, truth)

    return rule


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


def _with_float(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    literal = _literal(column, rest)
    if literal is None or math.isnan(literal.as_py()):
        return _UNKNOWN
    return _comparison(options["operator"], column, literal, truth)


def _is_null(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    wanted = Truth.TRUE if truth.needs_all else Truth.FALSE
    return column.lookup(IsNull(), wanted)


def _where_valid(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    answer = Truth.TRUE if options["answer"] else Truth.FALSE
    if truth is answer:
        return _is_null(column, rest, options, Truth.FALSE)
    if truth in (Truth.TRUE, Truth.FALSE):
        return _NOTHING
    if truth is _MAY_BE_NULL[_NEGATED[answer]]:
        return _is_null(column, rest, options, Truth.TRUE)
    return _UNKNOWN  # all rows


_MAY_BE_NULL = {Truth.TRUE: Truth.NOT_FALSE, Truth.FALSE: Truth.NOT_TRUE}


def _is_member(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    values = options["values"]
    is_float = pa.types.is_floating(values.type)
    if values.type != column.type or (is_float and pc.any(pc.is_nan(values)).as_py()):
        return _UNKNOWN
    if options["has_null"] and truth is not Truth.TRUE:
        return _NOTHING if truth is Truth.FALSE else _UNKNOWN
    if not len(values):
        return _where_valid(column, rest, {"answer": False}, truth)
    return column.lookup(IsIn(values), truth)


def _text(query: Callable[[str], PlainQuery]) -> _Rule:
    """The rule of a search for a text."""

    def rule(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
        text = options["pattern"]
        if not text:
            return _where_valid(column, rest, {"answer": True}, truth)
        return column.lookup(query(text), truth)

    return rule


def _ends_with(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    text = options["pattern"]
    if truth is not Truth.TRUE or not text:
        return _UNKNOWN
    return column.lookup(Contains(text), implied=True)


def _like(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    """A pattern with several wildcards: its literal texts are in all strings that match."""
    if options["ignore_case"] or truth is not Truth.TRUE:
        return _UNKNOWN
    parts: list[Condition] = []
    for place, piece in enumerate(options["pieces"]):
        if piece.startswith("="):
            query = Contains(piece[1:]) if place else StartsWith(piece[1:])
            parts.append(column.lookup(query, implied=True))
    return all_of(parts) if parts else _UNKNOWN


def _equals_text(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    return _comparison("=", column, pa.scalar(options["text"], column.type), truth)


def _matches(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    if options["flags"] or truth is not Truth.TRUE:
        return _UNKNOWN
    return column.lookup(MatchesRegex(options["pattern"]))


def _has_item(column: _Value, rest: _Rest, options: _Options, truth: Truth) -> Condition:
    function, options = function_of(options["kernel"])
    if function is not lists.has_item:
        return _UNKNOWN
    test = _Translation().of(options["test"], Truth.TRUE)
    if not isinstance(test, ColumnLookup) or not isinstance(test.query, IsIn):
        return _UNKNOWN
    return column.lookup(HasAny(_with_both_zeros(test.query.values)), truth)


_RULES: Mapping[Kernel, _Rule] = {
    pc.equal: _compared("="),
    pc.not_equal: _compared("<>"),
    pc.less: _compared("<"),
    pc.less_equal: _compared("<="),
    pc.greater: _compared(">"),
    pc.greater_equal: _compared(">="),
    pc.is_null: _is_null,
    pc.starts_with: _text(StartsWith),
    pc.match_substring: _text(Contains),
    pc.ends_with: _ends_with,
    compare.compare_with_float: _with_float,
    logic.where_valid: _where_valid,
    membership.is_member: _is_member,
    like.equals: _equals_text,
    like.matches: _like,
    regexp.matches: _matches,
    chunks.each_chunk: _has_item,
}
"""How a kernel with a column as first argument is translated."""


def _in_total_order(condition: Condition) -> Condition:
    """``condition`` with lookups of floats as an index sorts them."""
    if isinstance(condition, AllOf | AnyOf):
        return replace(condition, parts=tuple(map(_in_total_order, condition.parts)))
    if isinstance(condition, Unknown) or not pa.types.is_floating(condition.kind):
        return condition
    query = condition.query
    if isinstance(query, IsIn):
        return replace(condition, query=IsIn(_with_both_zeros(query.values)))
    if not isinstance(query, InRange):
        return condition
    found = InRange(
        _zero(query.lower, is_negative=query.includes_lower),
        _zero(query.upper, is_negative=not query.includes_upper),
        query.includes_lower,
        query.includes_upper,
    )
    return replace(condition, query=found)


def _zero(value: pa.Scalar | None, *, is_negative: bool) -> pa.Scalar | None:
    """``value``, with the sign of ``is_negative`` if it is zero."""
    if value is None or value.as_py() != 0:
        return value
    return pa.scalar(-0.0 if is_negative else 0.0, pa.float64()).cast(value.type)


def _with_both_zeros(values: pa.Array) -> pa.Array:
    """``values``; of floats, with both zeros if there is one."""
    if not pa.types.is_floating(values.type):
        return values
    floats = values.to_numpy(zero_copy_only=False)
    if not (floats == 0).any():
        return values
    rest = floats[floats != 0]
    return from_numpy(np.concatenate([rest, np.array([-0.0, 0.0], rest.dtype)]))
