"""A dictionary that is larger than a window does not make the windows smaller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.expressions.sql.nodes import evaluate
from lance_core.dataset.read.windows.window_sizing import WindowSizer
from tests.each_case import each_case
from tests.scan_numbers import tune

ROWS = 4_000
WHERE = "d = 'text-00000000000007'"

VERBS: dict[str, Callable[[lance.LanceDataset], int]] = {
    "stream": lambda dataset: sum(
        batch.num_rows for batch in dataset.to_batches(["d"], batch_size=500)
    ),
    "stream by bytes": lambda dataset: sum(
        batch.num_rows for batch in dataset.to_batches(["d"], batch_size_bytes=4 << 10)
    ),
    "filter": lambda dataset: dataset.to_table(filter=f"NOT {WHERE}").num_rows + 1,
    "count": lambda dataset: dataset.count_rows(f"NOT {WHERE}") + 1,
    "update": lambda dataset: dataset.update({"id": "id + 1"})["num_rows_updated"],
}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each window that is read, and of each batch that a filter is evaluated for."""
    numbers: list[int] = []
    observe, value = WindowSizer.observe, evaluate._value

    def observed(self: WindowSizer, rows: int, size: int) -> None:
        numbers.append(rows)
        observe(self, rows, size)

    def evaluated(node: evaluate.Node, data: pa.RecordBatch) -> object:
        numbers.append(data.num_rows)
        return value(node, data)

    tune(monkeypatch, stream={"max_bytes": 16 << 10, "column_bytes": 16 << 10})
    monkeypatch.setattr(WindowSizer, "observe", observed)
    monkeypatch.setattr(evaluate, "_value", evaluated)
    monkeypatch.setattr(evaluate, "MAX_EVALUATED_BYTES", 16 << 10)
    return numbers


@each_case("version", ["2.0", "2.1"])
@each_case("verb", VERBS)
def test_windows_have_many_rows_beside_a_large_dictionary(
    tmp_path: Path, reads: list[int], verb: str, version: str
) -> None:
    texts = pa.array([f"text-{number:014d}" for number in range(ROWS)])
    values = pa.DictionaryArray.from_arrays(pa.array(range(ROWS), pa.int32()), texts)
    table = pa.table({"d": values, "id": range(ROWS)})
    dataset = lance.write_dataset(table, tmp_path / "t.lance", data_storage_version=version)
    reads.clear()
    assert VERBS[verb](dataset) == ROWS
    assert len(reads) <= 40
