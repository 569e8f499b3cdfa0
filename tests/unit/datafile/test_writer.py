"""What is written is aligned, complete or not there at all, and never more than asked for."""

from __future__ import annotations

import struct
import weakref

import numpy as np
import pyarrow as pa
import pytest

from lance_core.datafile import FileReader, FileWriter
from lance_core.datafile.column_map import column_of
from lance_core.datafile.file_output import FileOptions
from lance_core.datafile.page_limits import page_limits
from lance_core.datafile.writer import FieldGroup
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    ObjectNotFoundError,
    SchemaMismatchError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.base import ObjectWriter
from lance_core.store.memory import MemoryStore, Objects
from tests.each_case import each_case

PATH = "data/x.lance"
VERSIONS = (FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2)
TABLE = pa.table(
    {
        "n": pa.array(range(1000), pa.int32()),
        "s": [f"text {i}" for i in range(1000)],
        "l": pa.array([[i, None] for i in range(1000)], pa.list_(pa.int64())),
        "t": [{"a": i, "b": str(i)} for i in range(1000)],
    }
)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(Objects())


def writer_of(
    store: MemoryStore,
    schema: pa.Schema,
    version: FileVersion = FileVersion.V2_2,
    **options: int,
) -> FileWriter:
    return FileWriter(
        store.open_writer(PATH),
        Schema.from_arrow(schema),
        FileOptions(version, **options),
        registry=get_manager().encodings,
    )


def read(store: MemoryStore) -> pa.Table:
    reader = FileReader.open(store, PATH, registry=get_manager().encodings)
    fields = reader.schema.fields
    columns_of_fields = column_of(fields, reader.metadata.version)
    columns = reader.read(fields, columns_of_fields, RowRange(0, reader.num_rows))
    return pa.Table.from_arrays(columns, schema=reader.schema.to_arrow())


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_written_is_read(store: MemoryStore, version: FileVersion) -> None:
    writer = writer_of(store, TABLE.schema, version)
    for batch in TABLE.to_batches(max_chunksize=300):
        writer.write_batch(batch)
    result = writer.finish()
    assert read(store).combine_chunks() == TABLE.combine_chunks()
    assert result.num_rows == writer.num_rows == 1000
    assert result.size_bytes == writer.tell() == store.head(PATH).size
    assert (result.version, result.major) == (version, 2)
    assert str(result.minor) == version.value[-1]


def groups_of(table: pa.Table, *groups: list[int]) -> list[FieldGroup]:
    def rows_of(numbers: list[int]) -> FieldGroup:
        batches = table.select(numbers).to_batches(max_chunksize=300)
        return FieldGroup(numbers, lambda: batches)

    return [rows_of(numbers) for numbers in groups]


@pytest.mark.parametrize("version", VERSIONS)
def test_groups_of_fields_are_written_one_after_the_other(
    store: MemoryStore, version: FileVersion
) -> None:
    many = {f"i{number}": np.arange(1000) * number for number in range(40)}
    table = pa.table({**many, **dict(zip(TABLE.column_names, TABLE.columns, strict=True))})
    writer = writer_of(store, table.schema, version, data_cache_bytes=0)
    last = [40, 41, 43]
    result = writer.finish_groups(groups_of(table, list(range(36)), [36, 37, 38, 39], [42], last))
    assert read(store).combine_chunks() == table.combine_chunks()
    assert result.num_rows == writer.num_rows == 1000


@pytest.mark.parametrize("version", VERSIONS[1:])  # pages of 2.0 are the given values
def test_a_group_keeps_no_batch_after_its_pages(store: MemoryStore, version: FileVersion) -> None:
    values: list[weakref.ref[np.ndarray]] = []

    def batch(number: int) -> pa.RecordBatch:
        assert all(one() is None for one in values)
        new = np.arange(1 << 16) % (number + 2)
        values.append(weakref.ref(new))
        return pa.record_batch({"a": pa.array(new)})

    writer = writer_of(store, pa.schema({"a": pa.int64()}), version, data_cache_bytes=1 << 18)
    writer.finish_groups([FieldGroup([0], lambda: map(batch, range(5)))])
    expected = np.concatenate([np.arange(1 << 16) % (number + 2) for number in range(5)])
    assert np.array_equal(read(store)["a"].to_numpy(), expected)


def test_groups_with_different_numbers_of_rows_are_refused(store: MemoryStore) -> None:
    writer = writer_of(store, TABLE.schema)
    groups = groups_of(TABLE, [0, 1]) + groups_of(TABLE.slice(1), [2, 3])
    with pytest.raises(CorruptFileError, match=r"differ in their number of rows: \[999, 1000\]"):
        writer.finish_groups(groups)
    with pytest.raises(ObjectNotFoundError):
        store.head(PATH)


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        (FileVersion.V2_0, (0, 1, 2, 3, 4, 5, 8, 9)),
        (FileVersion.V2_1, (0, 4, 5, 8, 9)),
        (FileVersion.V2_2, (0, 4, 5, 8, 9)),
    ],
)
def test_the_result_lists_every_field_that_has_a_column(
    store: MemoryStore, version: FileVersion, fields: tuple[int, ...]
) -> None:
    schema = pa.schema(
        [
            ("n", pa.int32()),
            ("l", pa.list_(pa.struct({"q": pa.list_(pa.string())}))),
            pa.field(
                "p", pa.struct({"x": pa.int32(), "y": pa.int8()}), metadata={"packed": "true"}
            ),
            pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
            ("v", pa.list_(pa.list_(pa.int8(), 2), 3)),
        ]
    )
    result = writer_of(store, schema, version).finish()
    # Ids 6 and 7 are the members of the packed struct, which is one column.
    assert result.field_ids == fields
    assert result.column_indices == tuple(range(len(fields)))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_footer_has_the_numbers_that_readers_ask_for(
    store: MemoryStore, version: FileVersion
) -> None:
    writer_of(store, TABLE.schema, version).finish()
    found = struct.unpack("<HH4s", bytes(store.get(PATH))[-8:])
    # Releases of 2024 know 2.0 by another pair.
    assert found == (*{"2.0": (0, 3), "2.1": (2, 1), "2.2": (2, 2)}[version.value], b"LANC")


@pytest.mark.parametrize("version", VERSIONS)
def test_buffers_are_aligned_and_the_space_between_is_filled(
    store: MemoryStore, version: FileVersion
) -> None:
    writer = writer_of(store, TABLE.schema, version)
    writer.write_batch(TABLE.to_batches()[0])
    assert writer.add_global_buffer(b"abc") == 1
    writer.finish()
    reader = FileReader.open(store, PATH, registry=get_manager().encodings)
    pages = [page for column in reader.metadata.columns for page in column.pages]
    buffers = [buffer for page in pages for buffer in page.buffers]
    buffers += reader.metadata.global_buffers
    assert all(buffer.start % 64 == 0 for buffer in buffers)
    raw = bytes(store.get(PATH))
    used = np.zeros(reader.metadata.global_buffers[0].start, bool)
    for buffer in buffers:
        used[buffer.start : buffer.stop] = True
    assert set(np.frombuffer(raw, np.uint8, len(used))[~used].tolist()) == {ord("H")}
    assert bytes(reader.read_global_buffer(1)) == b"abc"


def test_metadata_may_be_added_until_the_end(store: MemoryStore) -> None:
    writer = writer_of(store, pa.schema([("a", pa.int8())], metadata={"k": "old", "x": "y"}))
    writer.add_schema_metadata("k", "new")
    writer.finish()
    assert read(store).schema.metadata == {b"k": b"new", b"x": b"y"}


@pytest.mark.parametrize(("version", "size"), [(FileVersion.V2_0, 1), (FileVersion.V2_2, 64)])
def test_values_go_to_the_store_without_a_copy(version: FileVersion, size: int) -> None:
    """Of lists that are large enough to stand by themselves, from 2.1 on."""
    values = pa.array(np.arange(1 << 20))
    lists = pa.FixedSizeListArray.from_arrays(values, size)
    target = Recorder()
    writer = FileWriter(
        target,
        Schema.from_arrow(pa.schema([("n", lists.type)])),
        FileOptions(version),
        registry=get_manager().encodings,
    )
    writer.write_batch(pa.record_batch({"n": lists}))
    addresses = {pa.py_buffer(part).address for part in target.parts if len(part) > 1 << 20}
    assert addresses == {values.buffers()[1].address}


def test_rows_that_wait_for_a_page_do_not_keep_their_batch_alive() -> None:
    piece = np.random.default_rng(1).bytes(1 << 20)
    before = pa.total_allocated_bytes()
    target = Counter()
    schema = pa.schema([("wide", pa.binary()), ("flag", pa.bool_())])
    writer = FileWriter(target, Schema.from_arrow(schema), registry=get_manager().encodings)
    highest = 0
    for turn in range(40):
        starts = range(6 * turn, 6 * turn + 6)
        wide = pa.array([piece[start:] + piece[:start] for start in starts], pa.binary())
        whole = pa.record_batch({"wide": wide, "flag": pa.array([True] * 6)})
        # All buffers of a batch that comes from a stream are parts of one.
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, whole.schema) as stream:
            stream.write_batch(whole)
        writer.write_batch(next(pa.ipc.open_stream(sink.getvalue())))
        del wide, whole, sink
        highest = max(highest, pa.total_allocated_bytes() - before)
    writer.finish()
    assert target.written > 240 << 20
    assert highest < 64 << 20


def test_memory_is_bounded_by_pages_not_by_rows() -> None:
    before = pa.total_allocated_bytes()
    target = Counter()
    names = [f"c{i}" for i in range(4)]
    schema = pa.schema([(name, pa.int64()) for name in names])
    writer = FileWriter(
        target,
        Schema.from_arrow(schema),
        FileOptions(data_cache_bytes=4 << 20),
        registry=get_manager().encodings,
    )
    highest = 0
    for start in range(0, 3_000_000, 5000):
        values = pa.array(np.arange(start, start + 5000) << 40)
        writer.write_batch(pa.record_batch([values] * 4, schema=schema))
        highest = max(highest, pa.total_allocated_bytes() - before)
    assert writer.finish().num_rows == 3_000_000
    assert target.written > 80 << 20
    assert highest < 12 << 20


def test_nothing_is_there_before_the_end(store: MemoryStore) -> None:
    writer = writer_of(store, TABLE.schema)
    writer.write_batch(TABLE.to_batches()[0])
    with pytest.raises(ObjectNotFoundError):
        store.head(PATH)
    writer.abort()
    writer.abort()
    with pytest.raises(ObjectNotFoundError):
        store.head(PATH)


@pytest.mark.parametrize("end", [FileWriter.finish, FileWriter.abort])
def test_a_writer_that_has_ended_refuses_everything(store: MemoryStore, end: object) -> None:
    writer = writer_of(store, TABLE.schema)
    end(writer)  # type: ignore[operator]
    for action in (
        lambda: writer.write_batch(TABLE.to_batches()[0]),
        lambda: writer.add_global_buffer(b""),
        lambda: writer.add_schema_metadata("a", "b"),
        writer.finish,
    ):
        with pytest.raises(InvalidInputError, match="before"):
            action()
    writer.abort()


@pytest.mark.parametrize(
    "batch",
    [
        pa.record_batch({"a": pa.array([1], pa.int32())}),
        pa.record_batch({"a": pa.array([1], pa.int32()), "b": pa.array([1])}),
        pa.record_batch({"a": pa.array([1], pa.int64()), "b": pa.array(["x"])}),
        pa.record_batch({"a": pa.array([1], pa.int32()), "b": ["x"], "c": ["y"]}),
    ],
    ids=["column missing", "other type", "wider type", "column too many"],
)
def test_a_batch_that_does_not_fit_changes_nothing(
    store: MemoryStore, batch: pa.RecordBatch
) -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.string())])
    writer = writer_of(store, schema)
    with pytest.raises(SchemaMismatchError):
        writer.write_batch(batch)
    good = pa.record_batch([pa.array([7], pa.int32()), ["seven"]], schema=schema)
    writer.write_batch(good)
    assert writer.finish().num_rows == 1
    assert read(store).to_pylist() == [{"a": 7, "b": "seven"}]


def test_what_cannot_be_stored_is_refused_by_name(store: MemoryStore) -> None:
    schema = pa.schema([("where", pa.map_(pa.string(), pa.int32()))])
    with pytest.raises(UnsupportedFeatureError, match="where"):
        writer_of(store, schema, FileVersion.V2_1).finish()


@pytest.mark.parametrize("version", [FileVersion.V0_1])
def test_versions_that_cannot_be_written_are_refused(version: FileVersion) -> None:
    with pytest.raises(UnsupportedFeatureError, match=str(version)):
        FileWriter(
            Counter(),
            Schema.from_arrow(TABLE.schema),
            FileOptions(version),
            registry=get_manager().encodings,
        )


@each_case("fails_at", range(1, 30, 4))
def test_a_store_that_fails_ends_the_writer(fails_at: int) -> None:
    target = Failing(fails_at)
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    writer = FileWriter(
        target,
        Schema.from_arrow(schema),
        FileOptions(data_cache_bytes=1000),
        registry=get_manager().encodings,
    )
    batch = pa.record_batch([list(range(100)), [str(i) for i in range(100)]], schema=schema)

    def write_much() -> None:
        for _ in range(40):
            writer.write_batch(batch)

    with pytest.raises(StoreError, match="no space"):
        write_much()
    assert target.aborted
    with pytest.raises(InvalidInputError):
        writer.finish()


def test_limits_come_from_the_caller_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert page_limits(4, None, None) == page_limits(4, 32 << 20, 32 << 20)
    monkeypatch.setenv("LANCE_FILE_WRITER_MAX_PAGE_BYTES", "5000")
    monkeypatch.setenv("LANCE_DICT_ENCODING_THRESHOLD", "7")
    limits = page_limits(3, 3000, None)
    assert (limits.flush_bytes, limits.max_page_bytes, limits.dictionary_threshold) == (
        1000,
        5000,
        7,
    )
    assert page_limits(0, 10, 20).max_page_bytes == 20


@pytest.mark.parametrize("text", ["", "-1", "8MiB", "\uff11", "1_0"])
def test_limits_in_the_environment_must_be_numbers(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCE_FILE_WRITER_MAX_PAGE_BYTES", text)
    with pytest.raises(InvalidInputError, match="LANCE_FILE_WRITER_MAX_PAGE_BYTES"):
        page_limits(1, None, None)


@pytest.mark.parametrize("given", [(-1, None), (None, -1)])
def test_limits_are_not_negative(given: tuple[int | None, int | None]) -> None:
    with pytest.raises(InvalidInputError, match="negative"):
        page_limits(1, *given)


class Counter(ObjectWriter):
    """Counts bytes and keeps nothing."""

    def __init__(self) -> None:
        self.written = 0
        self.aborted = False

    def write(self, data: object) -> None:
        self.written += memoryview(data).nbytes  # type: ignore[arg-type]

    def tell(self) -> int:
        return self.written

    def close(self) -> None:
        assert not self.aborted

    def abort(self) -> None:
        self.aborted = True


class Recorder(Counter):
    """Keeps what it was given, as it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[object] = []

    def write(self, data: object) -> None:
        super().write(data)
        self.parts.append(data)


class Failing(Counter):
    """Fails at one of its writes."""

    def __init__(self, fails_at: int) -> None:
        super().__init__()
        self.left = fails_at

    def write(self, data: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise StoreError("no space")
        super().write(data)


@each_case("version", VERSIONS)
def test_pages_of_small_columns_are_written_in_few_calls(version: FileVersion) -> None:
    store = MemoryStore(Objects())
    columns = {f"c{n}": [[n, 1], [], None] for n in range(300)}
    table = pa.table(
        {name: pa.array(lists, pa.list_(pa.int64())) for name, lists in columns.items()}
    )
    writer = writer_of(store, table.schema, version)
    calls = []
    write = writer._writer.write

    def counted(data: bytes) -> None:
        calls.append(data)
        write(data)

    writer._writer.write = counted  # type: ignore[method-assign]
    for batch in table.to_batches():
        writer.write_batch(batch)
    writer.finish()
    assert len(calls) < 20
