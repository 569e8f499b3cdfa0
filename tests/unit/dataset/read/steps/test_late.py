"""Rows that few windows chose, and rows that many did, come in order and complete."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read import scan
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.steps.late import completed
from lance_core.dataset.read.steps.results import FoundRows, PendingRows, WindowResult
from lance_core.dataset.read.steps.scan_reads import ScanReads
from lance_core.dataset.read.windows.window_sizing import WindowBytes, WindowSizer
from tests.each_case import each_case
from tests.scan_numbers import tune

WINDOW = 4 * tuning().columns.sparse
ROWS = 40 * WINDOW


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    """Windows with no hit, with few and with many, in fragments of some windows."""
    rng = np.random.default_rng(5)
    share = np.repeat(rng.choice([0.0, 1 / WINDOW, 2 / WINDOW, 0.2, 1.0], ROWS // WINDOW), WINDOW)
    numbers = np.arange(ROWS)
    table = pa.table(
        {
            "i": numbers,
            "hit": rng.random(ROWS) < share,
            "s": [None if i % 7 == 0 else f"text {i}" for i in range(ROWS)],
            "l": [[*range(i % 4)] for i in range(ROWS)],
        }
    )
    uri = str(tmp_path_factory.mktemp("late") / "table")
    dataset = lance.write_dataset(table, uri, max_rows_per_file=11 * WINDOW)
    dataset.delete("i % 97 = 5")
    return dataset


@pytest.fixture(scope="module")
def hits(dataset: lance.LanceDataset) -> pa.Table:
    table = dataset.to_table(with_row_id=True)
    return table.filter(table["hit"])


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(
        monkeypatch,
        table={
            "filter_rows": WINDOW,
            "search_rows": WINDOW,
            "per_thread": ROWS,
            "small_span_rows": 0,
        },
    )


CUTS: list[dict[str, Any]] = [
    {},
    {"limit": 1},
    {"limit": 5, "offset": 3},
    {"offset": 700},
    {"limit": 3000, "offset": 10},
    {"limit": 10**6},
]


@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("most", [1, 7, 1 << 15])
def test_a_table_has_all_rows_in_order(
    dataset: lance.LanceDataset,
    hits: pa.Table,
    cut: dict[str, Any],
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tune(monkeypatch, columns={"late_rows": most})
    expected = hits.slice(cut.get("offset", 0), cut.get("limit"))
    assert dataset.to_table(filter="hit", with_row_id=True, **cut) == expected


@each_case("cut", CUTS, ids=str)
@each_case("batch_size", [1, 50, 8192])
@each_case("only", [1, 50])
def test_a_stream_has_all_rows_in_order(
    dataset: lance.LanceDataset, hits: pa.Table, cut: dict[str, Any], batch_size: int, only: int
) -> None:
    passing = hits.filter(pa.array(hits["i"].to_numpy() % only == 0))
    expected = passing.slice(cut.get("offset", 0), cut.get("limit"))
    options = {"with_row_id": True, "batch_size": batch_size, **cut}
    batches = list(dataset.to_batches(filter=f"hit AND i % {only} = 0", **options))
    assert pa.Table.from_batches(batches, hits.schema) == expected
    assert all(0 < batch.num_rows <= batch_size for batch in batches)


def test_rows_of_a_fragment_are_completed_by_one_read(
    dataset: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    complete = scan.complete

    def counting(reads: ScanReads, pending: PendingRows) -> FoundRows:
        counts.append(len(pending.offsets))
        return complete(reads, pending)

    monkeypatch.setattr(scan, "complete", counting)
    tune(monkeypatch, runs={"fragment_rows": 0})
    found = dataset.to_table(filter="i % 1000 = 7")
    assert found["i"].to_pylist() == [i for i in range(7, ROWS, 1000) if i % 97 != 5]
    assert len(counts) == len(dataset.get_fragments())
    assert sum(counts) == found.num_rows


@pytest.mark.parametrize("columns", [["i"], ["s", "l"], ["hit"], []])
def test_only_some_columns_are_wanted(
    dataset: lance.LanceDataset, hits: pa.Table, columns: list[str]
) -> None:
    found = dataset.to_table(columns=columns, filter="hit", with_row_id=True)
    assert found == hits.select([*columns, "_rowid"])


NOTHING = pa.table({"i": pa.array([], pa.int64())})


def few(start: int, count: int, is_last: bool = False) -> WindowResult:
    offsets = np.arange(start, start + count)
    return WindowResult(PendingRows(cast(Any, None), offsets, pa.table({"t": offsets})), is_last)


def many(start: int, count: int, is_last: bool = False) -> WindowResult:
    return WindowResult(FoundRows(pa.table({"i": np.arange(start, start + count)})), is_last)


def run(
    parts: list[WindowResult], sizer: WindowSizer
) -> tuple[list[int], list[tuple[list[int], bool]]]:
    """How many rows were completed at a time, by their offsets, and the rows of the result."""
    counts = []

    def complete(pending: PendingRows) -> FoundRows:
        counts.append(len(pending.offsets))
        assert pending.offsets.tolist() == pending.tested["t"].to_pylist()
        return FoundRows(pa.table({"i": pending.offsets}))

    found = list(completed(parts, complete, lambda: NOTHING, sizer))
    return counts, [(rows.table["i"].to_pylist(), rows.is_last) for rows in found]


def test_few_rows_wait_for_others_until_something_else_comes() -> None:
    parts = [few(0, 2), many(5, 0), few(5, 1), many(9, 3), few(20, 1), few(30, 1, is_last=True)]
    counts, found = run(parts, WindowSizer(100, 100))
    assert counts == [3, 2]
    assert found == [([0, 1, 5], False), ([9, 10, 11], False), ([20, 30], False), ([], True)]


def test_rows_wait_for_no_other_fragment() -> None:
    parts = [few(0, 2), many(9, 0, is_last=True), few(3, 2, is_last=True), many(0, 0, is_last=True)]
    counts, found = run(parts, WindowSizer(100, 100))
    assert counts == [2, 2]
    assert found == [([0, 1], False), ([], True), ([3, 4], False), ([], True), ([], True)]


def test_no_more_rows_are_completed_at_a_time_than_the_pace_says() -> None:
    counts, _ = run([few(0, 3), few(3, 3), few(6, 9, is_last=True)], WindowSizer(5, 5))
    assert counts == [5, 1, 5, 4]


def test_long_rows_are_completed_a_few_at_a_time() -> None:
    sizer = WindowSizer(4, 100, 1, WindowBytes(16, 16))
    counts, _ = run([few(0, 20, is_last=True)], sizer)
    assert counts == [4, *[2] * 8]
