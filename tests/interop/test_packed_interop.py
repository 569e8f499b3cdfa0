"""Packed structs are exchanged with pylance."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_core
from tests.unit.dataset.test_packed import MARKS, check_parts, packed_table


@pytest.fixture(params=MARKS, ids=["=".join(mark) for mark in MARKS])
def table(request: pytest.FixtureRequest) -> pa.Table:
    return packed_table(request.param)


def test_packed_structs_of_pylance_are_read_whole_and_in_parts(
    tmp_path: Path, table: pa.Table
) -> None:
    uri = f"{tmp_path}/table"
    lance.write_dataset(table, uri, data_storage_version="2.0")
    check_parts(lance_core.dataset(uri), table)


def test_pylance_reads_packed_structs_of_ours(tmp_path: Path, table: pa.Table) -> None:
    uri = f"{tmp_path}/table"
    lance_core.write_dataset(table, uri)
    assert lance.dataset(uri).to_table() == table
