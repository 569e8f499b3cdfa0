"""The possible results of a condition in runs of rows for which only bounds (statistics) exist.

The analysis finds for each node which of TRUE, FALSE and NULL may occur. It runs the kernels that
evaluate rows, but on bounds instead of values. A node without a rule may have any result, so the
analysis never excludes a row for which the condition is TRUE.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    And,
    AnswerUnlessNull,
    Apply,
    CallNode,
    Coerce,
    ColumnNode,
    Compare,
    Constant,
    Datum,
    HasItem,
    HasPrefix,
    HasSubstring,
    HasSuffix,
    Infix,
    InList,
    LikePattern,
    Negation,
    Node,
    NullTest,
    Operator,
    Or,
    PerEntry,
    RegexMatch,
    TruthTest,
)
from lance_core.dataset.expressions.sql.operators import compare
from lance_core.encodings.arrow.numpy_values import to_numpy, to_scalar
from lance_core.encodings.arrow.strings import above_text
from lance_core.lazy_dataclass import dataclass

BoolArray = npt.NDArray[np.bool_]

Path = tuple[str, ...]

_MAX_FLOATS = 3
"""Maximum float columns for which NaN is assumed or excluded: the cases double with each."""

_MAX_MEMBERS = 100
"""Maximum values of an IN list to test one by one; of a longer one, only its bounds are tested."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The bounds of a column's values, with one entry for each run of rows.

    Values that are neither null nor NaN are between ``lowest`` and ``highest``; a null bound is
    unknown. ``may_be_null``: True if some value may be null; ``all_null``: True if all are.
    """

    lowest: pa.Array
    highest: pa.Array
    may_be_null: BoolArray
    all_null: BoolArray


class Outcomes(NamedTuple):
    """For each run of rows: True if some row may have the result TRUE, FALSE or NULL."""

    true: BoolArray
    false: BoolArray
    null: BoolArray


def may_be_true(
    node: Node, bounds_of: Callable[[ColumnNode], Bounds | None], num_runs: int
) -> BoolArray:
    """For each run of rows: True if the condition ``node`` may be TRUE for some row.

    Bounds do not cover NaN. So the analysis runs once for each combination of float columns that
    are assumed to be NaN.
    """
    floats = [column for column in _columns(node) if pa.types.is_floating(column.type)]
    paths = {column.path for column in floats if bounds_of(column) is not None}
    result = np.zeros(num_runs, np.bool_)
    for which in _subsets(sorted(paths)[:_MAX_FLOATS]):
        # Columns beyond the limit have no entry: they may be NaN or not in every combination.
        known = dict.fromkeys(sorted(paths)[:_MAX_FLOATS], False) | dict.fromkeys(which, True)
        result |= _Analysis(bounds_of, num_runs, known).outcomes(node).true
    return result


def _columns(node: Node) -> list[ColumnNode]:
    columns, waiting, seen = [], [node], set()
    while waiting:
        inner = waiting.pop()
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        if isinstance(inner, ColumnNode):
            columns.append(inner)
        elif isinstance(inner, CallNode):
            waiting.extend(inner.arguments)
    return columns


def _subsets(paths: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
    for size in range(len(paths) + 1):
        yield from itertools.combinations(paths, size)


def cannot_fail(node: Node) -> bool:
    """True if the evaluation of ``node`` succeeds for all values."""
    waiting, seen = [node], set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen or not isinstance(current, CallNode):
            continue
        seen.add(id(current))
        match current.operator:
            case HasItem(inner) | PerEntry(inner):
                waiting.append(inner)
            case Infix() | Coerce() if not _succeeds(current):
                return False
            case Infix() | Coerce() | Apply(never_fails=True):
                pass
            case operator if not isinstance(operator, _TOTAL):
                return False
        waiting.extend(current.arguments)
    return True


_TOTAL = (
    *(And, Or, Negation, NullTest, TruthTest, AnswerUnlessNull, Compare, InList),
    *(HasPrefix, HasSuffix, HasSubstring, LikePattern, RegexMatch),
)
"""Operators that have a result for all values of their arguments' types."""


def _succeeds(node: CallNode) -> bool:
    """True for calls of arithmetic and conversions that have a result for all values."""
    first, last = node.arguments[0], node.arguments[-1]
    match node.operator:
        case Coerce() if isinstance(first.type, pa.BaseExtensionType):
            return bool(first.type.storage_type == node.type)
        case Coerce():
            return _is_number(first.type) and pa.types.is_floating(node.type)
        case Infix("+" | "-" | "*" | "/" | "%") if pa.types.is_floating(node.type):
            return True
        case Infix("/" | "%") if isinstance(last, Constant) and not last.is_null:
            # The quotient of the lowest integer and -1 overflows.
            return bool(pa.types.is_integer(node.type) and last.value.as_py() > 0)
    return False


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_floating(type_) or pa.types.is_integer(type_))


class _Analysis:
    """The analysis of a condition under assumptions about NaN.

    ``is_nan``: by column, True if all values are assumed NaN, False if none is. A column without an
    entry may have both.
    """

    def __init__(
        self,
        bounds_of: Callable[[ColumnNode], Bounds | None],
        num_runs: int,
        is_nan: Mapping[Path, bool],
    ) -> None:
        self._bounds_of = bounds_of
        self._is_nan = is_nan
        self._all = np.ones(num_runs, np.bool_)
        self._none = np.zeros(num_runs, np.bool_)

    def outcomes(self, node: Node) -> Outcomes:
        """The possible results of a boolean node."""
        if isinstance(node, Constant):
            value = node.value.as_py()
            picked = [self._all if value is truth else self._none for truth in (True, False, None)]
            return Outcomes(*picked)
        if isinstance(node, ColumnNode):
            return self._compared(node, "=", to_scalar(True))
        first = node.arguments[0] if node.arguments else None
        match node.operator:
            case And():
                return self._both(*map(self.outcomes, node.arguments))
            case Or():
                return self._either(*map(self.outcomes, node.arguments))
            case Negation() | TruthTest() if first is not None:
                return self._of_truth(node.operator, self.outcomes(first))
            case operator if first is not None:
                return self._of_value(operator, first, node.arguments[1:])
        return self._anything

    @property
    def _anything(self) -> Outcomes:
        return Outcomes(self._all, self._all, self._all)

    def _bounds(self, node: Node) -> Bounds | None:
        bounds = self._bounds_of(node) if isinstance(node, ColumnNode) else None
        return bounds if bounds is not None and bounds.lowest.type == node.type else None

    def _both(self, a: Outcomes, b: Outcomes) -> Outcomes:
        null = (a.null & (b.true | b.null)) | (b.null & a.true)
        return Outcomes(a.true & b.true, a.false | b.false, null)

    def _either(self, a: Outcomes, b: Outcomes) -> Outcomes:
        null = (a.null & (b.false | b.null)) | (b.null & a.false)
        return Outcomes(a.true | b.true, a.false & b.false, null)

    def _of_truth(self, operator: Negation | TruthTest, condition: Outcomes) -> Outcomes:
        true, false, null = condition
        if isinstance(operator, Negation):
            return Outcomes(false, true, null)
        if operator.answer:
            return Outcomes(true, false | null, self._none)
        return Outcomes(false, true | null, self._none)

    def _of_value(self, operator: Operator, node: Node, rest: tuple[Node, ...]) -> Outcomes:
        """The possible results of a test of the value ``node``."""
        match operator:
            case Compare(sign):
                literal = rest[0]
                if isinstance(literal, Constant) and not literal.is_null:
                    return self._compared(node, sign, literal.value)
            case NullTest():
                return self._is_null(node)
            case AnswerUnlessNull(answer):
                return self._unless_null(node, answer)
            case InList(values, has_null):
                return self._in_list(node, values, has_null)
            case HasPrefix(prefix):
                return self._has_prefix(node, prefix)
        return self._anything

    def _is_null(self, node: Node) -> Outcomes:
        bounds = self._bounds(node)
        if bounds is None:
            return Outcomes(self._all, self._all, self._none)
        return Outcomes(bounds.may_be_null, ~bounds.all_null, self._none)

    def _unless_null(self, node: Node, answer: bool) -> Outcomes:
        bounds = self._bounds(node)
        has_value = self._all if bounds is None else ~bounds.all_null
        null = self._all if bounds is None else bounds.may_be_null
        return (
            Outcomes(has_value, self._none, null)
            if answer
            else Outcomes(self._none, has_value, null)
        )

    def _compared(self, node: Node, sign: str, literal: pa.Scalar) -> Outcomes:
        """The possible results of a comparison with a literal."""
        bounds = self._bounds(node)
        if bounds is None or bounds.lowest.type != literal.type:
            return self._anything
        is_float = pa.types.is_floating(literal.type)
        if is_float and (pa.types.is_float16(literal.type) or math.isnan(literal.as_py())):
            return self._anything  # Arrow cannot compare them with bounds
        if sign == "<>":
            true, false, null = self._compared(node, "=", literal)
            return Outcomes(false, true, null)
        lowest, highest = bounds.lowest, bounds.highest
        if sign == "=":
            true = _unless(pc.greater(lowest, literal)) & _unless(pc.less(highest, literal))
            false = _unless(pc.and_(pc.equal(lowest, literal), pc.equal(highest, literal)))
        else:
            kernel = compare.KERNELS[sign]
            if sign in (">", ">="):
                lowest, highest = highest, lowest
            true = _unless(pc.invert(kernel(lowest, literal)))
            false = _unless(kernel(highest, literal))
        if isinstance(node, ColumnNode) and is_float:
            is_nan = self._is_nan.get(node.path)
            # NaN with a sign is below all numbers, other NaN above: both orders may be TRUE.
            may_be_true = sign != "="
            if is_nan is True:
                true, false = self._none | may_be_true, self._all
            elif is_nan is None:
                true, false = true | may_be_true, self._all
        return Outcomes(true & ~bounds.all_null, false & ~bounds.all_null, bounds.may_be_null)

    def _in_list(self, node: Node, values: pa.Array, has_null: bool) -> Outcomes:
        bounds = self._bounds(node)
        if bounds is None or bounds.lowest.type != values.type:
            return self._anything
        is_float = pa.types.is_floating(values.type)
        if is_float and (pa.types.is_float16(values.type) or pc.any(pc.is_nan(values)).as_py()):
            return self._anything
        pairs = [(value, value) for value in values]
        if len(values) > _MAX_MEMBERS:
            ends = pc.min_max(values)
            pairs = [(ends["min"], ends["max"])]
        true = self._none
        for low, high in pairs:
            true = true | (
                _unless(pc.greater(bounds.lowest, high)) & _unless(pc.less(bounds.highest, low))
            )
        null = bounds.may_be_null | has_null
        return Outcomes(true & ~bounds.all_null, ~bounds.all_null, null)

    def _has_prefix(self, node: Node, prefix: str) -> Outcomes:
        bounds = self._bounds(node)
        if bounds is None:
            return self._anything
        type_ = bounds.lowest.type
        true = _unless(pc.less(bounds.highest, to_scalar(prefix, type_)))
        above = above_text(prefix.encode())
        if above is not None:
            true = true & _unless(pc.greater_equal(bounds.lowest, to_scalar(above.decode(), type_)))
        return Outcomes(true & ~bounds.all_null, ~bounds.all_null, bounds.may_be_null)


def _unless(excluded: Datum) -> BoolArray:
    """True where ``excluded`` is false or unknown."""
    known: BoolArray = to_numpy(pc.fill_null(excluded, to_scalar(False)))
    return ~known
