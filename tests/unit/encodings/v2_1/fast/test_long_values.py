"""Long values are arrays of their own over the bytes of the file, or copies where they must be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.datafile import FileReader, FileWriter
from lance_core.datafile.column_map import column_of
from lance_core.datafile.file_output import FileOptions
from lance_core.encodings.arrow.ordered_rows import AnyRows, OrderedRows
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core.fast_paths import FastPaths, plain_mode
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.memory import MemoryStore, Objects

PATH = "data/x.lance"
ROWS = 12
SIZE = 110_000


def values(size: int = SIZE, *, nulls: bool = False) -> pa.Array:
    """Random bytes, one value a little longer than the one before."""
    rng = np.random.default_rng(0)
    parts = [rng.bytes(size + row) for row in range(ROWS)]
    return pa.array([None if nulls and row % 3 == 1 else parts[row] for row in range(ROWS)])


def written(column: pa.Array, version: FileVersion = FileVersion.V2_2) -> bytes:
    table = pa.table({"x": column})
    store = MemoryStore(Objects())
    options = FileOptions(version=version)
    file = FileWriter(
        store.open_writer(PATH),
        Schema.from_arrow(table.schema),
        options,
        registry=get_manager().encodings,
    )
    for batch in table.to_batches():
        file.write_batch(batch)
    file.finish()
    return store.get(PATH).to_pybytes()


def read(data: bytes, rows: AnyRows) -> pa.ChunkedArray:
    store = MemoryStore(Objects())
    store.put(PATH, data)
    file = FileReader.open(store, PATH, registry=get_manager().encodings)
    fields = file.schema.fields
    (column,) = file.read(fields, column_of(fields, file.version), rows)
    column.validate(full=True)
    return column


def is_apart(column: pa.ChunkedArray) -> bool:
    """True if each value has an array."""
    return FastPaths.is_plain or column.num_chunks == len(column)


ALL = RowRange(0, ROWS)
SOME = [
    ALL,
    RowRange(1, 11),
    RowIndices(np.array([0, 1, 2, 4, 5, 6, 7, 9, 10, 11])),
    OrderedRows(RowIndices(np.arange(1, 11)), np.array([9, 0, 0, 3, 4, 5, 2, 1, 8, 7, 6])),
]


@pytest.mark.parametrize("version", [FileVersion.V2_1, FileVersion.V2_2], ids=str)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary()], ids=str)
def test_values_are_arrays_of_their_own(
    version: FileVersion, nulls: bool, type_: pa.DataType
) -> None:
    column = values(nulls=nulls).cast(type_)
    data = written(column, version)
    for rows in SOME:
        result = read(data, rows)
        assert is_apart(result)
        assert result.type == type_
        assert result.to_pylist() == [column[row].as_py() for row in rows.numbers.tolist()]


def test_a_value_has_no_bytes_of_others() -> None:
    result = read(written(values()), ALL)
    if not FastPaths.is_plain:
        assert [chunk.get_total_buffer_size() for chunk in result.chunks] == [
            SIZE + row + 8 for row in range(ROWS)
        ]


def test_values_of_several_blocks_are_copied() -> None:
    column = values(200_000)
    assert read(written(column), ALL).to_pylist() == column.to_pylist()


def test_compressible_values_are_copied() -> None:
    lines = [f"line {number} of {row}" for row in range(ROWS) for number in range(20_000)]
    column = pa.array(["\n".join(lines[row * 20_000 :][:20_000]) for row in range(ROWS)])
    data = written(column)
    for rows in SOME:
        assert read(data, rows).to_pylist() == [column[row].as_py() for row in rows.numbers]


def test_texts_are_checked() -> None:
    column = values(nulls=True)
    data = written(column)
    text = pa.schema([pa.field("x", pa.string())])
    store = MemoryStore(Objects())
    store.put(PATH, data)
    file = FileReader.open(store, PATH, registry=get_manager().encodings)
    fields = Schema.from_arrow(text).fields
    with pytest.raises(CorruptFileError, match="not UTF-8"):
        file.read(fields, column_of(fields, file.version), ALL)


def test_a_damaged_length_is_an_error_of_both_ways() -> None:
    data = bytearray(written(values()))
    frame = data.index(b"\x28\xb5\x2f\xfd")
    data[frame - 8 : frame] = (1 << 40).to_bytes(8, "little")
    for is_plain in (False, True):
        if is_plain:
            with plain_mode(), pytest.raises(CorruptFileError):
                read(bytes(data), ALL)
        else:
            with pytest.raises(CorruptFileError):
                read(bytes(data), ALL)
