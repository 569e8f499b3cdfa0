"""BTREE indices in memory: what they find, how they are built, merged and stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.index import runs
from lance_core.index.base import IndexBatch, IndexPart, OpenIndex, Precision
from lance_core.index.files import IndexFileReader, IndexFolder
from lance_core.index.queries import Contains, IndexQuery, InRange, IsIn, IsNull, StartsWith
from lance_core.index.sort_order import sort_keys
from lance_core.plugins import get_manager
from lance_core_indices.btree import BTree, open_btree, pages, value_sort
from tests.each_case import each_case
from tests.indices.bitmap_folders import Folder, Moved, Rows, new_folder
from tests.unit.index.ordered_arrays import ordered_arrays

FRAGMENT = 1 << 32


def built(rows: Rows, zone_size: int = 4, version: FileVersion = FileVersion.V2_1) -> Folder:
    folder = new_folder(version)
    with folder.output:
        assert BTree().build(rows, {"zone_size": zone_size}, folder.output) == b""
    return folder


def opened(rows: Rows, zone_size: int = 4) -> OpenIndex:
    return built(rows, zone_size).open(BTree(), rows.type)


def some_rows(values: pa.Array, step: int = 7) -> Rows:
    """``values`` in two fragments."""
    numbers = np.arange(len(values), dtype=np.uint64)
    numbers += np.uint64(FRAGMENT) * (numbers % np.uint64(2))
    return Rows(values, numbers, step)


def found(index: OpenIndex, query: IndexQuery) -> list[int]:
    return index.search(query).rows.numbers().tolist()


def where(rows: Rows, mask: Any) -> list[int]:
    chosen = mask if isinstance(mask, np.ndarray) else np.asarray(pc.fill_null(mask, False))
    return np.sort(rows.numbers[chosen]).tolist()  # type: ignore[no-any-return]  # numpy's typing


def mixed_rows(ordered: pa.Array) -> tuple[Rows, np.ndarray[Any, Any]]:
    """Each value several times and some nulls, shuffled; also the place of each, -1 for null."""
    random = np.random.default_rng(3)
    places = random.integers(-1, len(ordered), 60)
    values = ordered.take(pa.array(places, mask=places < 0))
    return some_rows(values), places


@each_case("ordered", ordered_arrays())
def test_values_of_every_type_are_found(ordered: pa.Array) -> None:
    rows, places = mixed_rows(ordered)
    index, count = opened(rows), len(ordered)
    nulls = where(rows, places < 0)
    assert found(index, IsNull()) == nulls
    for place in range(count):
        one = IsIn(ordered.slice(place, 1))
        result = index.search(one, with_nulls=True)
        assert result.nulls is not None
        assert result.nulls.numbers().tolist() == nulls
        assert result.rows.numbers().tolist() == where(rows, places == place)
    several = ordered.take(pa.array([count - 1, 0, 0]))
    assert found(index, IsIn(several)) == where(rows, (places == 0) | (places == count - 1))
    for first in range(count):
        for last in range(first % 3, count, 3):
            lower, upper = ordered[first], ordered[last]
            closed = (places >= first) & (places <= last)
            opened_ends = (places > first) & (places < last)
            assert found(index, InRange(lower, upper)) == where(rows, closed)
            query = InRange(lower, upper, includes_lower=False, includes_upper=False)
            assert found(index, query) == where(rows, opened_ends)
        assert found(index, InRange(lower)) == where(rows, places >= first)
        assert found(index, InRange(None, lower)) == where(rows, (places >= 0) & (places <= first))
    assert found(index, InRange()) == where(rows, places >= 0)


@each_case("kind", [pa.string(), pa.large_string()])
def test_texts_are_found_by_prefix(kind: pa.DataType) -> None:
    texts = ["", "a", "ab", "ab\U0010ffff", "abc", "ac", "é", "éa", "\U0010ffff", None]
    rows = some_rows(pa.array(np.random.default_rng(5).choice(texts, 80).tolist(), kind))
    index = opened(rows)
    for prefix in ["a", "ab", "abcd", "b", "é", "\U0010ffff", "\U0010ffffa", "ab\U0010ffff"]:
        assert found(index, StartsWith(prefix)) == where(rows, pc.starts_with(rows.values, prefix))


def _queries(values: pa.Array) -> Iterator[tuple[IndexQuery, pa.Array]]:
    for count in (1, 3, 40, 400):
        some = values.drop_null().slice(5, count)
        yield IsIn(some), pc.is_in(values, some)
    low, high = pa.scalar(900), pa.scalar(2000)
    yield InRange(low, high), pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
    yield InRange(pa.scalar(-1)), values.is_valid()
    yield IsIn(pa.array([-5, 10**9])), pc.equal(values, -5)
    yield IsNull(), values.is_null()


@each_case("single, span", [(64, 1 << 27), (2, 1 << 27), (2, 0)])
def test_large_results_are_read_by_page_by_span_and_by_range(single: int, span: int) -> None:
    random = np.random.default_rng(1)
    values = pa.array(random.integers(0, 3000, 6000), mask=random.random(6000) < 0.2)
    rows = some_rows(values, 1000)
    folder = built(rows, 16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "_MAX_SINGLE_PAGES", single)
        patch.setattr(open_btree, "_MAX_WHOLE_PAGES", single)
        patch.setattr(pages, "SPAN_BYTES", span)
        patch.setattr(pages, "_GROUP_BYTES", 5000)
        patch.setattr(pages, "_MAX_ROWS", 1000)
        patch.setattr(pages, "_SPAN_DENSITY", 8 if span else 1)
        index = folder.open(BTree(), rows.type)
        for _ in range(2):
            for query, mask in _queries(values):
                assert found(index, query) == where(rows, mask)
    assert index.nbytes < 1 << 20


def test_pages_of_long_values_are_searched_without_reading_them_whole() -> None:
    random = np.random.default_rng(1)
    numbers = pa.array(random.integers(0, 3000, 6000), mask=random.random(6000) < 0.2)
    texts = pc.utf8_lpad(numbers.cast(pa.string()), 2000, padding="0")
    for values, size in ((numbers, 16), (numbers, 10_000), (texts, 4096)):
        rows = some_rows(values, 1000)
        folder = built(rows, size)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pages, "_MAX_PAGE_BYTES", 4000)
            patch.setattr(pages.BTreePages, "_read", None)
            index = folder.open(BTree(), rows.type)
            if values is numbers and size == 16:
                patch.setattr(pages, "_MAX_PAGE_BYTES", 1)
                index = folder.open(BTree(), rows.type)
            for query, mask in _queries(values) if values is numbers else _text_queries(values):
                if isinstance(query, IsIn) and len(query.values) > 40 and size == 16:
                    continue
                assert found(index, query) == where(rows, mask)
            index.prewarm()
            parts = list(index.batches())
            assert max(len(part.rows) for part in parts) <= 1 << 18
            assert sum(len(part.rows) for part in parts) == len(rows.numbers)


def _text_queries(values: pa.Array) -> Iterator[tuple[IndexQuery, pa.Array]]:
    some = values.drop_null().slice(5, 9)
    yield IsIn(some), pc.is_in(values, some)
    yield InRange(some[0]), pc.greater_equal(values, some[0])
    prefix = some[1].as_py()[:-1]
    yield StartsWith(prefix), pc.starts_with(values, prefix)
    yield IsNull(), values.is_null()


def batches_of(*batches: list[int | None], first: int = 0) -> Iterator[IndexBatch]:
    """Batches of numbers, whose rows count from ``first``."""
    for values in batches:
        yield IndexBatch(
            pa.array(values, pa.int64()), np.arange(first, first + len(values), dtype=np.uint64)
        )
        first += len(values)


def test_rows_that_are_in_order_are_merged_with_others(tmp_path: Path) -> None:
    sort = value_sort.ValueSort(pa.int64(), lambda: tmp_path)
    sort.add_sorted(batches_of([None, None], [None, 1, 3], [3, 9]))
    sort.add_sorted(batches_of([]))
    sort.add_sorted(batches_of([2, 3], [], [4], first=20))
    (added,) = batches_of([3, None, 0], first=40)
    sort.add(*added)
    values, rows = zip(*sort.batches(), strict=True)
    assert pa.chunked_array(values).to_pylist() == [None] * 4 + [0, 1, 2, 3, 3, 3, 3, 4, 9]
    assert np.concatenate(rows).tolist() == [0, 1, 2, 41, 42, 3, 20, 4, 5, 21, 40, 22, 6]


@each_case("batches", [([1, 3, 2],), ([1, 3], [2]), ([1], [None])])
def test_rows_that_should_be_in_order_are_checked(
    batches: Sequence[list[int | None]], tmp_path: Path
) -> None:
    sort = value_sort.ValueSort(pa.int64(), lambda: tmp_path)
    sort.add_sorted(batches_of(*batches))
    with pytest.raises(CorruptFileError, match="not"):
        list(sort.batches())


@each_case("kind", [pa.int64(), pa.string(), pa.float64(), pa.bool_()])
def test_runs_on_disk_give_the_index_that_memory_gives(kind: pa.DataType) -> None:
    random = np.random.default_rng(2)
    numbers = pa.array(random.integers(0, 900, 20_000), mask=random.random(20_000) < 0.1)
    values = pc.less(numbers, 450) if kind == pa.bool_() else numbers.cast(kind)
    rows = some_rows(values, 777)
    contents = []
    for run_bytes, block_bytes in ((1 << 30, 1 << 20), (20_000, 500)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(value_sort, "MEMORY_BYTES", 4 * run_bytes)
            patch.setattr(runs, "_MIN_BLOCK_BYTES", block_bytes)
            spilled = list[Path]()
            patch.setattr(runs.Run, "remove", lambda run, to=spilled: to.append(run.path))
            folder = new_folder()
            with folder.output:
                BTree().build(rows, {}, folder.output)
                assert all(path.exists() for path in spilled)
            assert bool(spilled) == (run_bytes < 1 << 30)
            assert not any(path.exists() for path in spilled)
        contents.append(stored(folder))
    assert contents[0] == contents[1]


def reader_of(folder: Folder) -> Callable[[str], IndexFileReader]:
    encodings = get_manager().encodings
    return IndexFolder(folder.store, "i", folder.output.sizes, encodings, pa.null(), 0).reader


def stored(folder: Folder) -> list[pa.Table]:
    """The tables in the two files of an index."""
    reader = reader_of(folder)
    return [reader("page_data.lance").read(), reader("page_lookup.lance").read()]


@each_case("version", [FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2])
def test_the_files_are_those_of_the_format(version: FileVersion) -> None:
    rows = some_rows(pa.array([5, None, 3, 9, None, 7, 1, 3, 4], pa.int16()))
    folder = built(rows, 4, version)
    reader = reader_of(folder)
    data, lookup = reader("page_data.lance"), reader("page_lookup.lance")
    fields = [(field.name, field.type, field.nullable) for field in data.schema]
    assert fields == [("values", pa.int16(), True), ("ids", pa.uint64(), False)]
    fields = [(field.name, field.type, field.nullable) for field in lookup.schema]
    bounds = [("min", pa.int16(), True), ("max", pa.int16(), True)]
    numbers = [("null_count", pa.uint32(), False), ("page_idx", pa.uint32(), False)]
    assert fields == bounds + numbers
    assert dict(lookup.metadata) == {"batch_size": "4", "range_partitioned": "false"}
    assert dict(data.metadata) == {}
    assert data.read().column("values").to_pylist() == [None, None, 1, 3, 3, 4, 5, 7, 9]
    assert lookup.read().to_pydict() == {
        "min": [None, 3, 9],
        "max": [3, 7, 9],
        "null_count": [2, 0, 0],
        "page_idx": [0, 1, 2],
    }
    statistics = folder.open(BTree(), pa.int16()).statistics()
    assert statistics == {"min": "NULL", "max": "9", "num_pages": 3}


def test_an_index_may_have_no_rows_or_only_nulls() -> None:
    none = opened(some_rows(pa.array([], pa.string())))
    assert none.statistics() == {"min": "NULL", "max": "NULL", "num_pages": 0}
    nulls = some_rows(pa.nulls(9, pa.string()))
    for index, rows in ((none, []), (opened(nulls), np.sort(nulls.numbers).tolist())):
        assert found(index, IsNull()) == rows
        for query in (IsIn(pa.array(["a"])), InRange(), StartsWith("a")):
            assert found(index, query) == []
        index.prewarm()


def test_a_merge_moves_rows_and_adds_new_ones() -> None:
    random = np.random.default_rng(4)
    values = pa.array(random.integers(0, 500, 900), mask=random.random(900) < 0.1)
    parts = [some_rows(values.slice(0, 400)), some_rows(values.slice(400, 300))]
    parts[1] = Rows(parts[1].values, parts[1].numbers + np.uint64(2 * FRAGMENT))
    new = Rows(values.slice(700), np.arange(200, dtype=np.uint64) + np.uint64(20 * FRAGMENT), 50)
    sources = [opened(part, 16) for part in parts]
    for used, added in ((1, None), (2, None), (2, new)):
        folder = new_folder()
        with folder.output:
            moves = [IndexPart(source, Moved(3)) for source in sources[:used]]
            BTree().merge(moves, added, folder.output)
        numbers, kept = [], []
        for part in parts[:used]:
            moved, is_kept = Moved(3).moved(part.numbers)
            numbers.append(moved[is_kept])
            kept.append(part.values.filter(pa.array(is_kept)))
        if added is not None:
            numbers.append(added.numbers)
            kept.append(added.values)
        rows = Rows(pa.concat_arrays(kept), np.concatenate(numbers))
        index = folder.open(BTree(), rows.type)
        for query, mask in _queries(rows.values):
            assert found(index, query) == where(rows, mask)
        data, lookup = stored(folder)
        assert lookup.num_rows == -(-len(rows.numbers) // 16)
        assert data.num_rows == len(rows.numbers)


def test_parameters_are_checked() -> None:
    BTree().check_parameters({})
    BTree().check_parameters({"zone_size": 1})
    with pytest.raises(InvalidInputError, match="did you mean 'zone_size'"):
        BTree().check_parameters({"zonesize": 1})
    for wrong in (0, -1, 1.5, "4096", True, 1 << 40):
        with pytest.raises(InvalidInputError, match="zone_size must be a number of rows from 1"):
            BTree().check_parameters({"zone_size": wrong})


def test_comparisons_are_exact_and_only_texts_have_prefixes() -> None:
    type_ = BTree()
    for query in (IsIn(pa.array([1])), InRange(), IsNull()):
        assert type_.precision(query, pa.int64(), b"") is Precision.EXACT
    assert type_.precision(StartsWith("a"), pa.large_string(), b"") is Precision.EXACT
    assert type_.precision(StartsWith("a"), pa.binary(), b"") is None
    assert type_.precision(Contains("abc"), pa.string(), b"") is None
    assert type_.accepts(pa.decimal256(50))
    assert not type_.accepts(pa.list_(pa.int8()))
    assert sort_keys(pa.array([1.5])).type == pa.int64()
