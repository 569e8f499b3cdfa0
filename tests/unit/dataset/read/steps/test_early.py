"""The windows of a stream under a filter have as many rows as fit, with all columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.windows.window_sizing import WindowSizer
from tests.each_case import each_case
from tests.scan_numbers import tune

ROWS, WIDTH = 4_000, 64
ROW_BYTES = 4 * WIDTH


@each_case("condition", ["id % 2 = 0", "id >= 0", "id < 0"])
def test_windows_are_sized_by_what_they_read_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    wide = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(ROWS * WIDTH, np.float32)), WIDTH)
    dataset = lance.write_dataset(pa.table({"id": range(ROWS), "v": wide}), tmp_path / "t.lance")
    tune(monkeypatch, stream={"max_bytes": 64 << 10, "column_bytes": 32 << 10})
    sizes: list[float] = []
    observe = WindowSizer.observe

    def record(self: WindowSizer, rows: int, size: int) -> None:
        sizes.append(size / rows)
        observe(self, rows, size)

    monkeypatch.setattr(WindowSizer, "observe", record)
    found = sum(one.num_rows for one in dataset.to_batches(["v"], filter=condition, batch_size=50))
    share = found / ROWS
    assert len(sizes) > 1
    assert min(sizes) >= share * ROW_BYTES
