"""Estimates of the bytes of a row."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import lance_core
from lance_core_spark.scan.row_bytes import MIN_VARIABLE_BYTES, ROW_BYTES, Width, row_bytes

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "flag": pa.bool_(),
        "point": pa.struct({"x": pa.float32(), "name": pa.string()}),
        "vector": pa.list_(pa.float16(), 24),
        "words": pa.list_(pa.string()),
    }
)


def test_the_width_of_nested_columns_is_the_sum_of_their_parts() -> None:
    widths = {field.name: Width.of([field]) for field in SCHEMA}
    assert widths["flag"] == Width(1 / 8, 0)
    assert widths["point"] == Width(4, 1)
    assert widths["vector"] == Width(48, 0)
    assert widths["words"] == Width(0, 1)
    assert Width.of(SCHEMA) == Width(8 + 1 / 8 + 4 + 48, 2)


def test_texts_share_what_numbers_leave_of_a_file(tmp_path: Path) -> None:
    table = pa.table({"id": range(100), "a": ["x" * 5000] * 100, "b": ["é" * 3000] * 100})
    dataset = lance_core.write_dataset(table, tmp_path / "t.lance", max_rows_per_file=50)
    fragments = dataset.get_fragments()

    def of(*names: str) -> list[float]:
        return row_bytes(fragments, dataset.schema, [dataset.schema.field(n) for n in names])

    assert of() == [ROW_BYTES] * 2
    assert of("id") == [ROW_BYTES + 8] * 2
    stored = [sum(f.file_size_bytes or 0 for f in one.metadata.files) / 50 for one in fragments]
    assert of("id", "a", "b") == [
        max(size, 8 + 2 * MIN_VARIABLE_BYTES) + ROW_BYTES for size in stored
    ]
    assert of("a") == of("b")
