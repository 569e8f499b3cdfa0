"""The columns of a read, without a session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import lance_core

PROGRAM = """
import sys
from lance_core_spark.source import LanceSource
source = LanceSource({"path": sys.argv[1]})
reader = source.reader(source.schema())
assert len(reader.partitions()) == 1
print(*sorted(sys.modules))
"""


def test_planning_loads_nothing_that_reads_files(tmp_path: Path) -> None:
    """Spark plans in processes that never read: each would load it for nothing."""
    lance_core.write_dataset(pa.table({"id": [1], "s": [{"x": 1}]}), tmp_path / "t.lance")
    command = [sys.executable, "-c", PROGRAM, tmp_path / "t.lance"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    loaded = set(done.stdout.split())
    assert "lance_core.dataset.dataset" in loaded
    assert loaded.isdisjoint({"pandas", "lance_core.encodings.v2_1.read.fields"})
