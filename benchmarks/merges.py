"""Merges of new data into a large table; half of the keys are in the table."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.report import Report
from benchmarks.updates import part, time_change, write_rows

BARS = {1_000: 1.5, 100_000: 1.0}
"""The minimum ratio by the number of rows to merge."""


def merges(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Time an upsert of each number of rows into a table of a file version."""
    rows, rounds = (500_000, 3) if quick else (5_000_000, 7)
    source = folder / "merges-source"
    write_rows(source, rows, version)
    for count, bar in BARS.items():
        label = f"merge {count:,} rows into {rows:,}, 14 columns, {version}"
        change = partial(_upsert, new=_new_rows(count, rows))
        timings, tables = time_change(source, change, rounds)
        report.add(label, timings, bar)
        assert tables[0].sort_by("id") == tables[1].sort_by("id"), "the two merge different rows"
    shutil.rmtree(source)


def _new_rows(count: int, rows: int) -> pa.Table:
    rng = np.random.default_rng(count)
    old = rng.choice(rows, count // 2, replace=False)
    keys = rng.permutation(np.concatenate([old, rows + np.arange(count - count // 2)]))
    new = part(rows, count)
    return new.set_column(0, "id", pa.array(keys))


def _upsert(table: Any, new: pa.Table) -> None:
    merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    half = new.num_rows // 2
    assert merge.execute(new) == {
        "num_inserted_rows": new.num_rows - half,
        "num_updated_rows": half,
        "num_deleted_rows": 0,
    }
