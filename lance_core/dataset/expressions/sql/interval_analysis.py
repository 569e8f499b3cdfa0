"""The possible results of a condition in runs of rows for which only bounds (statistics) exist.

The analysis finds for each node which of TRUE, FALSE and NULL may occur. It runs the kernels that
evaluate rows, but on bounds instead of values. A node without a rule may have any result, so the
analysis never excludes a row for which the condition is TRUE.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import (
    arithmetic,
    chunks,
    coerce,
    compare,
    like,
    lists,
    logic,
    membership,
    regexp,
)
from lance_core.dataset.expressions.sql.node import (
    CallNode,
    ColumnNode,
    Constant,
    Datum,
    Kernel,
    Node,
)
from lance_core.encodings.v0_1.bounds import above_text
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
    found, waiting, seen = [], [node], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, ColumnNode):
            found.append(one)
        elif isinstance(one, CallNode):
            waiting.extend(one.arguments)
    return found


def _subsets(paths: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
    for size in range(len(paths) + 1):
        yield from itertools.combinations(paths, size)


def cannot_fail(node: Node) -> bool:
    """True if the evaluation of ``node`` succeeds for all values."""
    waiting, seen = [node], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen or not isinstance(one, CallNode):
            continue
        seen.add(id(one))
        function, options = function_of(one.kernel)
        if function is chunks.each_chunk:
            function, options = function_of(options["kernel"])
            if function is not lists.has_item:
                return False
            waiting.append(options["test"])
        elif function not in _TOTAL and not _succeeds(function, one):
            return False
        waiting.extend(one.arguments)
    return True


def _succeeds(function: Kernel, node: CallNode) -> bool:
    """True for calls of arithmetic and casts that have a result for all values."""
    first, last = node.arguments[0], node.arguments[-1]
    if function is coerce.cast_value:
        if isinstance(first.type, pa.BaseExtensionType):
            return bool(first.type.storage_type == node.type)
        return _is_number(first.type) and pa.types.is_floating(node.type)
    if function in (pc.add, pc.subtract, pc.multiply, pc.divide, pc.negate_checked, pc.abs_checked):
        return bool(pa.types.is_floating(node.type))
    if function not in (arithmetic.remainder, pc.divide_checked):
        return False
    if pa.types.is_floating(node.type):
        return function is arithmetic.remainder
    # The quotient of the lowest integer and -1 overflows.
    is_positive = isinstance(last, Constant) and not last.is_null and last.value.as_py() > 0
    return bool(is_positive and pa.types.is_integer(node.type))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def function_of(kernel: Kernel) -> tuple[Kernel, Mapping[str, Any]]:
    """The function behind a kernel, and the keyword arguments that a partial adds."""
    if isinstance(kernel, functools.partial):
        return kernel.func, kernel.keywords
    return kernel, {}


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
            picked = [self._all if value is one else self._none for one in (True, False, None)]
            return Outcomes(*picked)
        if isinstance(node, ColumnNode):
            return self._compared(node, pc.equal, pa.scalar(True))
        function, options = function_of(node.kernel)
        rule = _RULES.get(function)
        return self._anything if rule is None else rule(self, node.arguments, options)

    @property
    def _anything(self) -> Outcomes:
        return Outcomes(self._all, self._all, self._all)

    def _bounds(self, node: Node) -> Bounds | None:
        bounds = self._bounds_of(node) if isinstance(node, ColumnNode) else None
        return bounds if bounds is not None and bounds.lowest.type == node.type else None

    def both(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        a, b = (self.outcomes(one) for one in arguments)
        null = (a.null & (b.true | b.null)) | (b.null & a.true)
        return Outcomes(a.true & b.true, a.false | b.false, null)

    def either(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        a, b = (self.outcomes(one) for one in arguments)
        null = (a.null & (b.false | b.null)) | (b.null & a.false)
        return Outcomes(a.true | b.true, a.false & b.false, null)

    def negated(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        true, false, null = self.outcomes(arguments[0])
        return Outcomes(false, true, null)

    def is_true(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        true, false, null = self.outcomes(arguments[0])
        return Outcomes(true, false | null, self._none)

    def is_false(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        true, false, null = self.outcomes(arguments[0])
        return Outcomes(false, true | null, self._none)

    def is_null(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        bounds = self._bounds(arguments[0])
        if bounds is None:
            return Outcomes(self._all, self._all, self._none)
        return Outcomes(bounds.may_be_null, ~bounds.all_null, self._none)

    def where_valid(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        bounds = self._bounds(arguments[0])
        some = self._all if bounds is None else ~bounds.all_null
        null = self._all if bounds is None else bounds.may_be_null
        return (
            Outcomes(some, self._none, null)
            if options["answer"]
            else Outcomes(self._none, some, null)
        )

    def comparison(self, kernel: Kernel, arguments: tuple[Node, ...]) -> Outcomes:
        left, right = arguments
        if not isinstance(right, Constant) or right.is_null:
            return self._anything
        return self._compared(left, kernel, right.value)

    def with_float(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        return self.comparison(compare.KERNELS[options["operator"]], arguments)

    def _compared(self, node: Node, kernel: Kernel, literal: pa.Scalar) -> Outcomes:
        """The possible results of ``kernel(node, literal)``, one of the six comparisons."""
        bounds = self._bounds(node)
        if bounds is None or bounds.lowest.type != literal.type:
            return self._anything
        is_float = pa.types.is_floating(literal.type)
        if is_float and (pa.types.is_float16(literal.type) or math.isnan(literal.as_py())):
            return self._anything  # Arrow cannot compare them with bounds
        if kernel is pc.not_equal:
            true, false, null = self._compared(node, pc.equal, literal)
            return Outcomes(false, true, null)
        lowest, highest = bounds.lowest, bounds.highest
        if kernel is pc.equal:
            true = _unless(pc.greater(lowest, literal)) & _unless(pc.less(highest, literal))
            false = _unless(pc.and_(pc.equal(lowest, literal), pc.equal(highest, literal)))
        else:
            if kernel in (pc.greater, pc.greater_equal):
                lowest, highest = highest, lowest
            true = _unless(pc.invert(kernel(lowest, literal)))
            false = _unless(kernel(highest, literal))
        if isinstance(node, ColumnNode) and is_float:
            is_nan = self._is_nan.get(node.path)
            # NaN with a sign is below all numbers, other NaN above: both orders may be TRUE.
            may_be_true = kernel is not pc.equal
            if is_nan is True:
                true, false = self._none | may_be_true, self._all
            elif is_nan is None:
                true, false = true | may_be_true, self._all
        return Outcomes(true & ~bounds.all_null, false & ~bounds.all_null, bounds.may_be_null)

    def is_member(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        bounds, values = self._bounds(arguments[0]), options["values"]
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
        null = bounds.may_be_null | bool(options["has_null"])
        return Outcomes(true & ~bounds.all_null, ~bounds.all_null, null)

    def starts_with(self, arguments: tuple[Node, ...], options: Mapping[str, Any]) -> Outcomes:
        bounds, prefix = self._bounds(arguments[0]), options["pattern"]
        if bounds is None:
            return self._anything
        type_ = bounds.lowest.type
        true = _unless(pc.less(bounds.highest, pa.scalar(prefix, type_)))
        above = above_text(prefix.encode())
        if above is not None:
            true = true & _unless(pc.greater_equal(bounds.lowest, pa.scalar(above.decode(), type_)))
        return Outcomes(true & ~bounds.all_null, ~bounds.all_null, bounds.may_be_null)


def _unless(excluded: Datum) -> BoolArray:
    """True where ``excluded`` is false or unknown."""
    known: BoolArray = np.asarray(pc.fill_null(excluded, False), np.bool_)
    return ~known


_Rule = Callable[[_Analysis, tuple[Node, ...], Mapping[str, Any]], Outcomes]


def _comparison(kernel: Kernel) -> _Rule:
    return lambda analysis, arguments, options: analysis.comparison(kernel, arguments)


_COMPARISONS = (pc.equal, pc.not_equal, pc.less, pc.less_equal, pc.greater, pc.greater_equal)

_RULES: Mapping[Kernel, _Rule] = {
    pc.and_kleene: _Analysis.both,
    pc.or_kleene: _Analysis.either,
    pc.invert: _Analysis.negated,
    pc.is_null: _Analysis.is_null,
    pc.starts_with: _Analysis.starts_with,
    logic.known_true: _Analysis.is_true,
    logic.known_false: _Analysis.is_false,
    logic.where_valid: _Analysis.where_valid,
    compare.compare_with_float: _Analysis.with_float,
    membership.is_member: _Analysis.is_member,
    **{kernel: _comparison(kernel) for kernel in _COMPARISONS},
}

_TOTAL = {
    *_RULES,
    compare.compare_floats,
    compare.compare_moments,
    *(like.equals, like.matches, regexp.matches),
    *(pc.ends_with, pc.match_substring, pc.match_substring_regex, pc.binary_length, pc.is_nan),
    *(pc.utf8_length, pc.utf8_reverse),
}
"""Kernels that raise no error for any arguments of their types."""
