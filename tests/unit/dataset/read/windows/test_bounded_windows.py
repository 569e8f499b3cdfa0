"""Windows of rows whose pages hold many times their stored bytes are bounded by decoded bytes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.steps import column_reader
from lance_core.encodings.arrow.decode_budget import (
    BudgetExceededError,
    DecodeBudget,
    decode_budget,
    spend,
)
from tests.each_case import each_case
from tests.examples import share
from tests.scan_numbers import tune

ROWS, SIZE = 500, 5000
BUDGET = tuning().decoded.min_stream
LONG = "x" * SIZE

VALUES: dict[str, tuple[pa.DataType, Callable[[int], object]]] = {
    "equal texts": (pa.string(), lambda row: LONG),
    "five texts": (pa.string(), lambda row: f"{row % 5}" * SIZE),
    "short texts, then long ones": (pa.string(), lambda row: LONG if row > ROWS // 2 else "a"),
    "few long texts": (pa.string(), lambda row: LONG * 20 if row % 50 == 49 else f"{row % 9}"),
    "repetitive texts": (pa.string(), lambda row: f"{row:05}" * (SIZE // 5)),
    "texts and nulls": (pa.string(), lambda row: LONG if row % 3 else None),
    "large binaries": (pa.large_binary(), lambda row: LONG.encode()),
    "texts in structs": (pa.struct([("a", pa.string())]), lambda row: {"a": LONG}),
    "texts in lists": (pa.list_(pa.string()), lambda row: ["abcdefghij" * 10] * (SIZE // 100)),
    "numbers in lists": (pa.list_(pa.int64()), lambda row: [7] * (SIZE // 8)),
}
CASES = {
    f"{version} {name}": (version, name, metadata)
    for number, name in enumerate(VALUES)
    for version in share(["2.0", "2.1", "2.2"], 3, turn=number)
    for metadata in [None, {"lance-encoding:compression": "zstd"}]
    if metadata is None or name == "repetitive texts"
}


@pytest.fixture
def largest(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each read of a window with several rows; streams aim at 64 KiB."""
    tune(monkeypatch, stream={"max_bytes": 64 << 10}, decoded={"table": BUDGET})
    sizes = [0]
    real = column_reader.read_rows

    def measured(*args: Any) -> pa.Table:
        table = real(*args)
        if table.num_rows > 1:
            sizes.append(table.nbytes)
        return table

    monkeypatch.setattr(column_reader, "read_rows", measured)
    return sizes


@each_case("name", CASES)
def test_windows_are_divided_by_the_bytes_that_their_rows_decode_to(
    name: str, largest: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    version, values, metadata = CASES[name]
    kind, value = VALUES[values]
    rows = pa.schema([("i", pa.int64()), pa.field("v", kind, metadata=metadata)])
    table = pa.table([range(ROWS), pa.array(map(value, range(ROWS)), kind)], schema=rows)
    uri = f"memory://{id(table)}/{name}"
    dataset = lance.write_dataset(table, uri, max_rows_per_file=300, data_storage_version=version)
    del largest[1:]
    read = pa.Table.from_batches(dataset.to_batches())
    assert read["v"].combine_chunks() == table["v"].combine_chunks()
    assert dataset.to_table(filter="v IS NULL AND i >= 0").num_rows == table["v"].null_count
    assert dataset.count_rows("v IS NOT NULL") == ROWS - table["v"].null_count
    some = pa.Table.from_batches(dataset.to_batches(filter="i % 2 = 1"))
    assert some["v"].combine_chunks() == table["v"].combine_chunks()[1::2]
    dataset.optimize.compact_files()
    assert dataset.to_table(columns=["v"], limit=3, offset=350) == table.select(["v"])[350:353]
    # A compressed buffer counts by the share of its rows, and FSST by what text mostly has.
    assert max(largest) <= 2 * BUDGET


def test_a_scan_of_equal_long_texts_takes_little_memory(tmp_path: Any) -> None:
    script = f"""
import resource, pyarrow as pa, lance_core as lance
uri = {str(tmp_path / "t")!r}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
text = pa.array(["x" * 50_000] * 200)
batches = (pa.record_batch([text], ["t"]) for _ in range(15))
schema = pa.schema([("t", pa.string())])
data = pa.RecordBatchReader.from_batches(schema, batches)
dataset = lance.write_dataset(data, uri, data_storage_version="2.2")
before = peak()
assert sum(batch.num_rows for batch in dataset.to_batches()) == 3000
assert dataset.to_table(filter="t = 'y'").num_rows == 0
print(peak() - before)
"""
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert int(found.stdout) < 120  # MB; all texts have 150


def test_a_row_that_exceeds_the_budget_is_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, stream={"max_bytes": 64 << 10})
    table = pa.table({"v": ["y" * (2 << 20), "y" * (2 << 20), "z"] * 3})
    dataset = lance.write_dataset(table, f"memory://{id(table)}/t")
    assert pa.Table.from_batches(dataset.to_batches()) == table


def test_an_upper_bound_counts_only_if_it_is_small() -> None:
    budget = DecodeBudget(100)
    budget.spend_at_most(20, lambda: 1)
    assert budget.spent == 20
    budget.spend_at_most(40, lambda: 1)
    assert budget.spent == 21
    with pytest.raises(BudgetExceededError):
        budget.spend_at_most(400, lambda: 80)


def test_bytes_count_in_the_innermost_block_of_a_thread() -> None:
    spend(1 << 60)
    with decode_budget(10) as outer:
        spend(3)
        with decode_budget(5) as inner:
            spend(4)
        with pytest.raises(BudgetExceededError):
            spend(8)
    assert (outer.spent, inner.spent) == (11, 4)
    spend(1 << 60)
