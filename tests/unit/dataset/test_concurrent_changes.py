"""Threads that change one table at the same time, each through a dataset of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pytest

import lance_core as lance

THREADS = 8
TIMES = 5
ROWS = 10


def rows(first: int) -> pa.Table:
    return pa.table({"i": pa.array(range(first, first + ROWS), pa.int64())})


@pytest.fixture(params=["fast", "durable", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address, by how well what is there is kept."""
    if request.param == "memory":
        return f"memory://{uuid.uuid4()}/table"
    monkeypatch.setenv("LANCE_CORE_DURABILITY", request.param)
    return str(tmp_path / "table")


def together(uri: str, work: Callable[[lance.LanceDataset, int], None]) -> None:
    """``work`` with a dataset and a number in each of the threads; raises what one raises."""
    barrier = Barrier(THREADS)

    def run(number: int) -> None:
        dataset = lance.dataset(uri)
        barrier.wait()
        work(dataset, number)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


def test_appends_of_all_threads_succeed(table: str) -> None:
    lance.write_dataset(rows(0), table)

    def append(dataset: lance.LanceDataset, number: int) -> None:
        for time in range(TIMES):
            dataset.insert(rows((1 + number * TIMES + time) * ROWS))

    together(table, append)
    dataset = lance.dataset(table)
    assert dataset.version == 1 + THREADS * TIMES
    assert [v["version"] for v in dataset.versions()] == list(range(1, dataset.version + 1))
    found = dataset.to_table()["i"].to_pylist()
    assert sorted(found) == list(range((1 + THREADS * TIMES) * ROWS))
    fragments = [fragment.fragment_id for fragment in dataset.get_fragments()]
    assert fragments == list(range(1 + THREADS * TIMES))


@pytest.mark.parametrize("stable_row_ids", [False, True])
def test_appends_deletes_and_settings_of_all_threads_succeed(
    table: str, stable_row_ids: bool
) -> None:
    """All threads delete rows of the same fragment."""
    count = THREADS * TIMES
    before = pa.table({"i": pa.array(range(count), pa.int64())})
    lance.write_dataset(before, table, enable_stable_row_ids=stable_row_ids)

    def change(dataset: lance.LanceDataset, number: int) -> None:
        for time in range(TIMES):
            own = number * TIMES + time
            if number % 3 == 0:
                dataset.insert(rows(1000 + own * ROWS))
            elif number % 3 == 1:
                assert dataset.delete(f"i = {own}") == {"num_deleted_rows": 1}
            else:
                dataset.update_config({f"key {number}": str(time)})

    together(table, change)
    dataset = lance.dataset(table)
    assert dataset.version == 1 + count
    mine = [(number, number * TIMES + time) for number in range(THREADS) for time in range(TIMES)]
    left = {own for number, own in mine if number % 3 != 1}
    new = {1000 + own * ROWS + i for number, own in mine if number % 3 == 0 for i in range(ROWS)}
    found = dataset.to_table(with_row_id=True)
    assert sorted(found["i"].to_pylist()) == sorted(left | new)
    assert len(set(found["_rowid"].to_pylist())) == found.num_rows
    assert dataset.config() == {
        f"key {number}": str(TIMES - 1) for number in range(THREADS) if number % 3 == 2
    }
    dataset.validate()
