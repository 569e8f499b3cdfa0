"""Small columns of one type are decoded together: same results, fewer passes, precise errors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.datafile import FileReader, FileWriter, column_groups
from lance_core.datafile.column_map import column_of
from lance_core.datafile.file_output import FileOptions
from lance_core.encodings.arrow.ordered_rows import AnyRows
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.memory import MemoryStore, Objects
from tests.sequences import sequence

PATH = "x.lance"
ROWS = 1500
COLUMNS = 60


def _column(number: int) -> pa.Array:
    random = np.random.default_rng(number)
    values = random.integers(0, 1 << (number % 20 + 1), ROWS)
    if number % 6 == 0:
        return pa.array(values)
    if number % 6 == 1:
        return pa.array(values.astype(np.int32), mask=random.random(ROWS) < 0.2)
    if number % 6 == 2:
        return pa.array(random.random(ROWS))
    if number % 6 == 3:
        return pa.array([f"text {value}" for value in values])
    if number % 6 == 4:
        return pa.array([f"word {value % 7}" for value in values])
    return pa.array(values % 2 == 0) if number % 12 == 5 else pa.nulls(ROWS, pa.int64())


TABLE = pa.table({f"c{number}": _column(number) for number in range(COLUMNS)}).append_column(
    "list", pa.array([[number, None] for number in range(ROWS)])
)


def _written(table: pa.Table, version: FileVersion) -> bytes:
    objects = Objects()
    writer = FileWriter(
        MemoryStore(objects).open_writer(PATH),
        Schema.from_arrow(table.schema),
        FileOptions(version),
        registry=get_manager().encodings,
    )
    for batch in table.combine_chunks().to_batches():
        writer.write_batch(batch)
    writer.finish()
    return MemoryStore(objects).get(PATH).to_pybytes()


def _opened(data: bytes) -> FileReader:
    store = MemoryStore(Objects())
    store.put(PATH, data)
    return FileReader.open(store, PATH, registry=get_manager().encodings)


def _read(reader: FileReader, rows: AnyRows, names: list[str] | None = None) -> pa.Table:
    fields = [f for f in reader.schema.fields if names is None or f.name in names]
    columns = reader.read(fields, column_of(reader.schema.fields, reader.version), rows)
    return pa.table(dict(zip([field.name for field in fields], columns, strict=True)))


@pytest.mark.parametrize("version", [FileVersion.V2_1, FileVersion.V2_2])
def test_columns_that_are_decoded_together_have_their_own_values(version: FileVersion) -> None:
    reader = _opened(_written(TABLE, version))
    some = RowIndices(np.array([0, 3, 4, 1023, 1024, 1499]))
    wanted: list[AnyRows] = [
        RowRange(0, ROWS),
        RowRange(1000, 1100),
        RowRange(7, 8),
        RowRange(5, 5),
        some,
        RowIndices(np.arange(0, ROWS, 2)),
        sequence([1499, 0, 0, 3, 4, 1023, 1024]),
    ]
    for _ in range(2):
        for rows in wanted:
            numbers = rows.numbers if not isinstance(rows, RowRange) else None
            expected = (
                TABLE.slice(rows.first, len(rows)) if numbers is None else TABLE.take(numbers)
            )
            assert _read(reader, rows).equals(expected)
            some_names = TABLE.column_names[3:50]
            assert _read(reader, rows, some_names).equals(expected.select(some_names))


def test_equal_encodings_are_decoded_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({f"c{n}": pa.array(np.arange(n, n + 900)) for n in range(200)})
    reader = _opened(_written(table, FileVersion.V2_1))
    calls: list[str] = []
    decode = column_groups.decode_field

    def counted(field: object, *rest: object) -> object:
        calls.append(str(field))
        return decode(field, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(column_groups, "decode_field", counted)
    assert _read(reader, RowRange(0, 900)).equals(table)
    assert len(calls) == 1
    monkeypatch.setattr(column_groups, "_MAX_ROWS", 50 * 900)
    reader = _opened(_written(table, FileVersion.V2_1))
    assert _read(reader, RowRange(0, 900)).equals(table)
    assert len(calls) == 5


def test_a_narrow_read_and_2_0_files_have_no_groups() -> None:
    reader = _opened(_written(TABLE, FileVersion.V2_0))
    columns = column_of(reader.schema.fields, reader.version)
    groups, rest = column_groups.column_groups(
        reader.schema.fields, columns, reader.metadata.columns, reader.version
    )
    assert (groups, len(rest)) == ([], COLUMNS + 1)
    reader = _opened(_written(TABLE, FileVersion.V2_1))
    names = TABLE.column_names[: column_groups.MIN_FIELDS - 1]
    assert _read(reader, RowRange(0, ROWS), names).equals(TABLE.select(names))
    assert len(reader.metadata.columns.parsed) <= len(names)


def test_an_error_names_the_damaged_column() -> None:
    table = pa.table({f"c{n}": pa.array(np.arange(900) % 300) for n in range(60)})
    data = bytearray(_written(table, FileVersion.V2_1))
    reader = _opened(bytes(data))
    chunks = reader.metadata.columns[41].pages[0].buffers[0]
    data[chunks.start : chunks.stop] = b"\xff" * chunks.length
    with pytest.raises(CorruptFileError) as caught:
        _read(_opened(bytes(data)), RowRange(0, 900))
    assert caught.value.field == "c41"
    assert caught.value.path == PATH
