"""Processes that share nothing but the storage commit to one table, with installed plugins too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core

PROCESSES = 3
APPENDS = 5

WRITER = """
import sys, pyarrow as pa, lance_core
uri, writer, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for number in range(count):
    table = pa.table({"writer": [writer], "number": [number]})
    lance_core.write_dataset(table, uri, mode="append")
"""


@pytest.mark.parametrize(
    "scheme", ["file", "vault", "vault+ledger", "file+ledger"], ids=lambda s: s.replace("+", "-")
)
def test_no_append_of_any_process_is_lost_or_doubled(tmp_path: Path, scheme: str) -> None:
    uri = f"{scheme}://{tmp_path}/table"
    nothing = pa.table({"writer": pa.array([], pa.int64()), "number": pa.array([], pa.int64())})
    lance_core.write_dataset(nothing, uri)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, uri, str(writer), str(APPENDS)],
            env={**os.environ, "LANCE_CORE_DURABILITY": "fast"},
        )
        for writer in range(PROCESSES)
    ]
    assert [process.wait() for process in running] == [0] * PROCESSES
    dataset = lance_core.dataset(uri)
    assert dataset.version == 1 + PROCESSES * APPENDS
    rows = dataset.to_table().to_pylist()
    found = sorted((row["writer"], row["number"]) for row in rows)
    assert found == [(w, n) for w in range(PROCESSES) for n in range(APPENDS)]
