"""The total order of values of every type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.index.scalar.sort_order import SortedValues, is_orderable, sort_indices
from tests.each_case import each_case

_NAN_PAYLOAD = {
    pa.float16(): (0x7E00, 0x7E01, 0xFE00),
    pa.float32(): (0x7FC00000, 0x7FC00001, 0xFFC00000),
    pa.float64(): (0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000),
}


def _floats(kind: pa.DataType) -> pa.Array:
    dtype = np.dtype(kind.to_pandas_dtype())
    nan, payload, negative = np.array(_NAN_PAYLOAD[kind], f"u{dtype.itemsize}").view(dtype)
    low = np.array([-np.inf, -2.5, -1.0, -0.0, 0.0, 1.0, 2.5, np.inf], dtype)
    return pa.array(np.concatenate([[negative], low, [nan, payload]]).astype(dtype))


def _ascending() -> list[pa.Array]:
    """Arrays of all types, each strictly ascending and without nulls."""
    numbers = [-5, -1, 0, 1, 7]
    texts = ["", "\0", "A", "a", "a\0", "ab", "b", "é", "\U0001f600"]
    binary = [text.encode() for text in texts] + [b"\xff"]
    decimals = [Decimal(v) for v in ("-300.25", "-1.00", "-0.25", "0.00", "0.25", "300.25")]
    signed = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32(), pa.duration("ms")]
    instants = [pa.timestamp(unit, zone) for unit, zone in (("s", None), ("ns", "UTC"))]
    times = [pa.time32("ms"), pa.time64("ns"), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    return [
        *(pa.array(numbers, kind) for kind in signed + instants),
        *(pa.array([0, 1, 100, 200], kind) for kind in times),
        pa.array([0, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
        pa.array([-86_400_000, 0, 86_400_000], pa.int64()).view(pa.date64()),
        pa.array([False, True]),
        *map(_floats, _NAN_PAYLOAD),
        *(pa.array(texts, kind) for kind in (pa.string(), pa.large_string())),
        *(pa.array(binary, kind) for kind in (pa.binary(), pa.large_binary())),
        pa.array([b"\0\0", b"\0a", b"a\0", b"ab", b"\xff\0"], pa.binary(2)),
        *(pa.array(decimals, kind) for kind in (pa.decimal128(8, 2), pa.decimal256(60, 2))),
        pa.array(["a", "b", "c"]).dictionary_encode(),
    ]


def _bytes_of(array: pa.Array) -> list[Any]:
    """Values that tell NaN, zeros and nanoseconds apart."""
    if pa.types.is_floating(array.type) or pa.types.is_temporal(array.type):
        array = array.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[array.type.bit_width])
    found: list[Any] = array.to_pylist()
    return found


@each_case("ordered", _ascending())
def test_every_type_is_sorted_in_total_order_with_nulls_first(ordered: pa.Array) -> None:
    assert is_orderable(ordered.type)
    shuffled = np.random.default_rng(7).permutation(len(ordered))
    mixed = pa.concat_arrays([ordered.take(pa.array(shuffled)), pa.nulls(2, ordered.type)])
    wanted = [None, None, *_bytes_of(ordered)]
    assert _bytes_of(mixed.take(pa.array(sort_indices(mixed)))) == wanted
    part = mixed.slice(1)
    found = part.take(pa.array(sort_indices(part)))
    assert _bytes_of(found) == [one for one in wanted if one != _bytes_of(mixed)[0]]
    assert _bytes_of(ordered.take(pa.array(sort_indices(ordered)))) == wanted[2:]


@each_case("ordered", _ascending())
def test_sorted_values_find_the_places_of_values_of_every_type(ordered: pa.Array) -> None:
    twice = ordered.take(pa.array(np.repeat(np.arange(len(ordered)), 2)))
    values = SortedValues(twice.slice(2))
    places = np.arange(len(ordered)) * 2 - 2
    assert values.is_ascending
    assert values.nbytes > 0
    assert len(values) == len(twice) - 2
    assert values.search(ordered).tolist() == np.maximum(places, 0).tolist()
    assert values.search(ordered, after=True).tolist() == np.maximum(places + 2, 0).tolist()
    assert not SortedValues(ordered.take(pa.array([1, 0]))).is_ascending


def test_equal_values_and_nulls_keep_their_order() -> None:
    assert sort_indices(pa.array([2, None, 1, 2, None, 1])).tolist() == [1, 4, 2, 5, 0, 3]
    assert sort_indices(pa.nulls(3)).tolist() == [0, 1, 2]
    assert sort_indices(pa.array([], pa.int64())).tolist() == []


def test_nested_types_and_intervals_have_no_order() -> None:
    kinds = [pa.list_(pa.int8()), pa.struct([]), pa.month_day_nano_interval()]
    assert not any(map(is_orderable, kinds))
