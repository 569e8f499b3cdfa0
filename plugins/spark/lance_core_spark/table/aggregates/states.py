"""Partial results of aggregates: Arrow computes them for the rows of a batch, and combines them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError

MAX_DIGITS = 38
"""Digits of the decimals that hold sums. Their greatest value is below that of 128 bits."""


@dataclass(frozen=True, slots=True)
class State:
    """A column of partial results: what ``function`` of Arrow makes of the values in a group.

    ``function``: ``sum``, ``count`` (of values that are not null), ``min`` or ``max``. ``column``:
    the position of the values among the columns that are scanned, None to count rows. ``type``:
    that of the result.
    """

    function: str
    column: int | None
    type: pa.DataType

    @classmethod
    def sum_of(cls, column: int, values: pa.DataType) -> State:
        """The sum of numbers: a double, or a decimal that holds the sum of any integers."""
        if pa.types.is_floating(values):
            return cls("sum", column, pa.float64())
        scale = values.scale if pa.types.is_decimal(values) else 0
        return cls("sum", column, pa.decimal128(MAX_DIGITS, scale))

    def prepare(self, values: pa.Array) -> pa.Array:
        """``values`` in a type for which the function of Arrow has Spark's result."""
        if self.function == "sum":
            return _without_overflow(values)
        if self.function != "count" and pa.types.is_floating(values.type):
            return _as_ordered_integers(values)
        return values

    def finish(self, result: pa.Array) -> pa.Array:
        """The ``result`` of the function in the type of the state.

        Raises `InvalidInputError` for a sum that has more than `MAX_DIGITS` digits.
        """
        if self.function in ("min", "max") and pa.types.is_floating(self.type):
            return _from_ordered_integers(result).cast(self.type)
        try:
            return result.cast(self.type)
        except pa.ArrowInvalid as error:
            raise InvalidInputError(f"a sum does not fit into {self.type}: {error}") from None


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of equal values of some scanned columns, at positions ``keys``, and their states."""

    keys: tuple[int, ...]
    states: tuple[State, ...]

    def group(self, columns: Sequence[pa.Array], num_rows: int) -> pa.RecordBatch:
        """A row for each group of a batch: its keys, then its states."""
        rows = pa.nulls(num_rows, pa.bool_()).fill_null(True)
        values = [rows if s.column is None else columns[s.column] for s in self.states]
        functions = [state.function for state in self.states]
        return self._group([columns[key] for key in self.keys], values, functions)

    def combine(self, parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """A row for each group of ``parts``, which are results of `group` or `combine`."""
        columns = pa.Table.from_batches(parts).combine_chunks().to_batches()[0].columns
        keys, states = columns[: len(self.keys)], columns[len(self.keys) :]
        functions = ["sum" if s.function == "count" else s.function for s in self.states]
        return self._group(keys, states, functions)

    def _group(
        self, keys: Sequence[pa.Array], values: Sequence[pa.Array], functions: Sequence[str]
    ) -> pa.RecordBatch:
        names = [f"k{number}" for number in range(len(keys))]
        inputs = [f"v{number}" for number in range(len(values))]
        prepared = [s.prepare(array) for s, array in zip(self.states, values, strict=True)]
        table = pa.Table.from_arrays([*keys, *prepared], [*names, *inputs])
        calls = list(zip(inputs, functions, strict=True))
        grouped = table.group_by(names, use_threads=False).aggregate(calls).combine_chunks()
        results = [grouped[f"{name}_{function}"] for name, function in calls]
        finished = [s.finish(_one(array)) for s, array in zip(self.states, results, strict=True)]
        arrays = [*(_one(grouped[name]) for name in names), *finished]
        return pa.RecordBatch.from_arrays(arrays, [*names, *inputs])


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _without_overflow(values: pa.Array) -> pa.Array:
    """``values`` in a type in which Arrow's sum, which wraps around, cannot overflow.

    Integers of 64 bits and decimals of 128 bits stay as they are if their sum fits whatever their
    signs are, which is the usual case; a kernel finds the greatest of them in a fraction of the
    time of a sum.
    """
    type_ = values.type
    if pa.types.is_int64(type_):
        if _largest_sum(values) < 1 << 63:
            return values
        values = values.cast(pa.decimal128(MAX_DIGITS, 0))
    if pa.types.is_decimal(values.type):
        scale = values.type.scale
        if values.type.precision + len(str(len(values))) <= MAX_DIGITS:
            return values  # Not even the greatest values of the type have a sum with more digits.
        if _largest_sum(values) * 10**scale >= 10**MAX_DIGITS:
            return values.cast(pa.decimal256(2 * MAX_DIGITS, scale))
    return values


def _largest_sum(values: pa.Array) -> int:
    """A whole number that no sum of some of ``values`` exceeds."""
    bounds = pc.min_max(values).as_py()
    if bounds["min"] is None:
        return 0
    return max(-int(bounds["min"]), int(bounds["max"]), 0) * len(values) + len(values)


def _as_ordered_integers(values: pa.Array) -> pa.Array:
    """Integers in Spark's order of floating-point numbers: NaN is the greatest, zeros are equal."""
    numbers = values.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False) + 0.0
    numbers = np.where(np.isnan(numbers), np.nan, numbers)
    bits = numbers.view(np.int64)
    return pa.array(_flip_negative(bits), mask=values.is_null().to_numpy(zero_copy_only=False))


def _from_ordered_integers(values: pa.Array) -> pa.Array:
    bits = _flip_negative(values.fill_null(0).to_numpy(zero_copy_only=False))
    mask = values.is_null().to_numpy(zero_copy_only=False)
    return pa.array(bits.view(np.float64), mask=mask)


def _flip_negative(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bits of numbers, those of negative ones in reverse order; its own inverse."""
    flipped: np.ndarray[Any, Any] = bits ^ ((bits >> 63) & np.int64(np.iinfo(np.int64).max))
    return flipped
