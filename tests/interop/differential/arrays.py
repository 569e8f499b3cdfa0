"""Random arrays of a field: how values are distributed, which are null, what lies below nulls."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.numpy_values import numpy_dtype
from tests.interop.differential.compare import as_plain, plain_type, retyped
from tests.interop.differential.fields import pick

MAX_ITEMS = 12_000
"""Nested lists hold no more items than this, so that a table stays small."""
MAX_DISTINCT = 200
"""Values that Python objects are made for are at most this many; columns repeat them."""

_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz 0123456789_-/'ßé€𝄞"))
_JSON = ('{"a":1}', "[1,2,3]", "null", '"text"', "true", '{"a":{"b":[1,null]}}', "12", "[]")

Mask = npt.NDArray[np.bool_]


def draw_column(chance: np.random.Generator, field: pa.Field, rows: int) -> pa.Array:
    """An array of ``rows``, often a slice of a longer one."""
    before, after = (int(chance.integers(0, 9)) * (chance.random() < 0.3) for _ in range(2))
    array = draw_array(chance, field, before + rows + after).slice(before, rows)
    if chance.random() < 0.5:
        return array
    if "<item: fixed_size_list<" in str(plain_type(array.type)):
        return compact(array)  # Arrow takes other items than those of the slice
    return array.take(pa.array(np.arange(rows)))  # with nothing below nulls


def compact(array: pa.Array) -> pa.Array:
    """A copy of ``array`` that starts at offset 0."""
    plain = as_plain(array)
    if not len(plain):
        return retyped(pa.array([], plain.type), array.type)
    return retyped(pa.concat_arrays([plain, plain.slice(0, 0)]), array.type)


def draw_array(chance: np.random.Generator, field: pa.Field, count: int) -> pa.Array:
    """``count`` values; any value may lie below a null."""
    mask = draw_mask(chance, count) if field.nullable else None
    return _masked(_draw_valid(chance, field, count), mask)


def draw_mask(chance: np.random.Generator, count: int) -> Mask | None:
    """Which slots are null: none, all, some, runs or a single one."""
    kind = chance.random()
    if kind < 0.35:
        return None
    if kind < 0.42:
        return np.ones(count, bool)
    if kind < 0.75:
        return chance.random(count) < pick(chance, (0.01, 0.1, 0.5, 0.95))
    if kind < 0.9:
        length = int(chance.integers(1, 300))
        runs = chance.random(count // length + 1) < 0.4
        return np.repeat(runs, length)[:count]
    return np.arange(count) == chance.integers(max(count, 1))


def _masked(array: pa.Array, mask: Mask | None) -> pa.Array:
    """``array``, which has no nulls and no offset, with nulls above what it holds."""
    type_ = array.type
    if mask is None or pa.types.is_null(type_):
        return array
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, _masked(array.storage, mask))
    if pa.types.is_dictionary(type_):
        return pa.DictionaryArray.from_arrays(_masked(array.indices, mask), array.dictionary)
    buffers: list[Any] = [pa.array(~mask).buffers()[1]]
    children: list[pa.Array] = []
    if pa.types.is_struct(type_):
        children = [array.field(number) for number in range(type_.num_fields)]
    elif pa.types.is_nested(type_):
        children = [array.values]
        if not pa.types.is_fixed_size_list(type_):
            buffers.append(array.buffers()[1])
    else:
        buffers += array.buffers()[1:]
    return pa.Array.from_buffers(type_, len(array), buffers, -1, 0, children)


def _draw_valid(chance: np.random.Generator, field: pa.Field, count: int) -> pa.Array:
    """``count`` values of which none is null, unless the items of a dictionary are."""
    type_ = field.type
    if pa.types.is_null(type_):
        return pa.nulls(count)
    if type_ == pa.json_():
        texts = _repeat(chance, pa.array(_JSON), count)
        return pa.ExtensionArray.from_storage(type_, texts)
    if isinstance(type_, pa.BaseExtensionType):
        storage = _draw_valid(chance, pa.field("", type_.storage_type), count)
        return pa.ExtensionArray.from_storage(type_, storage)
    if pa.types.is_dictionary(type_):
        distinct = _draw_items(chance, type_.value_type, field.nullable)
        keys = _repeat(chance, pa.array(np.arange(len(distinct))), count).cast(type_.index_type)
        return pa.DictionaryArray.from_arrays(keys, distinct)
    if pa.types.is_struct(type_):
        members = [draw_array(chance, member, count) for member in type_]
        return pa.StructArray.from_arrays(members, fields=list(type_))
    if pa.types.is_fixed_size_list(type_):
        values = draw_array(chance, type_.value_field, count * type_.list_size)
        return pa.FixedSizeListArray.from_arrays(values, type=type_)
    if pa.types.is_nested(type_):
        return _draw_lists(chance, type_, count)
    if count > MAX_DISTINCT and chance.random() < 0.5 and _is_number(type_):
        return _draw_pool(chance, type_, count)  # many distinct values
    pool = _draw_pool(chance, type_, int(pick(chance, (1, 2, 7, 100, MAX_DISTINCT))))
    return _repeat(chance, pool, count)


def _draw_items(chance: np.random.Generator, type_: pa.DataType, nullable: bool) -> pa.Array:
    """Items of a dictionary: rarely some are null, or the same as others."""
    items = _draw_pool(chance, type_, int(chance.integers(1, 100)))
    kind = chance.random()
    if kind < 0.9:
        return items.unique()
    return (
        items
        if kind < 0.95 or not nullable
        else pa.concat_arrays([items.unique(), pa.nulls(1, type_)])
    )


def _draw_lists(chance: np.random.Generator, type_: pa.DataType, count: int) -> pa.Array:
    """Lists or maps: of one length, of many, or nearly all empty."""
    kind = chance.random()
    if kind < 0.2:
        lengths = np.full(count, chance.integers(0, 4))
    elif kind < 0.8:
        lengths = chance.integers(0, pick(chance, (2, 4, 9)), count)
    else:
        lengths = (chance.random(count) < 0.02) * chance.integers(1, 700, count)
    ends = np.minimum(np.cumsum(lengths), MAX_ITEMS)
    offsets = np.concatenate([[0], ends]).astype(
        np.int64 if pa.types.is_large_list(type_) else np.int32
    )
    if pa.types.is_map(type_):
        # Keys of one map differ: they count on.
        numbers = np.arange(offsets[-1]) % 1000
        keys = pa.array(numbers).cast(type_.key_type)
        content = pa.StructArray.from_arrays(
            [keys, draw_array(chance, type_.item_field, len(keys))],
            fields=[type_.key_field, type_.item_field],
        )
    else:
        content = draw_array(chance, type_.value_field, int(offsets[-1]))
    return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(offsets)], 0, 0, [content])


def _repeat(chance: np.random.Generator, pool: pa.Array, count: int) -> pa.Array:
    """``count`` values out of ``pool``: in any order, sorted, in runs, or in turn."""
    kind = chance.random()
    if kind < 0.4:
        order = chance.integers(0, len(pool), count)
    elif kind < 0.6:
        order = np.sort(chance.integers(0, len(pool), count))
    elif kind < 0.8:
        length = int(chance.integers(2, 100))
        order = np.repeat(chance.integers(0, len(pool), count // length + 1), length)[:count]
    else:
        order = np.arange(count) % len(pool)
    return pool.take(pa.array(order))


def _is_number(type_: pa.DataType) -> bool:
    return pa.types.is_primitive(type_) and not pa.types.is_boolean(type_)


def _draw_pool(chance: np.random.Generator, type_: pa.DataType, count: int) -> pa.Array:
    """``count`` values of a type without children, distinct or not."""
    if pa.types.is_boolean(type_):
        return pa.array(chance.random(count) < 0.5)
    if pa.types.is_floating(type_):
        return _draw_floats(chance, type_, count)
    if pa.types.is_decimal(type_):
        # pyarrow makes no decimals of more than ``precision`` digits before the point.
        digits = int(chance.integers(1, type_.precision + min(type_.scale, 0) + 1))
        units = chance.integers(-9, 10, (min(count, MAX_DISTINCT), digits))
        texts = ["".join(str(abs(digit)) for digit in row) for row in units.tolist()]
        signs = ["-" if row[0] < 0 else "" for row in units.tolist()]
        values = [
            Decimal(f"{sign}{text}E{-type_.scale}") for sign, text in zip(signs, texts, strict=True)
        ]
        return pa.array(values, type_)
    if pa.types.is_integer(type_):
        limits = np.iinfo(numpy_dtype(type_))
        low, high = pick(
            chance, ((limits.min, limits.max), (0, 12), (max(limits.min, -100), 100), (5, 6))
        )
        kind = np.int64 if limits.min < 0 else np.uint64
        return pa.array(chance.integers(low, high, count, kind, endpoint=True)).cast(type_)
    if pa.types.is_temporal(type_):
        return _draw_times(chance, type_, count)
    return _draw_bytes(chance, type_, min(count, MAX_DISTINCT))


def _draw_floats(chance: np.random.Generator, type_: pa.DataType, count: int) -> pa.Array:
    values = chance.normal(0, 100, count)
    if chance.random() < 0.3:
        values = np.round(values)
    if chance.random() < 0.3:
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0])
        places = chance.integers(0, max(count, 1), 5)[:count]
        values[places] = special[: len(places)]
    return pa.array(values.astype(numpy_dtype(type_)), type_)


def _draw_times(chance: np.random.Generator, type_: pa.DataType, count: int) -> pa.Array:
    if pa.types.is_date32(type_):
        low, high = -30_000, 60_000
    elif pa.types.is_date64(type_):
        return pa.array(chance.integers(-30_000, 60_000, count) * _DAY["ms"]).view(type_)
    elif pa.types.is_time(type_):
        low, high = 0, _DAY[type_.unit]
    else:
        low, high = -20_000 * _DAY[type_.unit], 40_000 * _DAY[type_.unit]
    stored = np.int32 if type_.bit_width == 32 else np.int64
    return pa.array(chance.integers(low, high, count).astype(stored)).view(type_)


def _draw_bytes(chance: np.random.Generator, type_: pa.DataType, count: int) -> pa.Array:
    if pa.types.is_fixed_size_binary(type_):
        raw = chance.integers(0, 256, (count, type_.byte_width), np.uint8)
        return pa.array([row.tobytes() for row in raw], type_)
    longest = pick(chance, (0, 3, 12, 12, 40, 40, 300, 2000))
    if chance.random() < 0.02:
        count, longest = min(count, 3), 50_000
    lengths = chance.integers(0, longest + 1, count).tolist()
    if type_ in (pa.string(), pa.large_string()):
        alphabet = _LETTERS[: pick(chance, (2, 26, len(_LETTERS)))]
        texts = ["".join(chance.choice(alphabet, length)) for length in lengths]
        return pa.array(texts, type_)
    return pa.array([chance.bytes(length) for length in lengths], type_)
