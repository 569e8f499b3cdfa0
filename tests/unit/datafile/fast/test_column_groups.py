"""Small columns of one type are decoded together: same results, fewer passes, precise errors."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.datafile import FileReader, FileWriter
from lance_core.datafile.column_map import column_of
from lance_core.datafile.fast import column_groups
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


def _other_column(number: int) -> pa.Array:
    random = np.random.default_rng(number)
    values = random.integers(0, 1 << (number % 20 + 1), ROWS)
    mask = random.random(ROWS) < 0.2
    if number % 5 == 0:
        return pa.array(values % 2 == 0, mask=mask)
    if number % 5 == 1:
        return pa.array(values).cast(pa.decimal128(24, 2))
    if number % 5 == 2:
        return pa.array([f"text \u00e9 {value}" for value in values], mask=mask)
    if number % 5 == 3:
        return pa.array([f"word {value % 7}" for value in values], pa.large_string(), mask=mask)
    return pa.array([b"x" * (value % 9) for value in values.tolist()], pa.binary())


def _same_column(number: int) -> pa.Array:
    """One value in all rows, or in all that are not null; or no value."""
    values = [
        (number, pa.int32()),
        (-0.0, pa.float64()),
        (number % 4 == 1, pa.bool_()),
        (Decimal(number), pa.decimal128(24, 2)),
        ("text \u00e9" * (number % 3), pa.string()),
        (b"x" * number, pa.large_binary()),
        (b"abc", pa.binary(3)),
        (None, pa.null()),
        (None, pa.string()),
        (None, pa.bool_()),
    ]
    value, type_ = values[number % len(values)]
    some = [None if number > 30 and row % 7 == number % 7 else value for row in range(ROWS)]
    return pa.array(some, type_)


def _nested_column(number: int) -> pa.Array:
    random = np.random.default_rng(number)
    values = random.integers(0, 1 << (number % 20 + 1), 3 * ROWS)
    texts = pa.array([f"text {value}" for value in values.tolist()])
    edges = np.sort(random.integers(0, 3 * ROWS, ROWS + 1)).astype(np.int32)
    nulls = random.random(ROWS) < 0.2
    if number % 6 == 0:
        return pa.ListArray.from_arrays(edges, pa.array(values))
    if number % 6 == 1:
        return pa.LargeListArray.from_arrays(
            edges.astype(np.int64), texts, mask=pa.array(nulls), type=pa.large_list(pa.string())
        )
    if number % 6 == 2:
        whole = pa.array(values[:ROWS], mask=nulls)
        return pa.StructArray.from_arrays(
            [whole, texts[:ROWS]], ["a", "b"], mask=pa.array(nulls[::-1])
        )
    if number % 6 == 3:
        inner = pa.StructArray.from_arrays([values, texts], ["a", "b"])
        return pa.ListArray.from_arrays(edges, inner)
    if number % 6 == 4:
        half = np.append(np.arange(0, ROWS, 2), ROWS).astype(np.int32)
        lists = pa.ListArray.from_arrays(edges, pa.array(values.astype(np.int16)))
        rows = pa.ListArray.from_arrays(half, lists)
        return pa.concat_arrays([rows, rows])
    return pa.FixedSizeListArray.from_arrays(pa.array(values.astype(np.float32)), 3)


TABLE = pa.table({f"c{number}": _column(number) for number in range(COLUMNS)}).append_column(
    "list", pa.array([[number, None] for number in range(ROWS)])
)
OTHER = pa.table({f"c{number}": _other_column(number) for number in range(COLUMNS)})
SAME = pa.table({f"c{number}": _same_column(number) for number in range(COLUMNS)})
NESTED = pa.table({f"c{number}": _nested_column(number) for number in range(COLUMNS)})
VERSIONS = [FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2]


class Remote(MemoryStore):
    """A store that returns a buffer of its own for each range."""

    coalesce_gap = 1 << 14
    has_views = False

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        # One byte more before each: the buffers are not aligned.
        found = super().get_ranges(path, ranges)
        return [pa.py_buffer(b" " + one.to_pybytes()).slice(1) for one in found]


def _written(table: pa.Table, version: FileVersion, max_page_bytes: int | None = None) -> bytes:
    objects = Objects()
    writer = FileWriter(
        MemoryStore(objects).open_writer(PATH),
        Schema.from_arrow(table.schema),
        FileOptions(version, max_page_bytes=max_page_bytes),
        registry=get_manager().encodings,
    )
    for batch in table.combine_chunks().to_batches():
        writer.write_batch(batch)
    writer.finish()
    return MemoryStore(objects).get(PATH).to_pybytes()


@functools.cache
def _written_table(name: str, version: FileVersion) -> tuple[pa.Table, bytes]:
    """The columns of one of `TABLES` that a version can store, and their file."""
    table = TABLES[name]
    if version is FileVersion.V2_0:  # it cannot store structs that are null
        table = table.select([f.name for f in table.schema if not pa.types.is_struct(f.type)])
    return table, _written(table, version)


def _opened(data: bytes, store: MemoryStore | None = None) -> FileReader:
    store = MemoryStore(Objects()) if store is None else store
    store.put(PATH, data)
    return FileReader.open(store, PATH, registry=get_manager().encodings)


def _read(reader: FileReader, rows: AnyRows, names: list[str] | None = None) -> pa.Table:
    fields = [f for f in reader.schema.fields if names is None or f.name in names]
    columns = reader.read(fields, column_of(reader.schema.fields, reader.version), rows)
    return pa.table(dict(zip([field.name for field in fields], columns, strict=True)))


TABLES = {"common": TABLE, "other": OTHER, "same": SAME, "nested": NESTED}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("store", [MemoryStore, Remote])
def test_columns_that_are_decoded_together_have_their_own_values(
    version: FileVersion,
    name: str,
    store: type[MemoryStore],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def decode_field(*_: object) -> None:
        raise AssertionError("columns of a group are decoded alone")

    monkeypatch.setattr(column_groups, "decode_field", decode_field)
    monkeypatch.setattr(column_groups, "_MAX_PART_ROWS", ROWS)
    table, file = _written_table(name, version)
    reader = _opened(file, store(Objects()))
    some = RowIndices(np.array([0, 3, 4, 1023, 1024, 1499]))
    selections: list[AnyRows] = [
        RowRange(0, ROWS),
        RowRange(1000, 1100),
        RowRange(3, ROWS // 5 - 9),
        RowRange(ROWS // 3, ROWS),
        RowRange(7, 8),
        RowRange(5, 5),
        some,
        RowIndices(np.arange(0, ROWS, 2)),
        sequence([1499, 0, 0, 3, 4, 1023, 1024]),
    ]
    expected = [
        table.slice(rows.first, len(rows))
        if isinstance(rows, RowRange)
        else table.take(rows.numbers)
        for rows in selections
    ]
    some_names = table.column_names[3:50]
    for turn in range(2):
        for number, (rows, same) in enumerate(zip(selections, expected, strict=True)):
            # Each selection once of all columns and once of some, in one order or the other.
            names = some_names if (turn + number) % 2 else table.column_names
            found = _read(reader, rows, names)
            found.validate(full=True)
            assert found.equals(same.select(names))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("store", [MemoryStore, Remote])
def test_few_rows_of_few_alike_columns_have_any_order(
    version: FileVersion, store: type[MemoryStore]
) -> None:
    columns = {
        f"list {number}": pa.array([[n, number] for n in range(900)]) for number in range(40)
    }
    for number in range(4):
        nulls = np.arange(900) % 10 == number
        columns[f"{number}"] = pa.array(np.arange(900) / 7, mask=nulls)
        columns[f"text {number}"] = pa.array([f"{n * 13} {number}" for n in range(900)], mask=nulls)
    table = pa.table(columns)
    reader = _opened(_written(table, version), store(Objects()))
    for numbers in ([899, 5], [5, 899, 17], [3, 3], [8, 0, 8, 1]):
        assert _read(reader, sequence(numbers)).equals(table.take(numbers))


@pytest.mark.fast_path
@pytest.mark.parametrize("version", VERSIONS)
def test_equal_encodings_are_decoded_in_one_pass(
    version: FileVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.arange(900)
    table = pa.table({f"c{n}": pa.array(rows + n, mask=rows == n) for n in range(200)})
    reader = _opened(_written(table, version))
    calls: list[str] = []
    decode = column_groups.decode_columns

    def counted(field: object, *rest: object) -> object:
        calls.append(str(field))
        return decode(field, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(column_groups, "decode_columns", counted)
    assert _read(reader, RowRange(0, 900)).equals(table)
    assert len(calls) == 1
    monkeypatch.setattr(column_groups, "_MAX_ROWS", 50 * 900)
    reader = _opened(_written(table, version))
    assert _read(reader, RowRange(0, 900)).equals(table)
    assert len(calls) == 5
    assert not reader.metadata.columns.parsed


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_nested_fields_of_one_type_are_a_group(version: FileVersion) -> None:
    table = NESTED.select([f"c{number}" for number in range(COLUMNS) if number % 6 < 5])
    few = NESTED.select(["c18", "c19", "c12", "c18", "c12"]).rename_columns(list("abcde"))
    groups, rest = _groups(_opened(_written(few, version)))
    assert [group.positions for group in groups] == [(0, 2, 3, 4)]
    assert rest == [1]
    groups, rest = _groups(_opened(_written(table, version)))
    assert len(rest) <= 6
    for group in groups:
        assert len({field.storage_type for field in group.fields}) == 1


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_large_part_of_nested_fields_is_read_alone(
    version: FileVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode_columns(*_: object) -> None:
        raise AssertionError("fields are decoded together")

    monkeypatch.setattr(column_groups, "decode_columns", decode_columns)
    table = NESTED.select([f"c{number}" for number in range(0, COLUMNS, 6)])
    found = _read(_opened(_written(table, version)), RowRange(100, 1400))
    assert found.equals(table.slice(100, 1300))


def test_numbers_of_2_0_files_in_memory_are_not_copied() -> None:
    table = pa.table({f"c{n}": pa.array(np.arange(n, n + 900)) for n in range(200)})
    reader = _opened(_written(table, FileVersion.V2_0))
    before = pa.total_allocated_bytes()
    found = _read(reader, RowRange(100, 900))
    assert pa.total_allocated_bytes() - before < table.nbytes // 10
    assert found.equals(table.slice(100))


def test_large_pages_of_2_0_files_are_decoded_alone_if_they_are_copied() -> None:
    columns = {f"c{n}": pa.array(np.arange(70_000), mask=np.arange(70_000) == n) for n in range(40)}
    reader = _opened(_written(pa.table(columns), FileVersion.V2_0))
    assert _groups(reader) == ([], list(range(40)))


def _groups(reader: FileReader) -> tuple[list[column_groups.ColumnGroup], list[int]]:
    columns = column_of(reader.schema.fields, reader.version)
    fields, context = reader.schema.fields, reader._context
    return column_groups.column_groups(fields, columns, reader.metadata, context)


@pytest.mark.parametrize("version", VERSIONS)
def test_columns_with_several_pages_are_in_no_group(version: FileVersion) -> None:
    random = np.random.default_rng(1)
    types = [np.int8 if n % 2 else np.int64 for n in range(40)]
    columns = {f"c{n}": random.integers(-99, 99, 900, type_) for n, type_ in enumerate(types)}
    table = pa.table(columns)
    reader = _opened(_written(table, version, 1 << 12))
    (group,), rest = _groups(reader)
    assert group.positions == tuple(range(1, 40, 2))
    assert rest == list(range(0, 40, 2))
    assert _read(reader, RowRange(3, 900)).equals(table.slice(3))


class Counting(MemoryStore):
    """Counts the calls for ranges."""

    calls = 0

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        self.calls += 1
        return super().get_ranges(path, ranges)


@pytest.mark.parametrize("version", VERSIONS)
def test_few_rows_of_few_columns_are_requested_together(version: FileVersion) -> None:
    numbers = np.arange(70_000)
    table = pa.table({f"c{n}": numbers + n for n in range(20)})
    store = Counting(Objects())
    reader = _opened(_written(table, version), store)
    some = RowIndices(np.array([3, 5]))
    _read(reader, some)
    store.calls = 0
    assert _read(reader, some).equals(table.take([3, 5]))
    assert store.calls == 1
    assert _read(reader, RowRange(0, len(numbers))).equals(table)
    assert store.calls > 20


def test_a_narrow_read_has_no_groups() -> None:
    reader = _opened(_written(TABLE, FileVersion.V2_1))
    names = TABLE.column_names[: column_groups.MIN_FIELDS - 1]
    assert _read(reader, RowRange(0, ROWS), names).equals(TABLE.select(names))
    assert len(reader.metadata.columns.parsed) <= len(names)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_an_error_names_the_damaged_part_of_a_field(version: FileVersion) -> None:
    table = NESTED.select([f"c{number}" for number in range(3, COLUMNS, 6)])
    data = bytearray(_written(table, version))
    reader = _opened(bytes(data))
    assert not _groups(reader)[1]
    chunks = reader.metadata.columns[7].pages[0].buffers[1]
    data[chunks.start : chunks.stop] = b"\xff" * chunks.length
    with pytest.raises(CorruptFileError) as caught:
        _read(_opened(bytes(data)), RowRange(0, ROWS))
    assert caught.value.field == "c21.item.b"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("step", [1, 0], ids=["different", "same"])
def test_an_error_names_the_damaged_column(version: FileVersion, step: int) -> None:
    rows = step * np.arange(900)
    table = pa.table({f"c{n}": (rows + n).astype(str) for n in range(60)})
    data = bytearray(_written(table, version))
    reader = _opened(bytes(data))
    chunks = reader.metadata.columns[41].pages[0].buffers[0]
    data[chunks.start : chunks.stop] = b"\xff" * chunks.length
    with pytest.raises(CorruptFileError) as caught:
        _read(_opened(bytes(data)), RowRange(0, 900))
    assert caught.value.field == "c41"
    assert caught.value.path == PATH
