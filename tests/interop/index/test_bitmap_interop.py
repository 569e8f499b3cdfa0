"""BITMAP and LABEL_LIST indices beside pylance: same contents, same answers, in both directions."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader
from lance.indices import IndexConfig

import lance_core
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of, open_index, spec_of
from lance_core.index.base import OpenIndex
from lance_core.index.queries import HasAll, HasAny, InRange, IsIn, IsNull
from lance_core.index.sort_order import SortedValues, sort_indices

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

_NUMBERS = [1, None, 3, 1, -5]
_DECIMALS = [Decimal("1.50"), None, Decimal("-3.25"), Decimal("1.50"), Decimal("0.00")]
_TEXTS = ["b", None, "", "b", "é"]
_BYTES = [b"b", None, b"", b"b", b"\xff"]
_FLOATS = [1.5, None, -0.0, float("nan"), 0.0]
COLUMNS = {
    "i8": pa.array(_NUMBERS, pa.int8()),
    "u64": pa.array([2**64 - 1, None, 1, 2**63, 0], pa.uint64()),
    "f16": pa.array([None if one is None else np.float16(one) for one in _FLOATS], pa.float16()),
    "f32": pa.array(_FLOATS, pa.float32()),
    "f64": pa.array([*_FLOATS[:4], float("-inf")]),
    "bool": pa.array([True, None, False, True, False]),
    "date32": pa.array(_NUMBERS, pa.int32()).cast(pa.date32()),
    "date64": pa.array([86400000, None, 0, 86400000, -86400000], pa.int64()).cast(pa.date64()),
    "time32": pa.array([1, None, 3, 1, 0], pa.int32()).cast(pa.time32("s")),
    "time64": pa.array([1, None, 3, 1, 0], pa.int64()).cast(pa.time64("ns")),
    "ts": pa.array(_NUMBERS, pa.int64()).cast(pa.timestamp("us", "UTC")),
    "dur": pa.array(_NUMBERS, pa.int64()).cast(pa.duration("ms")),
    "dec128": pa.array(_DECIMALS, pa.decimal128(10, 2)),
    "dec256": pa.array(_DECIMALS, pa.decimal256(50, 2)),
    "fsb": pa.array([b"abc", None, b"\0\0\0", b"abc", b"\xff\0a"], pa.binary(3)),
    "str": pa.array(_TEXTS),
    "lstr": pa.array(_TEXTS, pa.large_string()),
    "bin": pa.array(_BYTES),
    "lbin": pa.array(_BYTES, pa.large_binary()),
    "null": pa.nulls(5),
    "dict": pa.array(_TEXTS).dictionary_encode(),
}
LISTS = {
    "labels": pa.array([None, [], ["a", "b", "a", None], ["b"], [None]]),
    "large": pa.array([None, [], [1, 2], [2, 2, None], [3]], pa.large_list(pa.int64())),
    "floats": pa.array([[0.0, -0.0], [float("nan")], None, [1.5], [0.0]]),
}
_COPIES, _FILE_ROWS = 40, 70


def _table() -> pa.Table:
    columns = COLUMNS | LISTS
    return pa.table({name: pa.concat_arrays([one] * _COPIES) for name, one in columns.items()})


def _kind(name: str) -> str:
    return "label_list" if name in LISTS else "bitmap"


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "stable"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table indexed by us, the same one indexed by pylance, and the row numbers."""
    folder = tmp_path_factory.mktemp("bitmaps")
    paths = [str(folder / "ours"), str(folder / "theirs")]
    table = _table()
    for path in paths:
        lance.write_dataset(
            table, path, max_rows_per_file=_FILE_ROWS, enable_stable_row_ids=request.param
        )
    for name in table.column_names:
        lance_core.dataset(paths[0]).create_scalar_index(name, _kind(name))
        config = IndexConfig(_kind(name).replace("_", ""), {})
        lance.dataset(paths[1]).create_scalar_index(name, config)
    offsets = np.arange(len(table), dtype=np.uint64)
    fragments, within = offsets // np.uint64(_FILE_ROWS), offsets % np.uint64(_FILE_ROWS)
    rows = offsets if request.param else (fragments << np.uint64(32)) | within
    return *paths, rows


def _contents(path: str) -> dict[str, tuple[pa.Table, dict[str, Any]]]:
    found = {}
    for index in lance.dataset(path).describe_indices():
        (segment,) = index.segments
        file = Path(path) / "_indices" / str(segment.uuid) / "bitmap_page_lookup.lance"
        table = LanceFileReader(str(file)).read_all().to_table()
        found[index.field_names[0]] = table, dict(table.schema.metadata or {})
    return found


def test_files_of_all_types_have_the_same_rows_as_those_of_pylance(both: Any) -> None:
    ours, theirs = _contents(both[0]), _contents(both[1])
    assert ours.keys() == theirs.keys() == {*COLUMNS, *LISTS}
    for name, (table, metadata) in ours.items():
        expected, expected_metadata = theirs[name]
        assert table.schema.equals(expected.schema), name
        assert metadata == expected_metadata, name
        assert table["bitmaps"] == expected["bitmaps"], name
        # The text tells the two zeros apart, and NaN equals NaN.
        assert str(table["keys"].to_pylist()) == str(expected["keys"].to_pylist()), name


def _open(path: str, name: str) -> OpenIndex:
    dataset = lance_core.dataset(path)
    snapshot = dataset._snapshot
    for index in indices_of(snapshot):
        if index.name == f"{name}_idx":
            spec = spec_of(index)
            assert spec is not None
            return open_index(snapshot, index, spec)
    raise AssertionError(name)


def test_indices_of_all_types_find_the_rows_of_each_value_and_range(both: Any) -> None:
    *paths, rows = both
    for path in paths:
        for name, some in COLUMNS.items():
            index = _open(path, name)
            nulls = rows[np.tile(some.is_null().to_numpy(zero_copy_only=False), _COPIES)]
            found = index.search(IsNull(), with_nulls=True)
            assert (found.rows.numbers() == nulls).all(), name
            assert found.nulls is not None
            assert not found.nulls
            present = some.dictionary_decode() if name == "dict" else some
            order = sort_indices(present)[present.null_count :]
            if not len(order):
                continue
            ordered = present.take(pa.array(order))
            ranks = np.full(len(some), -1)
            ranks[order] = SortedValues(ordered).search(ordered)
            everywhere = np.tile(ranks, _COPIES)
            for place, rank in enumerate(sorted({int(one) for one in ranks} - {-1})):
                value = ordered.slice(rank, 1)
                found = index.search(IsIn(value), with_nulls=True)
                assert (found.rows.numbers() == rows[everywhere == rank]).all(), (name, value)
                assert found.nulls is not None
                assert (found.nulls.numbers() == nulls).all()
                below = index.search(InRange(upper=value[0], includes_upper=place % 2 == 0))
                limit = rank + 1 if place % 2 == 0 else rank
                wanted = rows[(everywhere >= 0) & (everywhere < limit)]
                assert (below.rows.numbers() == wanted).all(), (name, value)
            assert index.statistics() == {"num_bitmaps": len(set(ranks.tolist()))}


def test_lists_with_some_or_all_labels_are_found(both: Any) -> None:
    *paths, rows = both
    for path in paths:
        for name, some in LISTS.items():
            index = _open(path, name)
            items = [one if one is None else str(one) for one in some.to_pylist()]
            nulls = rows[np.tile([one is None for one in items], _COPIES)]
            values = some.flatten().drop_null()
            for first, second in ((0, 0), (0, 1), (0, len(values) - 1)):
                wanted = values.take(pa.array([first, second]))
                texts = [str(one) for one in wanted.to_pylist()]
                for query, test in ((HasAny(wanted), any), (HasAll(wanted), all)):
                    expected = [
                        one is not None and test(text in map(str, one) for text in texts)
                        for one in some.to_pylist()
                    ]
                    found = index.search(query, with_nulls=True)
                    assert (found.rows.numbers() == rows[np.tile(expected, _COPIES)]).all(), texts
                    assert found.nulls is not None
                    assert (found.nulls.numbers() == nulls).all()


FILTERS = [
    "i8 = 3",
    "i8 IN (1, -5, 9)",
    "i8 != 1",
    "i8 IS NOT NULL",
    "NOT (f64 < 1)",
    "f32 = 0.0",
    "bool",
    "NOT bool",
    "str = 'b'",
    "str >= 'b' OR i8 IS NULL",
    "dec128 < 1",
    "array_has(labels, 'a')",
    "NOT array_has(labels, 'a')",
    "array_has_any(labels, ['a', 'x'])",
    "array_has_all(large, [1, 2]) OR i8 = 3",
    "NOT array_has_all(large, [2])",
]


def test_filters_with_either_index_give_the_rows_of_a_scan(both: Any) -> None:
    for path in both[:2]:
        theirs, ours = lance.dataset(path), lance_core.dataset(path)
        for text in FILTERS:
            expected = theirs.to_table(["u64"], text, with_row_id=True, use_scalar_index=False)
            assert "ScalarIndexQuery" in theirs.scanner(filter=text).explain_plan(), text
            assert theirs.to_table(["u64"], text, with_row_id=True) == expected, text
            assert ours.to_table(["u64"], text, with_row_id=True) == expected, text


@pytest.mark.parametrize("stable", [False, True], ids=["plain", "stable"])
def test_indices_survive_compaction_and_merges_by_the_other_library(
    tmp_path: Path, stable: bool
) -> None:
    paths = [str(tmp_path / "ours"), str(tmp_path / "theirs")]
    names = ["i8", "str", "f64", "labels", "large"]
    table = _table().select([*names, "u64"])
    for path in paths:
        lance.write_dataset(table, path, max_rows_per_file=30, enable_stable_row_ids=stable)
    for name in names:
        lance_core.dataset(paths[0]).create_scalar_index(name, _kind(name).upper())
        lance.dataset(paths[1]).create_scalar_index(name, _kind(name).upper())
    for path in paths:
        lance.write_dataset(table.slice(20, 60), path, mode="append")
        lance.dataset(path).delete("u64 = 1 AND i8 = 3")
    lance.dataset(paths[0]).optimize.optimize_indices()
    lance.dataset(paths[0]).optimize.compact_files()
    lance_core.dataset(paths[1]).optimize.optimize_indices()
    lance_core.dataset(paths[1]).optimize.compact_files()
    filters = [one for one in FILTERS if any(one.count(name) for name in names)]
    filters = [one for one in filters if not {"f32", "bool", "dec128"} & set(one.split())]
    for path in paths:
        theirs, ours = lance.dataset(path), lance_core.dataset(path)
        for text in filters:
            expected = theirs.to_table(["u64"], text, use_scalar_index=False)
            assert theirs.to_table(["u64"], text) == expected, text
            assert ours.to_table(["u64"], text) == expected, text
