"""Columns for tests of index types, queries for them, and what the queries must find."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.indices import (
    Contains,
    HasAll,
    HasAny,
    IndexBatch,
    InRange,
    IsIn,
    IsNull,
    MatchesRegex,
    PlainQuery,
    RowNumbers,
    StartsWith,
)
from lance_core_testing.encodings.value_samples import TYPES, hard_arrays

Mask = npt.NDArray[np.bool_]

FRAGMENTS = {0: 0.4, 1: 0.2, 5: 0.2, 6: 0.2}
"""The ids of the fragments of a sample, and their share of its rows."""

GAP = 7
"""One offset in `GAP` has no live row."""

REPEATED_ROWS = 16_384
"""Least number of rows in a batch of `RepeatedRows`."""

_ARRAYS = ("1023 of any bits", "runs", "special floats")
_MAX_VALUES = 150
_LISTS = (pa.list_(pa.string()), pa.large_list(pa.int64()), pa.list_(pa.float64()))


@dataclass(frozen=True, slots=True, eq=False)
class SampleRows:
    """Rows to index: `lance_core.index.base.IndexRows` of batches with ``batch_rows`` rows."""

    values: pa.Array
    rows: RowNumbers
    batch_rows: int = 100

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return self.values.type

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def batches(self) -> Iterator[IndexBatch]:
        """The rows in their order."""
        for start in range(0, self.num_rows, self.batch_rows):
            values = self.values.slice(start, self.batch_rows)
            yield IndexBatch(values, self.rows[start : start + self.batch_rows])

    def where(self, mask: Mask) -> SampleRows:
        """Some of the rows."""
        return SampleRows(self.values.filter(pa.array(mask)), self.rows[mask], self.batch_rows)

    def of_fragments(self, *ids: int) -> SampleRows:
        """The rows of some fragments."""
        return self.where(np.isin(self.rows >> np.uint64(32), ids))


class RepeatedRows:
    """Rows of one fragment with the values of a sample again and again, made batch by batch.

    No batch is held here. ``nbytes``: the bytes of all values and row numbers.
    """

    _batch_rows: int
    _batches: int

    def __init__(self, values: pa.Array, nbytes: int) -> None:
        """``nbytes``: the least number of bytes of all rows."""
        repeats = -(-REPEATED_ROWS // len(values))
        self._batch = pa.concat_arrays([values] * repeats)
        size = self._batch.nbytes + 8 * len(self._batch)
        self._batch_rows = len(self._batch)
        self._batches = -(-nbytes // size)
        self.nbytes: int = self._batches * size

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return self._batch.type

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self._batches * self._batch_rows

    def batches(self) -> Iterator[IndexBatch]:
        """New copies of the same values."""
        count = self._batch_rows
        for number in range(self._batches):
            values = pa.concat_arrays([self._batch.slice(0, 1), self._batch.slice(1)])
            yield IndexBatch(values, np.arange(count, dtype=np.uint64) + np.uint64(number * count))


@dataclass(frozen=True, slots=True, eq=False)
class SampleMap:
    """A `lance_core.index.base.RowMap`: the rows ``before`` are at ``after``, others are gone."""

    before: RowNumbers
    after: RowNumbers

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, Mask]:
        """The new number of each row, and True if it is kept."""
        if not len(self.before):
            return rows, np.zeros(len(rows), np.bool_)
        positions = np.minimum(np.searchsorted(self.before, rows), len(self.before) - 1)
        return self.after[positions], self.before[positions] == rows


def sample_rows(values: pa.Array) -> SampleRows:
    """``values`` as live rows of the fragments `FRAGMENTS`, some of whose rows are deleted."""
    edges = np.cumsum([0.0, *FRAGMENTS.values()]) * len(values)
    parts = [np.empty(0, np.uint64)]
    for id_, start, stop in zip(FRAGMENTS, *_bounds(edges), strict=True):
        live = np.arange(stop - start, dtype=np.uint64)
        parts.append(live + live // np.uint64(GAP - 1) + np.uint64(id_ << 32))
    return SampleRows(values, np.concatenate(parts))


def _bounds(edges: npt.NDArray[np.float64]) -> tuple[list[int], list[int]]:
    whole = edges.round().astype(int).tolist()
    return whole[:-1], whole[1:]


@functools.cache
def sample_arrays() -> Mapping[str, pa.Array]:
    """A column of each leaf type and of some lists, by name; a fifth of the values is null."""
    arrays = {str(type_): _of_type(type_) for type_ in TYPES}
    for type_ in _LISTS:
        items = _of_type(type_.value_type)
        lengths = np.resize([2, 0, 3, 1, 0, 5], len(items) // 2)
        lengths = lengths[np.cumsum(lengths) <= len(items)]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        array_class = pa.LargeListArray if pa.types.is_large_list(type_) else pa.ListArray
        size = np.int64 if pa.types.is_large_list(type_) else np.int32
        is_null = pa.array(np.arange(len(lengths)) % 9 == 4)
        lists = array_class.from_arrays(pa.array(offsets.astype(size)), items, type_, mask=is_null)
        arrays[str(type_)] = lists
    return arrays


def _of_type(type_: pa.DataType) -> pa.Array:
    arrays = dict(hard_arrays(type_))
    parts = [arrays[name][:_MAX_VALUES] for name in _ARRAYS if name in arrays]
    values = pa.concat_arrays(parts)
    order = np.random.default_rng(7).permutation(len(values))
    is_null = pa.array(np.arange(len(values)) % 5 == 2)
    return pc.if_else(is_null, pa.scalar(None, type_), values.take(pa.array(order)))


def queries_for(values: pa.Array) -> Iterator[PlainQuery]:
    """Queries of all kinds that fit the type of ``values``, for some of its values and others."""
    type_ = values.type
    yield IsNull()
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        items = _picked(values.flatten(), 4)
        for length in {1, len(items)} - {0}:
            yield HasAny(items[:length])
            yield HasAll(items[:length])
        yield from (HasAll(values_of_list) for values_of_list in _both(values))
        return
    picked = _picked(values, 6)
    for number in range(0, len(picked), 2):
        yield IsIn(picked.slice(number, 1))
    if len(picked):
        yield IsIn(picked)
    yield from _ranges(picked)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        for text in picked.to_pylist():
            yield from _of_text(text)


def _both(values: pa.Array) -> Iterator[pa.Array]:
    """The items of some lists with several of them."""
    several = values.filter(pc.greater(pc.list_value_length(values), 1))
    for number in range(min(2, len(several))):
        items = several[number].values.drop_null()
        if len(items):
            yield items


def _ranges(picked: pa.Array) -> Iterator[PlainQuery]:
    keys = comparable(picked)
    for first in range(0, len(picked) - 1, 2):
        low, high = sorted((first, first + 1), key=lambda at: keys[at])
        lower, upper = picked[low], picked[high]
        yield InRange(lower=lower)
        yield InRange(upper=upper, includes_upper=False)
        yield InRange(lower, upper)
        yield InRange(lower, upper, includes_lower=False, includes_upper=False)
        yield InRange(lower, lower)
        yield InRange(lower, lower, includes_upper=False)
        yield InRange(upper, lower)


def _of_text(text: str) -> Iterator[PlainQuery]:
    for length in (1, 3, 5):
        if len(text) >= length:
            middle = text[(len(text) - length) // 2 :][:length]
            yield StartsWith(text[:length])
            yield Contains(middle)
            yield MatchesRegex(re.escape(middle) + ".*")
    yield Contains("a text that no value contains")


def _picked(values: pa.Array, count: int) -> pa.Array:
    """Some values, none of them null."""
    present = values.drop_null()
    positions = np.unique(np.linspace(0, max(0, len(present) - 1), count).astype(np.int64))
    return present.take(pa.array(positions[: len(present)]))


def matches(query: PlainQuery, values: pa.Array) -> Mask:
    """True for each value that satisfies ``query``."""
    if isinstance(query, IsNull):
        return np.asarray(values.is_null())
    present = np.asarray(values.is_valid())
    is_match = np.zeros(len(values), np.bool_)
    is_match[present] = _holds(query, values.drop_null())
    return is_match


def _holds(query: PlainQuery, values: pa.Array) -> Mask:
    match query:
        case IsIn():
            return _any_equal(comparable(values), query.values)
        case InRange():
            return _in_range(query, comparable(values))
        case StartsWith():
            return np.asarray(pc.starts_with(values, query.prefix))
        case Contains():
            return np.asarray(pc.match_substring(values, query.text))
        case MatchesRegex():
            return np.asarray(pc.match_substring_regex(values, query.pattern))
        case HasAny() | HasAll():
            parts = [query.values.slice(n, 1) for n in range(len(query.values))]
            has = [_has(values, value) for value in parts]
            combine = operator.or_ if isinstance(query, HasAny) else operator.and_
            return functools.reduce(combine, has)
        case _:
            raise AssertionError(f"no plain evaluation of {query}")


def _any_equal(keys: npt.NDArray[Any], searched: pa.Array) -> Mask:
    is_equal = np.zeros(len(keys), np.bool_)
    for number in range(len(searched)):  # an array of one: numpy ignores the last zeros of bytes
        is_equal |= keys == comparable(searched.slice(number, 1))
    return is_equal


def _in_range(query: InRange, keys: npt.NDArray[Any]) -> Mask:
    is_inside = np.ones(len(keys), np.bool_)
    if query.lower is not None:
        low = comparable(_array_of(query.lower))
        is_inside &= keys >= low if query.includes_lower else keys > low
    if query.upper is not None:
        high = comparable(_array_of(query.upper))
        is_inside &= keys <= high if query.includes_upper else keys < high
    return is_inside


def _array_of(value: pa.Scalar) -> pa.Array:
    return pa.repeat(value, 1)


def _has(lists: pa.Array, value: pa.Array) -> Mask:
    """True for each list that has ``value``."""
    items, parents = lists.flatten(), np.asarray(pc.list_parent_indices(lists))
    present = np.asarray(items.is_valid())
    equal = _any_equal(comparable(items.drop_null()), value)
    has_value = np.zeros(len(lists), np.bool_)
    has_value[parents[present][equal]] = True
    return has_value


def comparable(values: pa.Array) -> npt.NDArray[Any]:
    """Keys that compare as an index orders ``values``, which are not null."""
    type_ = values.type
    if pa.types.is_floating(type_):
        width = type_.bit_width
        bits = np.ascontiguousarray(values.to_numpy(zero_copy_only=False)).view(f"i{width // 8}")
        # The lower bits of negative floats count downwards.
        mask = np.array((1 << (width - 1)) - 1, bits.dtype)
        ordered: npt.NDArray[Any] = np.where(bits < 0, bits ^ mask, bits)
        return ordered
    if pa.types.is_boolean(type_):
        return np.asarray(values)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        values = values.cast(pa.large_binary())
    elif not pa.types.is_decimal(type_) and pa.types.is_primitive(type_):
        sign = "u" if pa.types.is_unsigned_integer(type_) else "i"
        whole = {"u": "uint", "i": "int"}[sign] + str(type_.bit_width)
        return np.asarray(values.view(whole))
    objects = np.empty(len(values), object)
    objects[:] = values.to_pylist()
    return objects


def concatenated(parts: Sequence[SampleRows]) -> SampleRows:
    """The rows of several parts."""
    values = pa.concat_arrays([part.values for part in parts])
    return SampleRows(values, np.concatenate([part.rows for part in parts]))
