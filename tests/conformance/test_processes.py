"""Processes that share nothing but the storage commit to one table, with installed plugins too."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

import lance_core
from lance_core_testing.processes import PROCESSES, Wait, race_processes

APPENDS = 4


@dataclass(frozen=True)
class Writer:
    """Appends rows that say which process wrote them."""

    uri: str

    def __call__(self, number: int, wait: Wait) -> None:
        wait()
        with mock.patch.dict(os.environ, {"LANCE_CORE_DURABILITY": "fast"}):
            for count in range(APPENDS):
                table = pa.table({"writer": [number], "number": [count]})
                lance_core.write_dataset(table, self.uri, mode="append")


@pytest.mark.parametrize(
    "scheme", ["file", "vault", "vault+ledger", "file+ledger"], ids=lambda s: s.replace("+", "-")
)
def test_no_append_of_any_process_is_lost_or_doubled(tmp_path: Path, scheme: str) -> None:
    uri = f"{scheme}://{tmp_path}/table"
    nothing = pa.table({"writer": pa.array([], pa.int64()), "number": pa.array([], pa.int64())})
    lance_core.write_dataset(nothing, uri)
    race_processes(Writer(uri))
    dataset = lance_core.dataset(uri)
    assert dataset.version == 1 + PROCESSES * APPENDS
    rows = dataset.to_table().to_pylist()
    found = sorted((row["writer"], row["number"]) for row in rows)
    assert found == [(w, n) for w in range(PROCESSES) for n in range(APPENDS)]
