"""Deletes of a share of a table's rows, spread over all its fragments."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_core
from benchmarks.measure import Action, interleaved
from benchmarks.report import OURS, PEER, Report

SHARES = {"0.1 %": 0.001, "10 %": 0.1}


def deletes(report: Report, folder: Path, quick: bool) -> None:
    """Time one delete of each share; the table is copied again before every run."""
    rows = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(11)
    data = pa.table(
        {"x": rng.permutation(rows), "text": rng.integers(0, 1 << 40, rows).astype(str)}
    )
    source = folder / "deletes-source"
    lance.write_dataset(data, str(source), max_rows_per_file=rows // 4, data_storage_version="2.0")
    modules: dict[str, Any] = {OURS: lance_core, PEER: lance}
    paths = {name: folder / f"deletes-{name}" for name in modules}

    def prepare(name: str) -> None:
        shutil.rmtree(paths[name], ignore_errors=True)
        shutil.copytree(source, paths[name])

    for label, share in SHARES.items():
        actions: dict[str, Action] = {
            name: partial(_delete, modules[name], paths[name], round(rows * share))
            for name in modules
        }
        timings = interleaved(actions, 5 if quick else 11, prepare)
        report.add(f"delete {label} of {rows:,} rows", timings, 0.7)
        _check_equal(*paths.values())
    for path in (source, *paths.values()):
        shutil.rmtree(path, ignore_errors=True)


def _check_equal(one: Path, other: Path) -> None:
    tables = [lance.dataset(str(path)).to_table() for path in (one, other)]
    assert tables[0] == tables[1], "the two delete different rows"


def _delete(module: Any, path: Path, count: int) -> None:
    result = module.dataset(str(path)).delete(f"x < {count}")
    assert result == {"num_deleted_rows": count}
