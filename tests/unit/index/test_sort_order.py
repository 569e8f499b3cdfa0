"""The total order of values of every type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.index.sort_order import SortedValues, is_orderable, sort_indices
from tests.each_case import each_case
from tests.unit.index.ordered_arrays import ordered_arrays


def _bytes_of(array: pa.Array) -> list[Any]:
    """Values that tell NaN, zeros and nanoseconds apart."""
    if pa.types.is_floating(array.type) or pa.types.is_temporal(array.type):
        array = array.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[array.type.bit_width])
    found: list[Any] = array.to_pylist()
    return found


@each_case("ordered", ordered_arrays())
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


@each_case("ordered", ordered_arrays())
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


@each_case("ordered", ordered_arrays())
def test_many_values_are_found_at_the_places_of_single_ones(ordered: pa.Array) -> None:
    values = SortedValues(ordered.slice(1))
    many = ordered.take(pa.array(np.arange(40) % len(ordered)))
    for after in (False, True):
        single = [values.search(many.slice(place, 1), after=after)[0] for place in range(40)]
        assert values.search(many, after=after).tolist() == single


def test_equal_values_and_nulls_keep_their_order() -> None:
    assert sort_indices(pa.array([2, None, 1, 2, None, 1])).tolist() == [1, 4, 2, 5, 0, 3]
    assert sort_indices(pa.nulls(3)).tolist() == [0, 1, 2]
    assert sort_indices(pa.array([], pa.int64())).tolist() == []


def test_nested_types_and_intervals_have_no_order() -> None:
    kinds = [pa.list_(pa.int8()), pa.struct([]), pa.month_day_nano_interval()]
    assert not any(map(is_orderable, kinds))


@each_case("kind", [pa.binary(), pa.large_binary()])
def test_many_texts_are_in_the_order_of_their_bytes(kind: pa.DataType) -> None:
    random = np.random.default_rng(9)

    def texts(prefix: bytes, alphabet: bytes, length: int) -> list[bytes]:
        letters = random.choice(np.frombuffer(alphabet, np.uint8), (1100, length + 1))
        lengths = random.integers(0, length + 1, 1100).tolist()
        rows = [bytes(row[:size]) for row, size in zip(letters, lengths, strict=True)]
        return [prefix + row for row in rows]

    every = bytes(range(256))
    for values in (
        texts(b"", every, 12),
        texts(b"a common prefix \0", b"\0a", 14),
        texts(b"", b"ab", 3),
        [b""] * 1100,
    ):
        nulls = random.random(1100) < 0.05
        for mask in (None, nulls):
            array = pa.array(values, kind, mask=mask).slice(3)
            keys = [(one is not None, one or b"") for one in array.to_pylist()]
            wanted = sorted(range(len(keys)), key=keys.__getitem__)
            assert sort_indices(array).tolist() == wanted
