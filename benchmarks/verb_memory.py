"""Peak memory of every verb that reads or changes a table, of many rows and of large ones.

Each verb runs in a process of its own, on a copy of the same table, after it ran on a small one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import lance_core
from benchmarks.memory import SAMPLER, run_program
from benchmarks.pair import MODULES
from benchmarks.report import Report

SCHEMA = pa.schema({"id": pa.int64(), "v": pa.float64(), "s": pa.string(), "b": pa.large_binary()})
FRAGMENTS = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """The rows of a table, the bytes of each value of its last column, and rows of a batch."""

    rows: int
    width: int
    step: int

    def reader(self, start: int = 0, rows: int | None = None) -> pa.RecordBatchReader:
        """``rows`` rows (all of the table) with ids from ``start`` on."""
        return pa.RecordBatchReader.from_batches(SCHEMA, self._batches(start, rows or self.rows))

    def _batches(self, start: int, rows: int) -> Iterator[pa.RecordBatch]:
        for first in range(start, start + rows, self.step):
            ids = np.arange(first, min(first + self.step, start + rows))
            random = np.random.default_rng(first)
            edges = pa.py_buffer(np.arange(len(ids) + 1) * self.width)
            octets = pa.py_buffer(random.bytes(len(ids) * self.width))
            payload = pa.Array.from_buffers(pa.large_binary(), len(ids), [None, edges, octets])
            texts = pa.array(ids % 1000).cast(pa.string())
            yield pa.record_batch(
                [pa.array(ids), pa.array(random.random(len(ids))), texts, payload], schema=SCHEMA
            )


SHAPES = {"many rows": Shape(3_000_000, 32, 100_000), "large rows": Shape(600, 1 << 20, 10)}
SMALL = Shape(1_000, 32, 100)

Verb = Callable[[Any, str, Shape], object]


def _merge(module: Any, path: str, shape: Shape) -> object:
    few = shape.reader(0, max(1, shape.rows // 100)).read_all()
    merge = module.dataset(path).merge_insert("id")
    return merge.when_matched_update_all().when_not_matched_insert_all().execute(few)


def _sorted(module: Any, path: str, shape: Shape) -> int:
    scanner = module.dataset(path).scanner(columns=["id", "v"], order_by=["v"])
    return sum(batch.num_rows for batch in scanner.to_batches())


VERBS: dict[str, Verb] = {
    "write_dataset": lambda m, path, shape: m.write_dataset(shape.reader(), f"{path}-new"),
    "append": lambda m, path, shape: m.write_dataset(shape.reader(shape.rows), path, mode="append"),
    "to_batches": lambda m, path, _: sum(len(b) for b in m.dataset(path).to_batches()),
    "to_batches, filter": lambda m, path, _: sum(
        len(b) for b in m.dataset(path).to_batches(filter="v < 0.01")
    ),
    "to_batches, order_by": _sorted,
    "take": lambda m, path, shape: m.dataset(path).take([0, shape.rows // 2]),
    "count_rows": lambda m, path, _: m.dataset(path).count_rows("v < 0.5"),
    "delete": lambda m, path, _: m.dataset(path).delete("v < 0.5"),
    "update": lambda m, path, _: m.dataset(path).update({"v": "v + 1"}, where="v < 0.5"),
    "merge_insert": _merge,
    "add_columns": lambda m, path, _: m.dataset(path).add_columns({"w": "v * 2"}),
    "compact_files": lambda m, path, shape: m.dataset(path).optimize.compact_files(
        target_rows_per_fragment=10 * shape.rows
    ),
    "create_scalar_index": lambda m, path, _: m.dataset(path).create_scalar_index("v", "BTREE"),
    "optimize_indices": lambda m, path, _: m.dataset(path).optimize.optimize_indices(),
    "validate": lambda m, path, _: m.dataset(path).validate(),
}

_PROGRAM = """
import pandas
from benchmarks import verb_memory
name, verb, shape, folder = sys.argv[1:]
run = verb_memory.prepared(name, verb, shape, folder)
with Peak() as peak:
    run()
print(peak.megabytes)
"""


def prepared(name: str, verb: str, shape: str, folder: str) -> Callable[[], object]:
    """What runs ``verb`` on the table in ``folder``, after it ran on a small one."""
    module, run = MODULES[name], VERBS[verb]
    small = f"{folder}/small"
    _make(small, SMALL)
    run(module, small, SMALL)
    return lambda: run(module, f"{folder}/table", SHAPES[shape])


def verbs(report: Report, folder: Path, quick: bool) -> None:
    """Report the peak of each verb of both libraries on tables of each shape."""
    own = folder / "verbs"
    for name, shape in SHAPES.items():
        _make(
            str(own / "base"),
            Shape(shape.rows // 10, *(shape.width, shape.step)) if quick else shape,
        )
        for verb in VERBS:
            peaks = {}
            for module in MODULES:
                shutil.copytree(own / "base", own / "run" / "table")
                peaks[module] = int(
                    run_program(SAMPLER + _PROGRAM, module, verb, name, str(own / "run"))
                )
                shutil.rmtree(own / "run")
            text = "  ".join(f"{module} {peak:5} MB" for module, peak in peaks.items())
            report.say(f"memory, {name}: {verb}", text, megabytes=peaks)
        shutil.rmtree(own)


def _make(path: str, shape: Shape) -> None:
    """A table of a few fragments, with an index that lacks the last rows."""
    lance_core.write_dataset(shape.reader(), path, max_rows_per_file=shape.rows // FRAGMENTS)
    lance_core.dataset(path).create_scalar_index("id", "BTREE")
    few = shape.reader(shape.rows, max(1, shape.rows // 100))
    lance_core.write_dataset(few, path, mode="append")
