"""Adding columns from SQL, casting a column, joining columns, and columns without values."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_core
from benchmarks.measure import Action, interleaved
from benchmarks.report import OURS, PEER, Report

Change = Callable[[Any], None]


def columns(report: Report, folder: Path, quick: bool) -> None:
    """Time changes of columns; the files of the table are linked again before every run."""
    rows = 500_000 if quick else 5_000_000
    for version in ("2.0", "2.1", "2.2"):
        source = _table(folder / f"columns-{version}", rows, version)
        _compare(report, f"add_columns of SQL, {rows:,} rows, {version}", source, _add, 1.0)
        shutil.rmtree(source)
    source = _table(folder / "columns", rows, "2.2")
    changes: dict[str, Change] = {
        "cast of a column": _cast,
        "null column": lambda table: table.add_columns(pa.field("n", pa.int32())),
        "merge of half the rows": lambda table: table.merge(_other(rows), "a"),
    }
    for label, change in changes.items():
        _compare(report, f"{label}, {rows:,} rows", source, change)
    shutil.rmtree(source)


def _add(table: Any) -> None:
    table.add_columns({"y": "a * 2 + c", "z": "b * 0.5"})


def _cast(table: Any) -> None:
    table.alter_columns({"path": "c", "data_type": pa.int32()})


def _table(path: Path, rows: int, version: str) -> Path:
    rng = np.random.default_rng(1)
    data = {"a": np.arange(rows), "b": rng.random(rows), "c": rng.integers(0, 1000, rows)}
    data |= {f"x{number}": rng.random(rows) for number in range(9)}
    data |= {"s": np.arange(rows).astype(str)}
    lance.write_dataset(pa.table(data), str(path), data_storage_version=version)
    return path


def _other(rows: int) -> pa.Table:
    keys = np.arange(0, rows, 2)
    return pa.table({"a": keys, "q": keys * 3})


def _compare(
    report: Report, label: str, source: Path, change: Change, bar: float | None = None
) -> None:
    modules: dict[str, Any] = {OURS: lance_core, PEER: lance}
    paths = {name: source.with_name(f"{source.name}-{name}") for name in modules}

    def prepare(name: str) -> None:
        shutil.rmtree(paths[name], ignore_errors=True)
        shutil.copytree(source, paths[name], copy_function=os.link)

    actions: dict[str, Action] = {
        name: partial(_change, module, paths[name], change) for name, module in modules.items()
    }
    report.add(label, interleaved(actions, 5, prepare), bar)
    one, other = (lance.dataset(str(path)).to_table(limit=1000) for path in paths.values())
    assert one == other, "the two libraries make different tables"
    for path in paths.values():
        shutil.rmtree(path)


def _change(module: Any, path: Path, change: Change) -> None:
    change(module.dataset(str(path)))
