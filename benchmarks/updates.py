"""Updates of 1 % of a large table, and changes of one row in a table of many fragments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_core
from benchmarks.measure import Action, Timing, interleaved
from benchmarks.report import OURS, PEER, Report

MODULES: dict[str, Any] = {OURS: lance_core, PEER: lance}
CHUNK_ROWS = 500_000
FRAGMENTS = 2_000

Change = Callable[[Any], object]


def updates(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Time each change in tables of a file version."""
    rows, rounds = (500_000, 3) if quick else (5_000_000, 7)
    source = folder / "updates-source"
    write_rows(source, rows, version)
    label = f"update 1 % of {rows:,} rows, 14 columns, {version}"
    _compare(report, source, label, partial(_update_share, rows=rows), rounds)
    shutil.rmtree(source)
    data = pa.table({"id": range(FRAGMENTS * 10), "x": np.arange(FRAGMENTS * 10) / 3})
    lance.write_dataset(data, str(source), max_rows_per_file=10, data_storage_version=version)
    label = f"1 row, {FRAGMENTS:,} fragments, {version}"
    _compare(report, source, f"delete {label}", _delete_row, rounds)
    _compare(report, source, f"update {label}", _update_row, rounds)
    shutil.rmtree(source)


def _compare(report: Report, source: Path, label: str, change: Change, rounds: int) -> None:
    timings, tables = time_change(source, change, rounds)
    report.add(label, timings, 1.0)
    assert tables[0] == tables[1], "the two change different rows"


def time_change(
    source: Path, change: Change, rounds: int
) -> tuple[dict[str, Timing], list[pa.Table]]:
    """Time ``change`` of a fresh table; its files are links, since changes only add files.

    Returns the timings, and the table after the change of each library.
    """
    paths = {name: source.with_name(f"updates-{name}") for name in MODULES}

    def prepare(name: str) -> None:
        shutil.rmtree(paths[name], ignore_errors=True)
        shutil.copytree(source, paths[name], copy_function=os.link)

    actions: dict[str, Action] = {
        name: partial(_open_and_change, module, paths[name], change)
        for name, module in MODULES.items()
    }
    timings = interleaved(actions, rounds, prepare)
    tables = [lance.dataset(str(path)).to_table() for path in paths.values()]
    for path in paths.values():
        shutil.rmtree(path)
    return timings, tables


def _open_and_change(module: Any, path: Path, change: Change) -> object:
    return change(module.dataset(str(path)))


def _update_share(table: Any, rows: int) -> None:
    result = table.update({"f0": "f0 + 1", "word": "'changed'"}, "key % 100 = 7")
    assert result == {"num_rows_updated": rows // 100}


def _delete_row(table: Any) -> None:
    assert table.delete("id = 12345") == {"num_deleted_rows": 1}


def _update_row(table: Any) -> None:
    assert table.update({"x": "x + 1"}, "id = 12345") == {"num_rows_updated": 1}


def write_rows(path: Path, rows: int, version: str) -> None:
    """Write a table of ``rows`` rows with 14 columns; ``id`` is the row number."""
    lance.write_dataset(
        pa.RecordBatchReader.from_batches(part(0, 1).schema, _batches(rows)),
        str(path),
        max_rows_per_file=1 << 20,
        data_storage_version=version,
    )


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows, CHUNK_ROWS):
        yield from part(start, min(CHUNK_ROWS, rows - start)).to_batches()


def part(first: int, rows: int) -> pa.Table:
    """Rows of 14 columns; ``key`` is a permutation of the row numbers within the part."""
    rng = np.random.default_rng(first)
    columns: dict[str, Any] = {
        "id": np.arange(first, first + rows),
        "key": rng.permutation(rows) + first,
    }
    columns |= {f"f{number}": rng.random(rows) for number in range(4)}
    columns |= {f"i{n}": rng.integers(0, 1 << 20, rows, dtype=np.int32) for n in range(3)}
    columns["flag"] = rng.random(rows) < 0.5
    columns["word"] = np.char.add("name ", rng.integers(0, 1000, rows).astype("U"))
    columns["code"] = rng.integers(0, 1 << 40, rows).astype("U")
    columns["share"] = pa.array(rng.random(rows), mask=rng.random(rows) < 0.2)
    columns["time"] = pa.array(rng.integers(0, 1 << 50, rows), pa.timestamp("us"))
    return pa.table(columns)
