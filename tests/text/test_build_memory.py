"""The memory of a build of a large index, in a process of its own: ``LANCE_CORE_LONG_MEMORY=1``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance

LONG = "LANCE_CORE_LONG_MEMORY"

TEXT_BYTES = 1_000_000_000

MEASURE = """
import sys
import lance_core as lance
import lance_core_text.write.build

def bytes_of(key):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key)).split()[1])

dataset = lance.dataset(sys.argv[1])
open("/proc/self/clear_refs", "w").write("5")  # the peak is that of now
before = bytes_of("VmRSS")
dataset.create_scalar_index("t", "INVERTED", with_position=sys.argv[2] == "positions")
print(bytes_of("VmHWM") - before)
"""

SCHEMA = pa.schema([("t", pa.string())])


def batches() -> Iterator[pa.RecordBatch]:
    """Texts of about 30 words, of 200,000 distinct ones; the first ones are the most frequent."""
    random = np.random.default_rng(1)
    words = np.array([f"{number * 7919 % 999_983:x}word" for number in range(200_000)])
    shares = 1 / np.arange(10, len(words) + 10)
    shares /= shares.sum()
    total = 0
    while total < TEXT_BYTES:
        chosen = words[random.choice(len(words), (20_000, 30), p=shares)]
        texts = [" ".join(row) for row in chosen.tolist()]
        total += sum(map(len, texts))
        yield pa.record_batch([pa.array(texts)], schema=SCHEMA)


@pytest.mark.skipif(LONG not in os.environ, reason=f"takes minutes: set {LONG}")
def test_a_build_of_a_gigabyte_takes_less_memory(tmp_path: Path) -> None:
    rows = pa.RecordBatchReader.from_batches(SCHEMA, batches())
    lance.write_dataset(rows, tmp_path / "t")
    for kind in ("plain", "positions"):
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(tmp_path / "t"), kind],
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(done.stdout) < 1 << 30
