"""How many Python functions small reads call: it is these calls that a small read costs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pyarrow as pa
import pytest

import lance_core
from lance_core.fast_paths import FastPaths
from lance_core.store.local import open_files

ROWS = 20_000

TAKEN = [1, 5, 77, 1000, 2000, 3000, 10_000, 12_000, 13_000, ROWS - 1]

READS: dict[str, tuple[int, Callable[[lance_core.LanceDataset], object]]] = {
    "open": (150, lambda ds: lance_core.dataset(ds.snapshot.root.config.uri)),
    "take": (310, lambda ds: ds.take(TAKEN)),
}
"""By name: the maximum number of calls, and the read."""


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
    """Calls of Python functions in this thread during the second run of ``read``."""
    read()
    count = 0

    def observe(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(observe)
    try:
        read()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", READS)
def test_a_small_read_makes_few_calls(
    table: lance_core.LanceDataset, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files are cached that were not changed a moment ago, as those of this test were.
    monkeypatch.setattr(open_files, "SETTLED_NS", 0)
    limit, read = READS[name]
    if FastPaths.is_plain:
        limit *= 2
    assert calls_of(partial(read, table)) <= limit
