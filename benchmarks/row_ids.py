"""Takes of rows by stable row id, from appended rows and after scattered updates."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_core
from benchmarks.measure import Action, interleaved
from benchmarks.report import OURS, PEER, Report
from lance_core.dataset.read.sources.row_locations import row_id_indices

FRAGMENTS = 10
TAKEN = 1000
UPDATES = 5
"""Updates of 2 % of the rows each, spread over all fragments."""


def row_ids(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Time takes of 1,000 rows by id: of an opened table, and the first one with its opening."""
    rows = 1_000_000 if quick else 10_000_000
    path = folder / f"row-ids-{version}"
    lance.write_dataset(
        pa.RecordBatchReader.from_batches(_SCHEMA, _batches(rows)),
        str(path),
        max_rows_per_file=rows // FRAGMENTS,
        data_storage_version=version,
        enable_stable_row_ids=True,
    )
    _time(report, path, rows, f"take {TAKEN:,} of {rows:,} rows by id, {version}", quick)
    for number in range(UPDATES):
        scattered = f"(id * 7919) % 100 BETWEEN {number * 2} AND {number * 2 + 1}"
        lance.dataset(str(path)).update({"x": "x + 1"}, where=scattered)
    label = f"take {TAKEN:,} of {rows:,} rows by id after {UPDATES} updates, {version}"
    _time(report, path, rows, label, quick)
    shutil.rmtree(path)


_SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("text", pa.string())])


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    rng = np.random.default_rng(5)
    for start in range(0, rows, 100_000):
        ids = np.arange(start, min(start + 100_000, rows))
        columns = [ids, rng.random(len(ids)), [f"row {i}" for i in ids.tolist()]]
        yield pa.record_batch(columns, schema=_SCHEMA)


def _time(report: Report, path: Path, rows: int, label: str, quick: bool) -> None:
    modules: dict[str, Any] = {OURS: lance_core, PEER: lance}
    opened = {name: module.dataset(str(path)) for name, module in modules.items()}
    rng = np.random.default_rng(7)
    ids = rng.integers(0, rows, TAKEN).tolist()
    one, other = (_take(dataset, ids) for dataset in opened.values())
    assert one == other, "the two take different rows"
    rounds = 5 if quick else 15
    later: dict[str, Action] = {
        name: lambda dataset=dataset: _take(dataset, rng.integers(0, rows, TAKEN).tolist())
        for name, dataset in opened.items()
    }
    report.add(label, interleaved(later, rounds), 1.0)
    first: dict[str, Action] = {
        name: partial(_first, module, path, ids) for name, module in modules.items()
    }
    timings = interleaved(first, rounds, lambda _: row_id_indices.reset())
    report.add(f"open and {label}", timings, 1.0)


def _first(module: Any, path: Path, ids: list[int]) -> pa.Table:
    return _take(module.dataset(str(path)), ids)


def _take(dataset: Any, ids: list[int]) -> pa.Table:
    return dataset._take_rows(ids)  # noqa: SLF001 (pylance has no public method for it)
