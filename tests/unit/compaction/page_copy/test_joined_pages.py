"""How many rows are decoded at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.datafile.column_metadata import ColumnParser
from lance_core.schema import Schema
from lance_core_compaction.page_copy import joined_pages
from lance_core_compaction.page_copy.copy_inputs import copy_inputs
from lance_core_compaction.page_copy.field_layout import field_layouts
from lance_core_compaction.page_copy.file_bytes import FileBytes
from lance_core_compaction.page_copy.joined_pages import JoinedPages, value_bytes
from lance_core_compaction.page_copy.pieces import EncodedRows, pieces_of_fields
from tests.each_case import each_case


@each_case(
    "kind, expected",
    [
        (pa.int64(), 8),
        (pa.int8(), 1),
        (pa.bool_(), 1),
        (pa.decimal128(9, 2), 16),
        (pa.binary(12), 12),
        (pa.string(), 16),
        (pa.list_(pa.int8()), 16),
    ],
)
def test_a_value_is_assumed_to_have_the_bytes_of_its_type(kind: pa.DataType, expected: int) -> None:
    (field,) = Schema.from_arrow(pa.schema({"a": kind})).fields
    assert value_bytes(field) == expected


def read(uri: str, name: str) -> list[pa.Array]:
    """The live rows of a column, window by window."""
    snapshot = lance_core.dataset(uri).snapshot
    fragments, version = list(snapshot.manifest.fragments), snapshot.storage_version
    layouts = field_layouts([f for f in snapshot.schema.fields if f.name == name], version)
    inputs = copy_inputs(snapshot, fragments, layouts, version, is_strict=False)
    parser = ColumnParser(version, 0)
    ((piece,),) = pieces_of_fields(layouts, inputs.table, inputs.rows, parser, merges=True)
    assert isinstance(piece, EncodedRows)
    content = FileBytes(inputs.table, inputs.files)
    joined = JoinedPages(inputs.table, content, version, snapshot.root.registry)
    return [array for (array,) in joined.read(layouts, [piece])]


@each_case("version", ["2.0", "2.1", "2.2"])
@each_case("gone", ["false", "i % 3 = 1", "i % 20 != 7", "i >= 150 AND i < 330"])
def test_files_are_decoded_in_windows_of_so_many_bytes(
    tmp_path: Path, version: str, gone: str
) -> None:
    uri = str(tmp_path / "t")
    for start in range(0, 600, 200):
        numbers = np.arange(start, start + 200)
        rows = pa.table({"i": numbers, "s": [f"text {n}" for n in numbers.tolist()]})
        lance_core.write_dataset(rows, uri, mode="append", data_storage_version=version)
    dataset = lance_core.dataset(uri)
    dataset.delete(gone)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined_pages, "NUMBERS_BYTES", 1200)
        patch.setattr(joined_pages, "WINDOW_BYTES", 1200)
        found = {name: read(uri, name) for name in ("i", "s")}
    if gone == "false":
        assert list(map(len, found["i"])) == [150] * 4
        assert max(map(len, found["s"])) <= 75
    for name, arrays in found.items():
        assert (
            pa.chunked_array(arrays).combine_chunks() == dataset.to_table()[name].combine_chunks()
        )
