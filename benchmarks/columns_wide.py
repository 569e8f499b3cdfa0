"""Tables of thousands of columns."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from benchmarks.bars import COLUMNS_WIDE, MAX_COLUMN_GROWTH
from benchmarks.measure import Action, Timing, interleaved
from benchmarks.pair import MODULES, Pair
from benchmarks.report import OURS, PEER, Report
from benchmarks.touch import touch
from benchmarks.workloads import WORDS, list_offsets


@dataclass(frozen=True, slots=True)
class Shape:
    """Numbers of columns and rows of `make`, and what most of the columns are instead."""

    columns: int
    rows: int
    kind: str = ""


SHAPES = (
    Shape(2_000, 10_000),
    Shape(5_000, 1_000),
    Shape(2_000, 10_000, "sparse"),
    Shape(1_000, 1_000, "nested"),
)

COUNTS = (100, 1_000, 10_000)
"""Numbers of columns whose cost per column is compared, in tables of `FEW` rows."""

FEW = 1_000
THREE = ["c0", "c3", "c6"]
WHERE = "c0 > 12 AND c3 < 20 AND c6 < 0.5"


def columns_wide(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Time all reads and the write of wide tables, and the cost of a column by their number."""
    rounds = 3 if quick else 5
    for shape in SHAPES:
        own = replace(shape, columns=shape.columns // 20) if quick else shape
        _shape(report, folder / "wide", version, own, rounds)
    counts = COUNTS[:2] if quick else COUNTS
    found = [_cost(report, folder / "wide", version, count, min(rounds, 3)) for count in counts]
    for operation in ("write", "scan"):
        narrow, *_, widest = (costs[operation] for costs in found)
        label = f"{version} cost of a column, {operation}: growth to {counts[-1]:,} columns"
        report.note(label, widest / narrow, "", most=MAX_COLUMN_GROWTH)


def _shape(report: Report, path: Path, version: str, shape: Shape, rounds: int) -> None:
    data = make(shape.columns, shape.rows, shape.kind)
    label = f"{version} {f'{shape.columns:,} {shape.kind}'.rstrip()} columns x {shape.rows:,} rows"
    # Files of 2.1 get sparse columns at 0.7 to 0.9 of pylance's speed, those of 2.2 at 0.8 to 1.05;
    # nested columns are written one by one.
    bar = None if shape.kind else COLUMNS_WIDE
    report.add(f"{label}: write", _writes(path, data, version, rounds), bar)
    taken = sorted(np.random.default_rng(1).integers(0, shape.rows, 10).tolist())
    reads: dict[str, Callable[[Any], object]] = {
        "scan": lambda table: table.to_table(),
        "one column": lambda table: table.to_table(columns=["c5"]),
        "filter on 3": lambda table: table.to_table(columns=THREE, filter=WHERE),
        "take 10 rows": lambda table: table.take(taken),
    }
    # Nested columns of 2.0 are read one by one.
    bar = None if (version, shape.kind) == ("2.0", "nested") else COLUMNS_WIDE
    pair = Pair(report, _path(path, PEER), rounds)
    pair.with_opening(f"{label}: open", lambda table: table.schema, bar)
    for name, read in reads.items():
        pair.first(f"{label}: {name}", read, bar)
        pair.again(f"{label}: {name} again", read, bar)
    _remove(path)


def _cost(
    report: Report, path: Path, version: str, columns: int, rounds: int
) -> Mapping[str, float]:
    """Processor seconds that a column costs this library, by operation."""
    data = make(columns, FEW)
    timings = {"write": _writes(path, data, version, rounds)}
    opened = {name: module.dataset(str(_path(path, PEER))) for name, module in MODULES.items()}
    scans: dict[str, Action] = {
        name: lambda dataset=dataset: touch(dataset.to_table()) for name, dataset in opened.items()
    }
    timings["scan"] = interleaved(scans, rounds)
    _remove(path)
    for operation, timing in timings.items():
        costs = {name: min(one.processor) / columns for name, one in timing.items()}
        text = "  ".join(f"{name} {1e6 * cost:9.1f} us" for name, cost in costs.items())
        label = f"{version} cost of a column, {operation}, {columns:,} columns"
        report.say(label, text, processor=costs)
    return {operation: min(one[OURS].processor) / columns for operation, one in timings.items()}


def _writes(path: Path, data: pa.Table, version: str, rounds: int) -> dict[str, Timing]:
    """Time the writes of both libraries, whose tables stay."""

    def write(name: str) -> None:
        MODULES[name].write_dataset(data, str(_path(path, name)), data_storage_version=version)

    def prepare(name: str) -> None:
        shutil.rmtree(_path(path, name), ignore_errors=True)

    actions: dict[str, Action] = {name: partial(write, name) for name in MODULES}
    timings = interleaved(actions, rounds, prepare)
    read: Any = lance.dataset(str(_path(path, OURS))).to_table()
    assert read == data, "pylance reads the wide table wrongly"
    return timings


def _path(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}-{name}")


def _remove(path: Path) -> None:
    for name in MODULES:
        shutil.rmtree(_path(path, name))


def make(columns: int, rows: int, kind: str = "") -> pa.Table:
    """Integers of different widths, floats, some of them null, and short texts.

    With a ``kind`` of `_KINDS`, all columns but those of the filter are of that kind.
    """
    rng = np.random.default_rng(14)
    names = [f"c{number}" for number in range(columns)]
    other = _KINDS[kind]
    return pa.table(
        {
            name: (_column if name in THREE else other)(rng, number % 10, rows)
            for number, name in enumerate(names)
        }
    )


def _sparse(rng: np.random.Generator, kind: int, rows: int) -> pa.Array:
    """Flags, decimals, and few values: runs, mostly zeros or nulls, or all the same."""
    few = rng.random(rows) < 0.01
    if kind == 0:
        return pa.array(rng.random(rows) < 0.3)
    if kind == 1:
        return pa.array(rng.random(rows) < 0.3, mask=rng.random(rows) < 0.1)
    if kind == 2:
        return pa.array(np.full(rows, rng.integers(10)))
    if kind == 3:
        return pa.array(["the same"] * rows)
    if kind == 4:
        return pa.nulls(rows, pa.float64())
    if kind == 5:
        return pa.array(rng.random(rows), mask=~few)
    if kind == 6:
        return pa.array(np.where(few, rng.integers(1, 99, rows), 0))
    if kind == 7:
        return pa.array(np.repeat(rng.integers(0, 99, rows // 100), 100))
    if kind == 8:
        return pa.array(rng.integers(0, 10**9, rows)).cast(pa.decimal128(19, 0))
    return pa.array(np.zeros(rows, np.bool_))


def _nested(rng: np.random.Generator, kind: int, rows: int) -> pa.Array:
    """Lists of numbers and of texts, some of them null, structs, and vectors of four numbers."""
    if kind < 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(rng.random(4 * rows, np.float32)), 4)
    if kind < 4:
        return pa.StructArray.from_arrays(
            [_column(rng, 1, rows), _column(rng, 9, rows)], ["a", "b"]
        )
    offsets = list_offsets(rng, rows, 5)
    nulls = pa.array(rng.random(rows) < 0.1) if kind % 2 else None
    items = _column(rng, 1 if kind < 7 else 9, int(offsets[-1]))
    return pa.ListArray.from_arrays(offsets, items, mask=nulls)


def _column(rng: np.random.Generator, kind: int, rows: int) -> pa.Array:
    if kind < 3:
        return pa.array(rng.integers(0, 1 << (4 + 3 * kind), rows))
    if kind < 5:
        return pa.array(rng.integers(0, 1000, rows, np.int32))
    if kind < 7:
        return pa.array(rng.random(rows))
    if kind == 7:
        return pa.array(rng.random(rows, np.float32), mask=rng.random(rows) < 0.1)
    if kind == 8:
        return pa.array(WORDS[rng.integers(0, len(WORDS), rows)])
    return pa.array(rng.integers(10**5, 10**6, rows).astype("U"))


_KINDS = {"": _column, "sparse": _sparse, "nested": _nested}
