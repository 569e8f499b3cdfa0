"""Filters that keep different shares of a table, counts, and sorted scans with a limit."""

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
from benchmarks.workloads import WORDS

SHARES = {"1 %": 1, "5 %": 5, "25 %": 25}
COUNTS = ("key < 10", "f0 < 0.5", "city = 'fjord'", "n0 IS NULL", "key < 500 AND i0 > 3")
KEYS = ("i5", "f0", "code")
MODULES: dict[str, Any] = {OURS: lance_core, PEER: lance}


def filters(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Time filtered scans, counts and sorted scans of a table that pylance wrote."""
    rounds = 3 if quick else 7
    opened = _written(folder / f"filters-{version}", 200_000 if quick else 2_000_000, version)
    for label, share in SHARES.items():
        _compare(report, f"{version} filter {label}", opened, rounds, 1.5, filter=f"key < {share}0")
    for condition in COUNTS:
        found = [dataset.count_rows(condition) for dataset in opened.values()]
        assert found[0] == found[1], f"{condition}: {found}"
        actions: dict[str, Action] = {
            name: partial(dataset.count_rows, condition) for name, dataset in opened.items()
        }
        report.add(f"{version} count {condition}", interleaved(actions, rounds), 1.0)
    shutil.rmtree(folder / f"filters-{version}")
    opened = _written(folder / f"sorted-{version}", 500_000 if quick else 5_000_000, version)
    for key in KEYS:
        options = {"order_by": [key], "limit": 100}
        _compare(
            report, f"{version} order by {key}, limit 100", opened, rounds, 1.0, key, **options
        )
    shutil.rmtree(folder / f"sorted-{version}")


def _compare(
    report: Report,
    label: str,
    opened: dict[str, Any],
    rounds: int,
    least: float,
    column: str | None = None,
    **options: Any,
) -> None:
    """Time `to_table` with ``options``, after comparing the results, or only one ``column``."""
    ours, theirs = (dataset.to_table(**options) for dataset in opened.values())
    assert ours == theirs if column is None else ours[column] == theirs[column], label
    actions: dict[str, Action] = {
        name: partial(dataset.to_table, **options) for name, dataset in opened.items()
    }
    report.add(label, interleaved(actions, rounds), least)


def _written(path: Path, rows: int, version: str) -> dict[str, Any]:
    lance.write_dataset(_table(rows), str(path), data_storage_version=version)
    return {name: module.dataset(str(path)) for name, module in MODULES.items()}


def _table(rows: int) -> pa.Table:
    """A column to filter by, and 20 others."""
    rng = np.random.default_rng(13)
    columns: dict[str, Any] = {"key": rng.integers(0, 1000, rows)}
    columns |= {f"i{n}": rng.integers(0, 10 ** (n + 2), rows) for n in range(6)}
    columns |= {f"f{n}": rng.random(rows) for n in range(5)}
    for number in range(2):
        numbers = rng.integers(0, 1000, rows, np.int32)
        columns[f"n{number}"] = pa.array(numbers, mask=rng.random(rows) < 0.1)
    words = np.array([f"word{number:05d}" for number in range(5000)])
    columns |= {f"s{n}": pa.array(words[rng.integers(0, len(words), rows)]) for n in range(3)}
    columns["city"] = pa.array(WORDS[rng.integers(0, 4, rows) + 4])
    columns["code"] = pa.array(rng.integers(10**7, 10**9, rows).astype(str))
    columns["flag"] = pa.array(rng.random(rows) < 0.5)
    columns["at"] = pa.array(rng.integers(0, 2**50, rows), pa.timestamp("us"))
    return pa.table(columns)
