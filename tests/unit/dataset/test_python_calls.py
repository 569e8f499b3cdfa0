"""How many Python functions reads and writes of few rows call: it is these that they cost."""

from __future__ import annotations

import gc
import itertools
import sys
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest

import lance_core
from lance_core import lazy_dataclass
from lance_core.commits.environment import Environment
from lance_core.fast_paths import FastPaths
from lance_core.store.local import open_files

ROWS = 20_000

TAKEN = [1, 5, 77, 1000, 2000, 3000, 10_000, 12_000, 13_000, ROWS - 1]

IDS = itertools.count(500)
"""Each lookup asks for another row, as in a service."""

READS: dict[str, tuple[int, Callable[[lance_core.LanceDataset], object]]] = {
    "open": (120, lambda ds: lance_core.dataset(ds.snapshot.root.config.uri)),
    "take": (245, lambda ds: ds.take(TAKEN)),
    "lookup": (250, lambda ds: ds.to_table(["s", "f"], filter=f"id = {next(IDS)}")),
    "repeated lookup": (206, lambda ds: ds.to_table(["s", "f"], filter="id = 77")),
    "page": (238, lambda ds: ds.to_table(["s", "f"], limit=100, offset=12_345)),
    "head": (375, lambda ds: ds.head(10)),
    "scan": (265, lambda ds: ds.to_table(["id", "v"])),
    "count": (394, lambda ds: ds.count_rows("f > 100")),
}
"""By name: the maximum number of calls, and the read."""

TEN = pa.table(
    {
        "id": pa.array(range(ROWS, ROWS + 10)),
        "s": [f"name {number}" for number in range(10)],
        "f": [number / 3 for number in range(10)],
        "v": pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0] * 20, pa.float32()), 4),
    }
)


def _create(folder: str) -> None:
    lance_core.write_dataset(TEN, f"{folder}/{uuid.uuid4()}")


def _append(folder: str) -> None:
    lance_core.write_dataset(TEN, f"{folder}/table", mode="append")


def _delete(folder: str) -> None:
    lance_core.dataset(f"{folder}/table").delete("id = 5")


def _update(folder: str) -> None:
    lance_core.dataset(f"{folder}/table").update({"f": "f + 1"}, where="id = 7")


def _merge(folder: str) -> None:
    merge = lance_core.dataset(f"{folder}/table").merge_insert("id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute(TEN)


WRITES: dict[str, tuple[int, Callable[[str], None]]] = {
    "create": (1320, _create),
    "append": (1290, _append),
    "delete": (1305, _delete),
    "update": (3110, _update),
    "merge": (2860, _merge),
}
"""By name: the maximum number of calls, and the write, to the table of a folder."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance_core.LanceDataset:
    rows = pa.table(
        {
            "id": pa.array(range(ROWS)),
            "s": [f"name {number}" for number in range(ROWS)],
            "f": [number / 3 for number in range(ROWS)],
            "v": pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 4 * ROWS, pa.float32()), 4),
        }
    )
    path = tmp_path_factory.mktemp("calls") / "table"
    dataset = lance_core.write_dataset(rows, path)
    dataset.create_scalar_index("id", "BTREE")
    return lance_core.dataset(path)


def calls_of(read: Callable[[], object]) -> int:
    """Calls of Python functions in this thread during the second run of ``read``.

    A class compiles its ``__init__`` once in a process, when 200 instances were made. The tests
    before this one decide whether that is now, so those calls do not count.
    """
    read()
    count = 0
    is_compiling = False

    def observe(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count, is_compiling
        if event in ("call", "return") and frame.f_code is lazy_dataclass._compile_init.__code__:
            is_compiling = event == "call"
        elif event == "call" and not is_compiling:
            count += 1

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # what other tests have left is not freed in the meantime
    sys.setprofile(observe)
    try:
        read()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


@pytest.mark.parametrize("name", READS)
def test_a_small_read_makes_few_calls(
    table: lance_core.LanceDataset, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files are cached that were not changed a moment ago, as those of this test were.
    monkeypatch.setattr(open_files, "SETTLED_NS", 0)
    limit, read = READS[name]
    if FastPaths.is_plain:
        limit = limit * 5 // 2
    assert calls_of(partial(read, table)) <= limit


@pytest.mark.parametrize("name", WRITES)
def test_a_write_of_few_rows_makes_few_calls(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine a commit takes so long that it checks more, and files settle.
    monkeypatch.setattr(Environment, "stopwatch", lambda environment: lambda: 0.0)
    monkeypatch.setattr(open_files, "SETTLED_NS", sys.maxsize)
    rows = pa.table(
        {
            "id": pa.array(range(100)),
            "s": [f"name {number}" for number in range(100)],
            "f": [number / 3 for number in range(100)],
            "v": pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 400, pa.float32()), 4),
        }
    )
    lance_core.write_dataset(rows, tmp_path / "table")
    limit, write = WRITES[name]
    if FastPaths.is_plain:
        limit *= 2
    # The first writes of a process parse messages that later ones have in a cache.
    assert min(calls_of(partial(write, str(tmp_path))) for _ in range(2)) <= limit
