"""pylance reads, changes and compacts tables with all checksums, and we what it makes of them."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa

import lance_core
from tests.each_case import each_case

ROWS = 9000


def rows(start: int) -> pa.Table:
    numbers = range(start, start + ROWS)
    return pa.table(
        {
            "id": numbers,
            "text": [None if n % 7 == 0 else f"text {n % 100}" for n in numbers],
            "list": [[n] * (n % 3) for n in numbers],
        }
    )


@each_case("version", ["2.0", "2.1", "2.2"])
def test_pylance_ignores_checksums(version: str, tmp_path: Path) -> None:
    uri = str(tmp_path / "table")
    ours = lance_core.write_dataset(
        rows(0), uri, data_storage_version=version, checksums="pages", max_rows_per_file=5000
    )
    ours.create_scalar_index("id", "BTREE")
    ours.delete("id < 6000 AND id % 100 != 0 OR id = 8000")  # a bitmap and an array
    theirs = lance.dataset(uri)
    expected = [n for n in range(ROWS) if not (n < 6000 and n % 100) and n != 8000]
    assert theirs.to_table()["id"].to_pylist() == expected
    assert theirs.to_table(filter="id IN (100, 101, 8001)")["id"].to_pylist() == [100, 8001]
    lance.write_dataset(rows(ROWS), uri, mode="append")
    theirs = lance.dataset(uri)
    theirs.delete("id = 200")
    theirs.update({"text": "'new'"}, "id = 300")
    checked = lance_core.dataset(uri, verify="pages")
    _same(checked.to_table(), theirs.to_table())
    checked.delete("id = 400")
    lance.dataset(uri).optimize.compact_files(target_rows_per_fragment=100_000)
    _same(lance_core.dataset(uri, verify="pages").to_table(), lance.dataset(uri).to_table())
    assert lance.dataset(uri).read_transaction(1) is not None


def _same(ours: pa.Table, theirs: pa.Table) -> None:
    assert ours.sort_by("id") == theirs.sort_by("id")
