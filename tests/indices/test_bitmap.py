"""BITMAP indices have exactly the rows of each value, however they are built, moved or stored."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.index.base import IndexPart, OpenIndex, Precision
from lance_core.index.queries import Contains, HasAny, InRange, IsIn, IsNull, StartsWith
from lance_core_indices.bitmap import Bitmap
from lance_core_indices.bitmaps import bitmap_file, build, grouping, merging
from lance_core_testing.mutants import mutants
from tests.each_case import each_case
from tests.indices import bitmap_folders as folders
from tests.indices.bitmap_folders import Moved, Rows, blobs_of, contents, stored

BITMAP = Bitmap()
RANDOM = np.random.default_rng(3)


def _rows(count: int, distinct: int, *, ordered: bool = True) -> Rows:
    texts = pa.array([None, *(f"value {number:05d}" for number in range(distinct - 1))])
    values = texts.take(pa.array(RANDOM.integers(0, distinct, count)))
    numbers = np.sort(RANDOM.choice(3 * count, count, replace=False)).astype(np.uint64)
    numbers += (numbers // np.uint64(count)) << np.uint64(32)
    return Rows(values, numbers if ordered else RANDOM.permutation(numbers))


def _expected(rows: Rows) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = defaultdict(list)
    for value, number in zip(rows.values.to_pylist(), rows.numbers.tolist(), strict=True):
        found[value].append(number)
    return {value: sorted(numbers) for value, numbers in found.items()}


def _numbers(index: OpenIndex, query: Any) -> list[int]:
    return index.search(query).rows.numbers().tolist()


@each_case("distinct", [1, 30, 1500])
def test_builds_in_memory_and_with_local_files_have_the_rows_of_each_value(
    distinct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ordered in (True, False):
        rows = _rows(6000, distinct, ordered=ordered)
        expected = _expected(rows)
        assert contents(folders.build(BITMAP, rows)) == expected
        with monkeypatch.context() as small:
            small.setattr(build, "MAX_COLLECTED_ROWS", 2500)
            small.setattr(grouping, "MAX_BLOCK_ROWS", 700)
            small.setattr(grouping, "MAX_RAW_BYTES", 30_000)
            small.setattr(merging, "_LARGE_BLOB", 1000)
            assert contents(folders.build(BITMAP, rows)) == expected


def test_an_index_without_rows_finds_nothing() -> None:
    index = folders.build(BITMAP, Rows(pa.array([], pa.string()), np.empty(0, np.uint64)))
    assert index.statistics() == {"num_bitmaps": 0}
    for query in (IsIn(pa.array(["a"])), InRange(), IsNull(), StartsWith("a")):
        found = index.search(query, with_nulls=True)
        assert not found.rows
        assert not found.nulls
    rows = _rows(10, 3)
    assert contents(_merged([(index, Moved(3))], rows)) == _expected(rows)


def _merged(parts: list[Any], rows: Rows | None = None) -> OpenIndex:
    folder = folders.new_folder()
    with folder.output:
        assert BITMAP.merge([IndexPart(*part) for part in parts], rows, folder.output) == b""
    return folder.open(BITMAP, pa.string())


@each_case("distinct,large", [(3, 100), (3, 1 << 16), (500, 1 << 16), (500, 30)])
def test_merges_move_rows_and_drop_lost_ones_and_empty_values(
    distinct: int, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_LARGE_BLOB", large)
    monkeypatch.setattr(merging, "_WINDOW", 500)
    first, second, new = (_rows(2000, distinct) for _ in range(3))
    second = second._replace(numbers=second.numbers + np.uint64(20 << 32))
    new = new._replace(numbers=new.numbers + np.uint64(40 << 32))
    map_ = Moved(2)
    parts = [(folders.build(BITMAP, first), map_), (folders.build(BITMAP, second), Moved(1 << 40))]
    numbers, kept = map_.moved(first.numbers)
    moved = Rows(first.values.filter(pa.array(kept)), numbers[kept])
    high = Rows(second.values, Moved(1).moved(second.numbers)[0])
    values = pa.concat_arrays([moved.values, high.values, new.values])
    everything = Rows(values, np.concatenate([moved.numbers, high.numbers, new.numbers]))
    assert contents(_merged(parts, new)) == _expected(everything)
    assert contents(_merged(parts[:1])) == _expected(moved)


def test_a_value_whose_rows_are_all_lost_goes_away() -> None:
    rows = Rows(pa.array(["a", "b", None]), np.array([4, 5, 8], np.uint64))
    index = _merged([(folders.build(BITMAP, rows), Moved(4))])
    assert index.statistics() == {"num_bitmaps": 1}


def test_all_file_versions_and_searches_of_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows(5000, 400)
    expected = _expected(rows)
    nulls = expected.pop(None)
    texts = sorted(expected)
    for version in (FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2):
        index = folders.build(BITMAP, rows, version)
        wanted = [*texts[::2], "missing", texts[0]]
        result = index.search(IsIn(pa.array(wanted)), with_nulls=True)
        found = sorted(chain.from_iterable(expected[one] for one in texts[::2]))
        assert result.rows.numbers().tolist() == found
        assert result.num_pages == len(texts[::2])
        assert result.nulls is not None
        assert result.nulls.numbers().tolist() == nulls
        for prefix in ("value 0001", "value 00017", "v", "w"):
            some = [expected[one] for one in texts if one.startswith(prefix)]
            assert _numbers(index, StartsWith(prefix)) == sorted(chain.from_iterable(some))


def test_bitmaps_are_read_once_and_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows(3000, 20)
    index = folders.build(BITMAP, rows)
    assert index.nbytes > 0
    index.prewarm()
    reads: list[Any] = []
    file = index.file  # type: ignore[attr-defined]
    monkeypatch.setattr(type(file), "_blobs", lambda *_: reads.append(1))
    assert _numbers(index, IsNull()) == _expected(rows)[None]
    assert len(_numbers(index, InRange())) == 3000 - len(_expected(rows)[None])
    assert not reads
    monkeypatch.undo()
    monkeypatch.setattr(bitmap_file, "MAX_CACHED_BYTES", 1000)
    small = folders.build(BITMAP, rows)
    threads = [threading.Thread(target=lambda: small.search(InRange())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(small.file._cache) <= 5  # type: ignore[attr-defined]


def test_older_files_with_any_order_and_no_statistics_are_read() -> None:
    keys = pa.array([5, -1, None, 3])
    blobs = blobs_of([1, 2], [3], [4], [2**33, 7])
    index = stored(keys, blobs).open(BITMAP, pa.int64())
    assert _numbers(index, IsIn(pa.array([3, 5]))) == [1, 2, 7, 2**33]
    assert _numbers(index, InRange(lower=pa.scalar(3), includes_lower=False)) == [1, 2]
    assert _numbers(index, InRange(pa.scalar(9), pa.scalar(2))) == []
    assert _numbers(index, IsNull()) == [4]
    assert list(contents(index)) == [None, -1, 3, 5]
    assert index.statistics() == {"num_bitmaps": 4}


TREEMAP = b"\1\0\0\0\0\0\0\0" + b"\0\0\0\0" + bytes.fromhex("3a30000001000000000000001000000003")
KEYS = pa.array([1])


@each_case(
    "store",
    [
        lambda: stored(KEYS, blobs_of([1]), ("keys", "rows")),
        lambda: stored(KEYS, blobs_of([1]), ("values", "bitmaps")),
        lambda: stored(KEYS, blobs_of([1]).cast(pa.large_binary())),
        lambda: stored(pa.array(["a"]), blobs_of([1])),
        lambda: stored(KEYS, pa.array([None], pa.binary())),
        lambda: stored(KEYS, pa.array([TREEMAP])),
        lambda: stored(KEYS, pa.array([b""])),
        lambda: stored(KEYS, pa.array([b"\xff\xff\xff\xff" + bytes(40)])),
        lambda: stored(KEYS, pa.array([blobs_of([1, 1 << 32])[0].as_py()[:-1]])),
    ],
)
def test_files_of_another_kind_are_refused(store: Callable[[], folders.Folder]) -> None:
    with pytest.raises(CorruptFileError, match=r"bitmap_page_lookup\.lance"):
        store().open(BITMAP, pa.int64()).search(IsIn(KEYS))


def test_changed_bytes_give_an_error_or_an_answer() -> None:
    folder = folders.new_folder()
    with folder.output:
        BITMAP.build(_rows(300, 5), {}, folder.output)
    path = f"i/{folders.FILE}"
    for changed in mutants(bytes(folder.store.get(path)), 60, 1):
        folder.store.put(path, [changed.data])
        try:
            index = folder.open(BITMAP, pa.string())
            index.search(InRange(), with_nulls=True)
        except CorruptFileError:
            continue


def test_which_columns_and_queries_an_index_serves() -> None:
    kinds = [pa.int8(), pa.float16(), pa.bool_(), pa.decimal256(50, 2), pa.binary(3), pa.string()]
    assert all(BITMAP.accepts(kind) for kind in [*kinds, pa.null(), pa.duration("s")])
    nested = [pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.list_(pa.int8(), 2)]
    assert not any(BITMAP.accepts(kind) for kind in nested)
    for query in (IsIn(KEYS), InRange(), IsNull()):
        assert BITMAP.precision(query, pa.int64(), b"") is Precision.EXACT
    assert BITMAP.precision(StartsWith("a"), pa.string(), b"") is Precision.EXACT
    assert BITMAP.precision(StartsWith("a"), pa.binary(), b"") is None
    assert BITMAP.precision(Contains("a"), pa.string(), b"") is None
    assert BITMAP.precision(HasAny(KEYS), pa.int64(), b"") is None
    with pytest.raises(InvalidInputError, match="'zone_size'"):
        BITMAP.check_parameters({"zone_size": 3})
