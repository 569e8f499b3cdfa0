"""Memory while a table much larger than the bound is streamed, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import lance_core
from benchmarks.report import Report

ROWS_PER_BATCH = 200_000
BYTES_PER_ROW = 8 + 8 + 4 * 32 + 40

_SCAN = """
import sys
import lance_core
def anonymous():
    with open("/proc/self/smaps_rollup") as file:
        fields = dict(line.split(":") for line in file if ":" in line)
    return int(fields["Anonymous"].split()[0])
dataset = lance_core.dataset(sys.argv[1])
rows = peak = 0
for number, batch in enumerate(dataset.to_batches()):
    rows += batch.num_rows
    if number % 50 == 0:
        peak = max(peak, anonymous())
print(rows, peak // 1024)
"""


def stream(report: Report, folder: Path, quick: bool) -> None:
    """Resident memory beyond the mapped file while scanning with ``to_batches``."""
    size = (1 << 29) if quick else (4 << 30)
    batches = size // (ROWS_PER_BATCH * BYTES_PER_ROW) + 1
    path = str(folder / "large")
    first = _batch(0)
    reader = pa.RecordBatchReader.from_batches(first.schema, map(_batch, range(batches)))
    lance_core.write_dataset(reader, path, data_storage_version="2.0")
    command = [sys.executable, "-c", _SCAN, path]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows, megabytes = map(int, output.split())
    assert rows == batches * ROWS_PER_BATCH
    report.note(f"stream a table of {size >> 20} MB: memory", megabytes, "MB", most=500)


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
