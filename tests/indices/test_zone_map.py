"""ZONEMAP: zones, their bounds, the rows that queries find, merges, and damaged files."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.index.base import IndexPart, Precision
from lance_core.index.queries import Contains, InRange, IsIn, IsNull, StartsWith
from lance_core.index.sort_order import searchable, sort_keys
from lance_core.table.indices.row_set import EMPTY, RowSet
from lance_core_indices import zone_map, zones
from lance_core_indices.zone_map import FILE, ROWS_VARIABLE, OpenZoneMap, ZoneMap
from lance_core_indices.zones import NULL_BITMAP
from tests.each_case import each_case
from tests.indices.bitmap_folders import Rows
from tests.indices.zone_rows import (
    BuiltIndex,
    Compaction,
    addresses,
    build,
    live_rows,
)

KIND = ZoneMap()
NAN = float("nan")


def some_values(count: int, seed: int) -> dict[str, pa.Array]:
    """Values of each type of bounds, in clusters, with nulls."""
    random = np.random.default_rng(seed)
    numbers = np.sort(random.integers(-300, 300, count)) + random.integers(-9, 9, count)
    absent = random.random(count) < 0.15
    absent[10:30] = True
    floats = numbers / 4.0
    floats[40:60] = NAN
    floats[random.random(count) < 0.05] = np.copysign(NAN, -1)
    floats[floats == 0] *= -1
    texts = [f"k{number + 400:04d}" + "\0é"[number % 3 :] for number in numbers.tolist()]
    decimals = [decimal.Decimal(number).scaleb(-1) for number in numbers.tolist()]
    return {
        "int16": pa.array(numbers.astype(np.int16), mask=absent),
        "uint64": pa.array((numbers + 500).astype(np.uint64) << np.uint64(54), mask=absent),
        "float16": pa.array(floats.astype(np.float16), mask=absent),
        "float64": pa.array(floats, mask=absent),
        "bool": pa.array(numbers > 0, mask=absent),
        "timestamp": pa.array(numbers, pa.timestamp("us", "UTC"), mask=absent),
        "duration": pa.array(numbers, pa.duration("ms"), mask=absent),
        "date32": pa.array(numbers.astype(np.int32), pa.date32(), mask=absent),
        "string": pa.array(texts, mask=absent),
        "large_binary": pa.array([t.encode() for t in texts], pa.large_binary(), mask=absent),
        "fixed": pa.array([t[:5].encode() for t in texts], pa.binary(5), mask=absent),
        "decimal": pa.array(decimals, pa.decimal128(20, 1), mask=absent),
    }


@each_case("name", sorted(some_values(1, 1)))
def test_bounds_that_are_united_early_are_those_of_all_rows(name: str) -> None:
    values = some_values(500, 3)[name]
    rows = Rows(values, addresses(0, range(500)), 7)
    expected = build(KIND, rows, rows_per_zone=20).folder.reader(FILE).read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zone_map, "_MAX_PIECES_BYTES", 1)
        patch.setattr(zones, "_BLOCK_ROWS", 7)
        found = build(KIND, rows, rows_per_zone=20).folder.reader(FILE).read()
    assert str(found.to_pydict()) == str(expected.to_pydict())


def matches(values: pa.Array, query: Any) -> set[int]:
    """The positions of the values for which a query is true."""
    if isinstance(query, StartsWith):
        return set(np.flatnonzero(pc.starts_with(values, query.prefix).fill_null(False)).tolist())
    present = np.flatnonzero(values.is_valid())
    keys = searchable(sort_keys(values.drop_null()))
    if isinstance(query, IsIn):
        wanted = set(searchable(sort_keys(query.values)).tolist())
        return {
            at for at, key in zip(present.tolist(), keys.tolist(), strict=True) if key in wanted
        }
    found = np.ones(len(keys), np.bool_)
    if query.lower is not None:
        key = searchable(sort_keys(pa.array([query.lower], values.type)))
        found &= keys >= key if query.includes_lower else keys > key
    if query.upper is not None:
        key = searchable(sort_keys(pa.array([query.upper], values.type)))
        found &= keys <= key if query.includes_upper else keys < key
    return set(present[found].tolist())


def queries(values: pa.Array, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    present = values.drop_null()
    some = [present[int(at)] for at in random.integers(0, len(present), 6)]
    found: list[Any] = [IsIn(pa.array([one], values.type)) for one in some[:3]]
    found += [IsIn(present.take(pa.array(random.integers(0, len(present), 40))))]
    for lower in (None, some[0]):
        for upper in (None, some[1], some[2]):
            found += [InRange(lower, upper), InRange(lower, upper, False, False)]
    if pa.types.is_string(values.type):
        found += [StartsWith("k03"), StartsWith("k"), StartsWith("z"), StartsWith("k0400é")]
    return found


def check(index: OpenZoneMap, rows: Rows, seed: int) -> int:
    """Compare all queries with the values; returns how many rows were avoided."""
    avoided = 0
    for query in queries(rows.values, seed):
        found = index.search(query)
        hits = found.rows.contains(rows.numbers)
        missing = matches(rows.values, query) - set(np.flatnonzero(hits).tolist())
        assert not missing, (rows.type, query, missing)
        assert found.nulls is None
        avoided += len(hits) - int(hits.sum())
    nulls = index.search(IsNull(), with_nulls=True)
    assert nulls.nulls == EMPTY
    absent = np.asarray(rows.values.is_null())
    assert nulls.rows.numbers().tolist() == rows.numbers[absent].tolist()
    return avoided


def test_zones_hold_every_value_that_a_query_matches() -> None:
    for seed, version in enumerate((FileVersion.V2_0, FileVersion.V2_2)):
        for name, values in some_values(300, seed).items():
            rows = live_rows(values, 100, 3, seed)
            made = build(KIND, rows, version, rows_per_zone=16)
            index = made.open()
            assert isinstance(index, OpenZoneMap)
            assert check(index, rows, seed) > 500, name
            assert index.nbytes > 0
            index.prewarm()


def test_a_zone_has_consecutive_live_rows_of_one_fragment() -> None:
    numbers = np.concatenate([addresses(0, [1, 3, 4, 6]), addresses(7, [0, 2]), addresses(2, [9])])
    values = pa.array([1.5, NAN, None, -0.0, NAN, NAN, None])
    for step in (1, 2, 7):
        made = build(KIND, Rows(values, numbers, step), rows_per_zone=3)
        assert made.details == bytes.fromhex("080310001801")
        file = made.folder.reader(FILE)
        assert file.metadata["rows_per_zone"] == "3"
        table = file.read()
        assert [(f.name, str(f.type), f.nullable) for f in file.schema] == [
            ("min", "double", True),
            ("max", "double", True),
            ("null_count", "uint32", False),
            ("nan_count", "uint32", False),
            ("fragment_id", "uint64", False),
            ("zone_start", "uint64", False),
            ("zone_length", "uint64", False),
        ]
        assert str([list(row.values()) for row in table.to_pylist()]) == str(
            [
                [1.5, NAN, 1, 1, 0, 1, 4],
                [-0.0, -0.0, 0, 0, 0, 6, 1],
                [None, NAN, 0, 2, 7, 0, 3],
                [None, None, 1, 0, 2, 9, 1],
            ]
        )
        assert made.open().statistics() == {"num_zones": 4, "rows_per_zone": 3}


def test_defaults_depend_on_the_type_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(pa.array(["a"]), addresses(0, [0]))
    assert build(KIND, rows).details == bytes.fromhex("08804010011801")
    assert build(KIND, rows, use_seeds=False).details == bytes.fromhex("08804010001801")
    monkeypatch.setenv(ROWS_VARIABLE, "5")
    assert build(KIND, Rows(pa.array([1]), addresses(0, [0]))).details.hex() == "080510001801"
    monkeypatch.setenv(ROWS_VARIABLE, "five")
    with pytest.raises(InvalidInputError, match=f"{ROWS_VARIABLE} must be a positive integer"):
        build(KIND, rows)


def test_values_of_nested_types_have_no_bounds_but_nulls_are_found() -> None:
    item = pa.field("item", pa.float32(), nullable=False)
    struct = pa.struct(
        [pa.field("a", pa.list_(pa.int8()), nullable=False), pa.field("b", pa.utf8())]
    )
    cases = [
        pa.array([[1], None, []]),
        pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(item, 2)),
        pa.array([{"a": [], "b": None}, None, {"a": [1], "b": "x"}], struct),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.nulls(3),
    ]
    for values in cases:
        made = build(KIND, Rows(values, addresses(1, [0, 1, 5])))
        index = made.open()
        expected = [(1 << 32) + offset for offset in ([0, 1, 5] if values.null_count > 1 else [1])]
        assert index.search(IsNull()).rows.numbers().tolist() == expected, values.type
        assert KIND.accepts(values.type)
        assert KIND.precision(IsIn(values), values.type, made.details) is None
        merged = BuiltIndex.empty(KIND, values.type)
        KIND.merge(
            [IndexPart(index, Compaction.of(addresses(1, [1, 5]), 9, 4))], None, merged.output
        )
        found = merged._replace(details=made.details).open().search(IsNull()).rows.numbers()
        assert found.tolist() == [4 << 32, *([(4 << 32) + 1] if values.null_count > 1 else [])]


def test_precision_is_known_from_the_details() -> None:
    exact, old = bytes.fromhex("08804010001801"), b""
    one = IsIn(pa.array([1]))
    assert KIND.precision(IsNull(), pa.int64(), exact) is Precision.EXACT
    assert KIND.precision(IsNull(), pa.int64(), old) is Precision.AT_MOST
    assert KIND.precision(IsNull(), pa.null(), exact) is None
    assert KIND.precision(one, pa.int64(), old) is Precision.AT_MOST
    assert KIND.precision(InRange(), pa.string(), old) is Precision.AT_MOST
    assert KIND.precision(StartsWith("a"), pa.large_string(), old) is Precision.AT_MOST
    assert KIND.precision(StartsWith("a"), pa.binary(), old) is None
    assert KIND.precision(Contains("a"), pa.string(), old) is None
    with pytest.raises(CorruptFileError, match="ZoneMapIndexDetails"):
        KIND.precision(IsNull(), pa.int64(), b"\xff")


def test_zones_follow_their_rows_through_a_compaction() -> None:
    for seed in range(2):
        for name, values in some_values(260, seed).items():
            rows = live_rows(values[:200], 60, 0, seed)
            index = build(KIND, rows, rows_per_zone=16).open()
            kept = np.random.default_rng(seed).random(200) < 0.7
            compaction = Compaction.of(rows.numbers[kept], 37, 50)
            new = live_rows(values[200:], 60, 90, seed)
            merged = BuiltIndex.empty(KIND, values.type)
            details = KIND.merge([IndexPart(index, compaction)], new, merged.output)
            left = Rows(
                pa.concat_arrays([values[:200].filter(pa.array(kept)), new.values]),
                np.concatenate([compaction.now, new.numbers]),
            )
            found = merged._replace(details=details).open()
            assert isinstance(found, OpenZoneMap)
            assert check(found, left, seed) > 300, name
            zones, stats = found.summary.zones, found.statistics()
            assert stats == {"num_zones": len(zones), "rows_per_zone": 16}
            assert (np.diff(zones.addresses().astype(np.int64)) > 0).all()
            ends = zones.addresses() + zones.lengths
            assert (ends[:-1] <= zones.addresses()[1:]).all()
            # A zone and its nulls are counted where they are now.
            assert int(found.summary.nulls.sum()) == left.values.null_count


def stored(
    columns: dict[str, pa.Array],
    metadata: dict[str, str] | None = None,
    nulls: list[int] | None = None,
) -> BuiltIndex:
    """An index of int64 values whose file has these columns instead of the usual ones."""
    made = BuiltIndex.empty(KIND, pa.int64())
    usual: dict[str, pa.Array] = {
        "min": pa.array([5, 1]),
        "max": pa.array([9, 4]),
        "null_count": pa.array([1, 0], pa.uint32()),
        "nan_count": pa.array([0, 0], pa.uint32()),
        "fragment_id": pa.array([1, 0], pa.uint64()),
        "zone_start": pa.array([0, 2], pa.uint64()),
        "zone_length": pa.array([4, 3], pa.uint64()),
    }
    columns = {name: one for name, one in (usual | columns).items() if one is not None}
    table = pa.table(columns).replace_schema_metadata(metadata)
    with made.output.create(FILE, table.schema) as file:
        file.write(table)
        if nulls is not None:
            data = RowSet.of(np.array(nulls, np.uint64)).to_tree_map()
            file.add_metadata(NULL_BITMAP, str(file.add_global_buffer(data)))
    return made


def test_a_map_without_nulls_and_metadata_is_read() -> None:
    index = stored({}).open()
    assert index.statistics() == {"num_zones": 2, "rows_per_zone": 8192}
    found = index.search(IsIn(pa.array([4])))
    assert found.rows.numbers().tolist() == [2, 3, 4]
    assert index.search(IsNull()).rows.numbers().tolist() == [(1 << 32) + n for n in range(4)]
    merged = BuiltIndex.empty(KIND, pa.int64())
    kept = np.concatenate([addresses(0, [2]), addresses(1, [0, 3])])
    rows = Rows(pa.array([None, 7]), addresses(9, [0, 1]))
    parts = [IndexPart(index, Compaction.of(kept, 2, 5))]
    details = KIND.merge(parts, rows, merged.output)
    assert KIND.precision(IsNull(), pa.int64(), details) is Precision.AT_MOST
    found = merged._replace(details=details).open().search(IsNull())
    # The zone with a null is in two fragments now.
    expected = [(5 << 32) + 1, 6 << 32, 9 << 32, (9 << 32) + 1]
    assert found.rows.numbers().tolist() == expected


def test_damaged_maps_are_refused() -> None:
    one = pa.array([1, 2], pa.uint64())
    cases: list[tuple[str, dict[str, Any]]] = [
        ("zone_length.*uint32", {"zone_length": one.cast(pa.uint32())}),
        ("null_count.*uint64", {"null_count": one}),
        ("min.*type int32", {"min": pa.array([1, 2], pa.int32())}),
        ("fragment_id.*missing", {"fragment_id": None}),
        ("zone_start.*1 nulls", {"zone_start": pa.array([1, None], pa.uint64())}),
        ("zone 1 is beyond", {"zone_start": pa.array([0, (1 << 64) - 1], pa.uint64())}),
        ("zone 0 is beyond", {"zone_length": pa.array([(1 << 32) + 1, 1], pa.uint64())}),
        ("zone 1 is beyond", {"fragment_id": pa.array([0, 1 << 32], pa.uint64())}),
        ("above max in zone 1", {"max": pa.array([9, 0])}),
    ]
    for reason, columns in cases:
        with pytest.raises(CorruptFileError, match=reason):
            stored(columns).open()
    for number, reason in (
        ("9", "global buffer"),
        ("x", "not a positive"),
        ("9" * 5000, "not a positive"),
    ):
        index = stored({}, {"null_bitmap": number}).open()
        with pytest.raises(CorruptFileError, match=reason):
            index.search(IsNull())
    assert stored({}, nulls=[1 << 32]).open().search(IsNull()).rows.numbers().tolist() == [1 << 32]
    with pytest.raises(CorruptFileError, match="2 null rows, the zones have 1"):
        stored({}, nulls=[2, 3]).open().search(IsNull())
    made = stored({})._replace(details=bytes.fromhex("1801"))
    with pytest.raises(CorruptFileError, match="no bitmap of null rows"):
        made.open().search(IsNull())
    with pytest.raises(CorruptFileError, match="not a positive number"):
        stored({}, {"rows_per_zone": "0"}).open().statistics()


def test_parameters_are_checked() -> None:
    KIND.check_parameters({"rows_per_zone": 1, "use_seeds": True})
    cases: list[tuple[str, dict[str, Any]]] = [
        ("did you mean 'rows_per_zone'", {"row_per_zone": 1}),
        ("positive integer", {"rows_per_zone": 0}),
        ("positive integer", {"rows_per_zone": True}),
        ("positive integer", {"rows_per_zone": None}),
        ("positive integer", {"rows_per_zone": 1 << 80}),
        ("use_seeds must be", {"use_seeds": 1}),
    ]
    for reason, parameters in cases:
        with pytest.raises(InvalidInputError, match=reason):
            KIND.check_parameters(parameters)


def test_an_empty_map_finds_nothing() -> None:
    index = build(KIND, Rows(pa.array([], pa.string()), addresses(0, []))).open()
    assert not index.search(StartsWith("a")).rows
    assert not index.search(IsNull()).rows
    assert index.statistics()["num_zones"] == 0
