"""`KeyIndex` against a dictionary of Python values, for all kinds of keys."""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.dataset.write.merge_insert.keys import KeyIndex
from lance_core.dataset.write.merge_insert.spill import SpilledRows
from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
from lance_core.errors import UnsupportedFeatureError
from lance_core.store.temporary_folder import TemporaryFolder
from tests.each_case import each_case

TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "int64": (pa.int64(), lambda n: n * 10**15 - 5 * 10**16),
    "int8": (pa.int8(), lambda n: n - 50),
    "uint64": (pa.uint64(), lambda n: 2**64 - 1 - n),
    "float64": (pa.float64(), lambda n: n / 7),
    "float16": (pa.float16(), np.float16),
    "bool": (pa.bool_(), lambda n: n % 2 == 0),
    "date32": (pa.date32(), lambda n: datetime.date(2020, 1, 1) + datetime.timedelta(n)),
    "timestamp": (pa.timestamp("us", "UTC"), lambda n: n),
    "decimal": (pa.decimal128(12, 2), lambda n: Decimal(n) / 4),
    "string": (pa.string(), lambda n: f"key {n} 😀" if n else ""),
    "large_binary": (pa.large_binary(), lambda n: bytes([n, 0])),
    "fixed": (pa.binary(3), lambda n: bytes([n, 1, 2])),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda n: f"value {n}"),
    "struct": (
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
        lambda n: {"a": n % 5 or None, "b": None if n % 7 == 0 else str(n)},
    ),
}


def column(values: Sequence[Any], kind: pa.DataType) -> pa.ChunkedArray:
    """``values`` in three chunks that are slices."""
    array = pa.array([*values, *values[:2]], kind)
    cuts = [0, len(values) // 3, len(values) // 2, len(values)]
    parts = [array.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
    return pa.chunked_array(parts, kind)


def drawn(rng: random.Random, name: str, count: int, below: int) -> list[Any]:
    make = TYPES[name][1]
    return [None if rng.random() < 0.1 else make(rng.randrange(below)) for _ in range(count)]


def check(source: list[list[Any]], target: list[list[Any]], kinds: list[pa.DataType]) -> None:
    """Compare an index of the key columns ``source`` and a search of ``target``."""
    index = KeyIndex([column(v, k) for v, k in zip(source, kinds, strict=True)])
    numbers: dict[str, int] = {}
    for values, number in zip(zip(*source, strict=True), index.keys.tolist(), strict=True):
        if None in values:
            assert number == -1
        else:
            assert numbers.setdefault(repr(values), number) == number
    assert sorted(numbers.values()) == list(range(len(index)))
    found = index.find([column(v, k) for v, k in zip(target, kinds, strict=True)])
    expected = [
        (row, numbers[repr(values)])
        for row, values in enumerate(zip(*target, strict=True))
        if repr(values) in numbers and None not in values
    ]
    assert list(zip(found.rows.tolist(), found.members.tolist(), strict=True)) == expected


@each_case("name", TYPES)
def test_keys_of_one_column_are_found(name: str) -> None:
    rng = random.Random(name)
    kind = TYPES[name][0]
    check([drawn(rng, name, 60, 50)], [drawn(rng, name, 200, 100)], [kind])
    check([[]], [drawn(rng, name, 20, 100)], [kind])
    check([[None, None]], [[None, *drawn(rng, name, 20, 100)]], [kind])


@each_case("name", [name for name in TYPES if name != "struct"])
def test_members_of_a_struct_may_be_null(name: str) -> None:
    rng = random.Random(f"member {name}")
    kind = pa.struct([("a", pa.int32()), ("b", TYPES[name][0])])
    sides = [
        [{"a": rng.choice([None, 1, 2]), "b": b} for b in drawn(rng, name, count, 10)]
        for count in (60, 200)
    ]
    check([sides[0]], [sides[1]], [kind])


def test_a_null_in_a_dictionary_is_a_null_member() -> None:
    def structs(indices: list[int | None], values: list[str | None]) -> pa.ChunkedArray:
        member = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values))
        return pa.chunked_array([pa.StructArray.from_arrays([member], names=["a"])])

    index = KeyIndex([structs([0, None, 1], ["x", None])])
    assert index.keys[1] == index.keys[2]
    found = index.find([structs([0, None, 1, 2], [None, "x", ""])])
    assert found.rows.tolist() == [0, 1, 2]
    assert found.members.tolist() == index.keys[[1, 1, 0]].tolist()


@pytest.mark.parametrize("names", [("int64", "string"), ("string", "bool", "int8")])
def test_keys_of_several_columns_are_found(names: tuple[str, ...]) -> None:
    rng = random.Random(str(names))
    source = [drawn(rng, name, 80, 12) for name in names]
    target = [drawn(rng, name, 300, 14) for name in names]
    check(source, target, [TYPES[name][0] for name in names])


def test_floating_point_keys_are_compared_by_their_bits() -> None:
    nan = float("nan")
    index = KeyIndex([pa.chunked_array([pa.array([nan, -0.0])])])
    found = index.find([pa.chunked_array([pa.array([0.0, nan, -0.0, 1.0])])])
    assert found.rows.tolist() == [1, 2]


def test_many_integers_share_slots() -> None:
    members = np.unique(np.random.default_rng(1).integers(-(2**62), 2**62, 50_000))
    index = IntegerIndex(members)
    searched = np.concatenate([members[::-1], members + 1])
    found = index.find(searched)
    expected = np.flatnonzero(np.isin(searched, members))
    assert found.rows.tolist() == expected.tolist()
    assert (members[found.members] == searched[found.rows]).all()


def test_members_are_searched_in_ascending_values() -> None:
    rng = np.random.default_rng(2)
    bounds = np.array([-(2**63), 2**63 - 1])
    members = np.unique(np.concatenate([rng.integers(-50, 400, 60), bounds]))
    values = np.sort(np.concatenate([rng.integers(-100, 300, 5000), bounds, bounds]))
    for searched in (values, values[1000:2000], values[:0], rng.permutation(values)):
        found = IntegerIndex(members).find(searched)
        assert found.rows.tolist() == np.flatnonzero(np.isin(searched, members)).tolist()
        assert (members[found.members] == searched[found.rows]).all()


@each_case("kind", [pa.list_(pa.int32()), pa.list_(pa.int8(), 2), pa.struct([])])
def test_other_types_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeatureError, match="cannot be keys of a merge"):
        KeyIndex([pa.chunked_array([pa.array([], kind)])])


def test_rows_on_disk_are_spread_over_all_partitions() -> None:
    schema = pa.schema([("k", pa.int64())])
    with TemporaryFolder("test") as folder:
        spilled = SpilledRows(folder, "rows", schema, ["k"], 1 << 20)
        with spilled:
            spilled.write(pa.table({"k": range(5000)}))
        sizes = [spilled.part(number).num_rows for number in range(spilled.num_parts)]
    assert sum(sizes) == 5000
    assert min(sizes) > 0
