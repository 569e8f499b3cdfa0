"""Uses a table for real: a program for environments that have nothing but a distribution.

``python table.py URI OPTIONS``, where the options are JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any

import pyarrow as pa

import lance_core as lance

ABSENT = ("pandas", "lance", "pytest", "hypothesis")


def rows(start: int, stop: int) -> pa.Table:
    """Rows with numbers, texts, dictionaries, lists and times."""
    numbers = range(start, stop)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "text": [f"row {number}" for number in numbers],
            "kind": pa.array([f"kind {number % 7}" for number in numbers]).dictionary_encode(),
            "numbers": [[number, None] for number in numbers],
            "at": pa.array(numbers, pa.timestamp("us", "UTC")),
            "vector": pa.array([[number] * 4 for number in numbers], pa.list_(pa.float32(), 4)),
        }
    )


def main(uri: str, options: dict[str, Any]) -> None:
    """Write, append, index, filter, update, merge, delete, compact; raises if a value is wrong."""
    present = [name for name in ABSENT if importlib.util.find_spec(name)]
    assert not present, present
    lance.write_dataset(rows(0, 1000), uri, storage_options=options)
    lance.write_dataset(rows(1000, 2000), uri, mode="append", storage_options=options)
    table = lance.dataset(uri, storage_options=options)
    assert table.to_table().sort_by("id")["text"].equals(rows(0, 2000)["text"])
    if importlib.util.find_spec("lance_core_indices"):
        for column, kind in (("id", "BTREE"), ("text", "BITMAP"), ("at", "ZONEMAP")):
            table.create_scalar_index(column, kind)
    assert table.count_rows("id IN (3, 1500) AND text LIKE 'row%'") == 2
    assert table.count_rows("kind = 'kind 3'") == 286
    table.update({"text": "text || '!'"}, where="id < 10")
    merged = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merged.execute(rows(1990, 2010))
    table = lance.dataset(uri, storage_options=options)
    table.delete("id >= 20 AND id < 30")
    table.add_columns({"double": "id * 2"})
    table.optimize.optimize_indices()
    if importlib.util.find_spec("lance_core_compaction"):
        assert table.optimize.compact_files().fragments_removed >= 2
    table = lance.dataset(uri, storage_options=options)
    assert table.count_rows() == 2000
    found = table.to_table(["id", "text", "double"], filter="id < 12 OR id = 2009").sort_by("id")
    assert found["id"].to_pylist() == [*range(12), 2009]
    texts = [*(f"row {number}!" for number in range(10)), "row 10", "row 11", "row 2009"]
    assert found["text"].to_pylist() == texts
    assert found["double"].to_pylist() == [2 * number for number in (*range(12), 2009)]
    sys.stdout.write(f"version {table.version}\n")


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
