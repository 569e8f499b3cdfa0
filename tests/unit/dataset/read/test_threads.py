"""Requests of many threads on one open table: each gets what it gets alone."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.concurrency.turns import MAX_ROWS

ROWS = MAX_ROWS + 1_000
THREADS = 8
REQUESTS = 12


def rows_of(numbers: list[int], columns: list[str]) -> pa.Table:
    whole = {
        "id": pa.array(numbers, pa.int64()),
        "s": pa.array(
            [f"name {number}" if number % 7 else None for number in numbers], pa.string()
        ),
        "f": pa.array([number / 3 for number in numbers], pa.float64()),
        "l": pa.array([[number] * (number % 3) for number in numbers], pa.list_(pa.int64())),
    }
    return pa.table({name: whole[name] for name in columns})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("threads") / "table"
    columns = ["id", "s", "f", "l"]
    dataset = lance_core.write_dataset(
        rows_of(list(range(ROWS)), columns), path, max_rows_per_file=ROWS // 2
    )
    dataset.create_scalar_index("id", "BTREE")
    return path


def check_requests(dataset: lance_core.LanceDataset, seed: int) -> None:
    """Random requests; raises `AssertionError` for a wrong result."""
    choice = random.Random(seed)
    for _ in range(REQUESTS):
        columns = choice.sample(["id", "s", "f", "l"], choice.randint(1, 4))
        first = choice.randrange(ROWS - 60)
        kind = choice.randrange(6)
        if kind == 0:
            numbers = choice.sample(range(ROWS), 10)
            assert dataset.take(numbers, columns).equals(rows_of(numbers, columns))
        elif kind == 1:
            found = dataset.to_table(columns, filter=f"id = {first}")
            assert found.equals(rows_of([first], columns))
        elif kind == 2:
            page = dataset.to_table(columns, limit=50, offset=first)
            assert page.equals(rows_of(list(range(first, first + 50)), columns))
        elif kind == 3:
            assert dataset.count_rows(f"f >= {first / 3} and f <= {(first + 9) / 3}") == 10
        elif kind == 4:
            whole = dataset.to_table(columns, filter=f"f < {first % 90 / 3}")
            assert whole.equals(rows_of(list(range(first % 90)), columns))
        else:
            page = pa.Table.from_batches(dataset.to_batches(columns, limit=50, offset=first))
            assert page.equals(rows_of(list(range(first, first + 50)), columns))


@pytest.mark.parametrize("is_shared", [True, False], ids=["one dataset", "one session"])
def test_requests_of_many_threads_do_not_disturb_each_other(path: Path, is_shared: bool) -> None:
    session = lance_core.Session()
    opened = [lance_core.dataset(path, session=session) for _ in range(THREADS)]
    datasets = opened[:1] * THREADS if is_shared else opened
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(check_requests, datasets, range(THREADS)))
