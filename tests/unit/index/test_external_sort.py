"""Sorts on disk: the order, the memory that they take, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import StoreError
from lance_core.index import runs
from lance_core.index.external_sort import ExternalSort
from lance_core.index.runs import MAX_OPEN_RUNS, MemoryShares, Run, blocks_of
from tests.each_case import each_case

KEYS: dict[str, Callable[[np.random.Generator, int], pa.Array]] = {
    "integers": lambda random, count: pa.array(random.integers(-(10**6), 10**6, count)),
    "few values": lambda random, count: pa.array(random.integers(0, 3, count)),
    "one value": lambda _, count: pa.array(np.zeros(count, np.int64)),
    "ascending": lambda _, count: pa.array(np.arange(count)),
    "descending": lambda _, count: pa.array(np.arange(count)[::-1]),
    "texts": lambda random, count: pa.array(
        [
            b"x" * int(number % 40) + str(number).encode()
            for number in random.integers(0, 999, count)
        ]
    ),
    "dictionaries": lambda random, count: pa.array(
        [f"{number}" for number in random.integers(0, 30, count)]
    ).dictionary_encode(),
}


def batches_of(keys: pa.Array, rows: int) -> Iterator[pa.RecordBatch]:
    """Batches with ``keys``, and the position of each row in three forms."""
    numbers = pa.array(np.arange(len(keys)))
    whole = pa.record_batch(
        [keys, numbers, numbers.cast(pa.string()), numbers.cast(pa.string()).dictionary_encode()],
        ["key", "number", "text", "word"],
    )
    for start in range(0, len(keys), rows):
        yield whole.slice(start, rows)


@each_case("name", KEYS)
def test_rows_come_in_order_and_equal_keys_stay_in_theirs(name: str, tmp_path: Path) -> None:
    count = 1000
    keys = KEYS[name](np.random.default_rng(1), count)
    values = keys.dictionary_decode() if name == "dictionaries" else keys
    expected = sorted(range(count), key=lambda row: values[row].as_py())
    for memory, rows in ((1 << 30, 500), (20_000, 500), (20_000, 1000), (200_000, 7)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runs, "_MIN_BLOCK_BYTES", 1000)
            folder = tmp_path / f"{memory}-{rows}"
            folder.mkdir()
            sort = ExternalSort(lambda to=folder: to, memory)
            for batch in batches_of(keys, rows):
                sort.add(batch)
            found = pa.Table.from_batches(list(sort.batches()))
            assert found["number"].to_pylist() == expected
            assert found["text"].to_pylist() == [str(row) for row in expected]
            assert found["word"].to_pylist() == [str(row) for row in expected]
            assert list(folder.iterdir()) == []


def rows_of(count: int, width: int, number: int) -> pa.RecordBatch:
    keys = np.random.default_rng(number).integers(0, 1 << 40, count)
    return pa.record_batch([pa.array(keys), pa.array(["v" * width] * count)], ["key", "text"])


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def peak_of(sort: ExternalSort, batches: Iterator[pa.RecordBatch]) -> tuple[int, int, int]:
    """The most bytes that Arrow has allocated, the most open files, and the number of rows."""
    started, files = pa.total_allocated_bytes(), open_files()
    pool = pa.default_memory_pool()
    peak = opened = rows = 0
    for batch in batches:
        sort.add(batch)
        del batch
        peak = max(peak, pool.bytes_allocated() - started)
    for batch in sort.batches():
        rows += len(batch)
        del batch
        peak = max(peak, pool.bytes_allocated() - started)
        opened = max(opened, open_files() - files)
    return peak, opened, rows


@each_case("megabytes", [2, 8])
def test_memory_keeps_to_the_budget_with_any_number_of_runs(megabytes: int, tmp_path: Path) -> None:
    batches = 24
    sort = ExternalSort(lambda: tmp_path, megabytes << 20)
    peak, opened, rows = peak_of(sort, (rows_of(1000, 1000, number) for number in range(batches)))
    assert rows == 1000 * batches
    assert peak <= megabytes << 20
    assert opened <= MAX_OPEN_RUNS + 1


def test_long_rows_take_a_few_times_their_size(tmp_path: Path) -> None:
    width = 2 << 20
    sort = ExternalSort(lambda: tmp_path, 4 << 20)
    peak, opened, rows = peak_of(sort, (rows_of(1, width, number) for number in range(16)))
    assert (rows, opened <= 3) == (16, True)
    assert peak <= 6 * width


def test_a_batch_above_the_budget_is_sorted_in_parts(tmp_path: Path) -> None:
    batch = rows_of(20_000, 500, 1)
    sort = ExternalSort(lambda: tmp_path, 2 << 20)
    peak, _, rows = peak_of(sort, iter([batch]))
    assert rows == 20_000
    assert peak <= 2 << 20


def test_blocks_are_cut_by_the_bytes_of_their_rows() -> None:
    texts = ["short"] * 1000 + ["x" * 50_000] * 20 + ["short"] * 1000
    batch = pa.record_batch([pa.array(texts)], ["text"])
    blocks = list(blocks_of(batch, 60_000))
    assert pa.Table.from_batches(blocks) == pa.Table.from_batches([batch])
    assert max(block.nbytes for block in blocks) <= 60_000
    assert len(blocks) < 100
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), texts)
    shared = list(blocks_of(pa.record_batch([words], ["word"]), 1000))
    assert len(shared) == 4  # the dictionary, which all have, does not count


def test_the_largest_block_limits_how_many_runs_are_merged_at_once() -> None:
    shares = MemoryShares(64 << 20)
    assert shares.runs_at_once(shares.block) == MAX_OPEN_RUNS
    assert shares.runs_at_once(4 << 20) == 4
    assert shares.runs_at_once(1 << 30) == 2


def test_a_full_disk_is_a_typed_error_that_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/dev")
    sort = ExternalSort(lambda: tmp_path, 100_000)
    (tmp_path / "run-0.arrow").symlink_to("/dev/full")
    rows = rows_of(1000, 1000, 1)
    with pytest.raises(StoreError, match=r"temporary folder /dev: .*No space left on device"):
        sort.add(rows)


def test_an_error_while_rows_are_read_removes_the_files(tmp_path: Path) -> None:
    sort = ExternalSort(lambda: tmp_path, 1 << 20)
    for number in range(20):
        sort.add(rows_of(100, 1000, number))
    found = sort.batches()
    next(found)
    assert list(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        found.throw(KeyboardInterrupt())
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_rows_has_no_blocks(tmp_path: Path) -> None:
    run = Run.written(tmp_path / "run", [rows_of(0, 1, 1)], 100)
    assert list(run.blocks()) == []
    run.remove()
