"""Memory of each subject's operations and of a stream, without mapped files.

The figure is the growth of anonymous pages (memory that the process allocated), sampled while the
operation runs in a process of its own. Modules that are imported at first use are imported before:
pandas, which pyarrow imports for its first array and pylance at its own import, and the parser of
filters.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import lance_core
from benchmarks.report import Report
from benchmarks.subjects import Ours, Parquet, Pylance
from benchmarks.workloads import WORKLOADS

ROWS_PER_BATCH = 200_000
BYTES_PER_ROW = 8 + 8 + 4 * 32 + 40

SAMPLER = """
import sys, threading, time
def anonymous():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))
class Peak(threading.Thread):
    def __enter__(self):
        self.daemon, self.going = True, True
        self.start_at = self.peak = anonymous()
        self.start()
        return self
    def run(self):
        while self.going:
            self.peak = max(self.peak, anonymous())
            time.sleep(0.002)
    def __exit__(self, *_):
        self.peak = max(self.peak, anonymous())
        self.going = False
    @property
    def megabytes(self):
        return (self.peak - self.start_at) // 1024
"""

_STREAM = """
import lance_core
dataset = lance_core.dataset(sys.argv[1])
with Peak() as peak:
    rows = sum(batch.num_rows for batch in dataset.to_batches())
print(rows, peak.megabytes)
"""

_OPERATION = """
from pathlib import Path
import numpy as np
import pandas
from benchmarks import subjects
from benchmarks.touch import touch
kind, folder, operation, where, rows = sys.argv[1:]
subject = getattr(subjects, kind)(Path(folder))
opened = subject.open("read")
if kind != "Parquet":  # whose take reads the whole file
    subject.take(opened, np.array([0]))
    opened.scanner(filter=where)
with Peak() as peak:
    if operation == "scan":
        touch(subject.scan(opened))
    elif operation == "batches":
        sum(touch(batch) for batch in opened.to_batches())
    elif operation == "filter":
        touch(subject.scan(opened, None, where))
    else:
        touch(subject.take(opened, np.random.default_rng(3).integers(0, int(rows), 1000)))
print(peak.megabytes)
"""


def operations(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Peak memory of reads by each subject; this library and pylance read the same file."""
    for workload in WORKLOADS:
        if workload.name == "ten":  # which is a part of the first one
            continue
        rows = workload.rows // (10 if quick else 2)
        among = min(rows, 1000)
        data = workload.make(rows)
        shutil.rmtree(folder, ignore_errors=True)
        Pylance(folder, version).write("read", data)
        Parquet(folder).write("read", data)
        shutil.copytree(folder / Pylance.name, folder / Ours.name)
        for operation in ("scan", "batches", "filter", "take"):
            peaks = {}
            for kind in (Ours, Pylance, Parquet):
                if operation != "batches" or kind is not Parquet:
                    arguments = kind.__name__, folder, operation, workload.selective, among
                    output = run_program(SAMPLER + _OPERATION, *map(str, arguments))
                    peaks[kind.name] = int(output)
            text = "  ".join(f"{name} {peak:5} MB" for name, peak in peaks.items())
            label = f"{version} {workload.name}: memory, {operation}"
            report.say(label, text, megabytes=peaks)


def stream(report: Report, folder: Path, quick: bool) -> None:
    """Peak memory while ``to_batches`` reads a table that is much larger than the bound."""
    size = (1 << 29) if quick else (4 << 30)
    batches = size // (ROWS_PER_BATCH * BYTES_PER_ROW) + 1
    path = str(folder / "large")
    first = _batch(0)
    reader = pa.RecordBatchReader.from_batches(first.schema, map(_batch, range(batches)))
    lance_core.write_dataset(reader, path, data_storage_version="2.0")
    rows, megabytes = map(int, run_program(SAMPLER + _STREAM, path).split())
    assert rows == batches * ROWS_PER_BATCH
    report.note(f"stream a table of {size >> 20} MB: memory", megabytes, "MB", most=500)


def run_program(code: str, *arguments: str) -> str:
    """The output of a Python program in another process."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _batch(number: int) -> pa.RecordBatch:
    rng = np.random.default_rng(number)
    ids = np.arange(number * ROWS_PER_BATCH, (number + 1) * ROWS_PER_BATCH)
    texts = pa.array(rng.integers(10**17, 10**18, ROWS_PER_BATCH).astype(str))
    vectors = pa.array(rng.random(ROWS_PER_BATCH * 32, np.float32))
    return pa.record_batch(
        {
            "id": pa.array(ids),
            "value": pa.array(rng.random(ROWS_PER_BATCH)),
            "text": texts.cast(pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(vectors, 32),
        }
    )
