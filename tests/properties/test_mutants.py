"""No damage to a data file does worse than an error that says so.

Each mutant of a file of our own either reads as Arrow data that validates, or raises a
`LanceError`; quickly, and in little memory.
"""

from __future__ import annotations

import random
import resource
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding
from lance_core._pb.file2_pb2 import ColumnMetadata
from lance_core._pb.file_pb2 import FileDescriptor
from lance_core.datafile import FileReader, FileWriter
from lance_core.datafile.column_map import column_of
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.errors import LanceError
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.memory import MemoryStore, Objects
from lance_core.testing.mutants import Mutant, Mutation, mutants, mutate_message

COUNT = 2000
"""Mutants of all files together."""

SECONDS = 2.0
"""Of the processor, for all that is done with one mutant."""
MIB = 1 << 20
MEMORY = 64 * MIB
PATH = "x.lance"
FOOTER = struct.Struct("<QQQIIHH4s")
ENTRY = struct.Struct("<QQ")


def flat(rows: int) -> pa.Table:
    numbers = np.arange(rows)
    return pa.table(
        {
            "int": pa.array(numbers, pa.int32()),
            "gap": pa.array(numbers / 3, mask=numbers % 4 == 1),
            "flag": pa.array(numbers % 3 == 0, mask=numbers % 7 == 1),
            "text": [None if i % 5 == 2 else f"text {i}" for i in range(rows)],
            "bytes": pa.array([bytes([i % 250]) * (i % 9) for i in range(rows)], pa.large_binary()),
            "few": [f"kind {i % 4}" if i % 6 else None for i in range(rows)],
            "day": pa.array([date(2020, 1, 1 + i % 28) for i in range(rows)]),
            "when": pa.array(numbers, pa.timestamp("us", "UTC")),
            "fixed": pa.array([bytes([i % 250]) * 5 for i in range(rows)], pa.binary(5)),
            "none": pa.nulls(rows, pa.int64()),
            "null": pa.nulls(rows),
            "key": pa.array(
                [None if i % 8 == 3 else f"k{i % 3}" for i in range(rows)]
            ).dictionary_encode(),
        }
    )


def nested(rows: int) -> pa.Table:
    numbers = [None if i % 5 == 1 else [i, None, 2][: i % 4] for i in range(rows)]
    members = [{"a": i, "b": f"b{i}", "l": [f"x{i}"] * (i % 3)} for i in range(rows)]
    vectors = [None if i % 4 == 1 else [i, None, 1.5] for i in range(rows)]
    packed = pa.struct({"x": pa.int32(), "y": pa.float64()})
    fields = {
        "list": pa.array(numbers, pa.list_(pa.int16())),
        "texts": pa.array([["a", None, f"{i}"][: i % 4] for i in range(rows)]),
        "deep": pa.array([[[i], [], None][: i % 4] for i in range(rows)]),
        "struct": pa.array(members),
        "structs": pa.array([[{"q": i, "r": "s"}] * (i % 3) for i in range(rows)]),
        "vector": pa.array(vectors, pa.list_(pa.float32(), 3)),
        "matrix": pa.array(
            [[[1, 2], [i % 9, 2]] for i in range(rows)], pa.list_(pa.list_(pa.int8(), 2), 2)
        ),
        "packed": pa.array([{"x": i, "y": i / 2} for i in range(rows)], packed),
        "blob": pa.array(
            [None if i % 3 == 1 else b"b" * i for i in range(rows)], pa.large_binary()
        ),
        "zstd": pa.array([f"compress {i % 5}" for i in range(rows)]),
        "lz4": pa.array([f"compress {i % 5}" for i in range(rows)]),
    }
    metadata = {
        "packed": {"packed": "true"},
        "blob": {"lance-encoding:blob": "true"},
        "zstd": {"lance-encoding:compression": "zstd"},
        "lz4": {"lance-encoding:compression": "lz4"},
    }
    schema = pa.schema(
        [
            pa.field(name, values.type, metadata=metadata.get(name))
            for name, values in fields.items()
        ]
    )
    return pa.table(list(fields.values()), schema=schema)


def written(table: pa.Table, **options: int) -> bytes:
    store = MemoryStore(Objects())
    writer = FileWriter(
        store.open_writer(PATH),
        Schema.from_arrow(table.schema),
        registry=get_manager().encodings,
        **options,
    )
    for batch in table.to_batches(max_chunksize=50):
        writer.write_batch(batch)
    writer.finish()
    return bytes(store.get(PATH))


FILES: dict[str, Callable[[], bytes]] = {
    "flat": lambda: written(flat(130)),
    "flat, many pages": lambda: written(flat(150), data_cache_bytes=12 * 300),
    "nested": lambda: written(nested(60)),
    "nested, many pages": lambda: written(nested(100), data_cache_bytes=11 * 200),
}


class Parsed:
    """A good file taken apart, so that its metadata can be changed and put together again."""

    def __init__(self, data: bytes) -> None:
        (_, columns, buffers, num_buffers, _, *_) = FOOTER.unpack(data[-FOOTER.size :])
        self.footer = data[-FOOTER.size :]
        self.column_table = list(ENTRY.iter_unpack(data[columns:buffers]))
        end = buffers + num_buffers * ENTRY.size
        self.global_table = list(ENTRY.iter_unpack(data[buffers:end]))
        position, length = self.global_table[0]
        self.data = data[:position]
        self.descriptor = FileDescriptor.FromString(data[position : position + length])
        self.columns = [
            ColumnMetadata.FromString(data[position : position + length])
            for position, length in self.column_table
        ]

    def build(self) -> bytes:
        descriptor = self.descriptor.SerializeToString()
        position = start = len(self.data) + len(descriptor)
        columns = [column.SerializeToString() for column in self.columns]
        table = []
        for column in columns:
            table.append(ENTRY.pack(position, len(column)))
            position += len(column)
        buffers = [(len(self.data), len(descriptor)), *self.global_table[1:]]
        footer = list(FOOTER.unpack(self.footer))
        footer[:5] = [
            start,
            position,
            position + len(table) * ENTRY.size,
            len(buffers),
            len(columns),
        ]
        tables = [*table, *(ENTRY.pack(*one) for one in buffers)]
        return b"".join([self.data, descriptor, *columns, *tables, FOOTER.pack(*footer)])


def change_schema(data: bytes, chance: random.Random) -> Mutant:
    parsed = Parsed(data)
    kind = mutate_message(parsed.descriptor, chance)
    return Mutant(f"description: {kind}", parsed.build())


def change_column(data: bytes, chance: random.Random) -> Mutant:
    parsed = Parsed(data)
    number = chance.randrange(len(parsed.columns))
    kind = mutate_message(parsed.columns[number], chance)
    return Mutant(f"columns[{number}]: {kind}", parsed.build())


def change_encoding(data: bytes, chance: random.Random) -> Mutant:
    parsed = Parsed(data)
    number = chance.randrange(len(parsed.columns))
    column = parsed.columns[number]
    owner, message_type = column, ColumnEncoding
    if column.pages and chance.random() < 0.95:
        owner, message_type = chance.choice(column.pages), ArrayEncoding
    kind = change_any(owner.encoding.direct, message_type, chance)
    return Mutant(f"columns[{number}] encoding: {kind}", parsed.build())


def change_any(direct: Any, message_type: type[Message], chance: random.Random) -> str:
    stored = AnyMessage.FromString(direct.encoding)
    message = message_type.FromString(stored.value)
    kind = mutate_message(message, chance)
    stored.value = message.SerializeToString()
    direct.encoding = stored.SerializeToString()
    return kind


def swap_columns(data: bytes, chance: random.Random) -> Mutant:
    parsed = Parsed(data)
    one, other = chance.sample(range(len(parsed.columns)), 2)
    parsed.columns[one], parsed.columns[other] = parsed.columns[other], parsed.columns[one]
    return Mutant(f"columns {one} and {other} swapped", parsed.build())


def change_table(data: bytes, chance: random.Random) -> Mutant:
    """Another entry in one of the tables of offsets, or another number in the footer."""
    _, columns, _, _, _, *_ = FOOTER.unpack(data[-FOOTER.size :])
    place = chance.randrange(columns, len(data) - 8)
    place -= (place - columns) % 8
    (old,) = struct.unpack_from("<Q", data, place)
    new = chance.choice(
        [0, 1, old + 1, old - 1, old * 2, len(data), 1 << 63, chance.getrandbits(40)]
    )
    changed = bytearray(data)
    struct.pack_into("<Q", changed, place, new % (1 << 64))
    return Mutant(f"number at {place} = {new}", bytes(changed))


PARTS = (RowRange(3, 17), RowIndices(np.array([0, 2, 3, 40])))

AWARE: tuple[Mutation, ...] = (
    change_schema,
    change_column,
    change_encoding,
    swap_columns,
    change_table,
)


def uses(raw: bytes, description: Schema) -> Iterator[Callable[[], object]]:
    """Everything that is done with a mutant; each may raise a `LanceError`."""
    store = MemoryStore(Objects())
    store.put(PATH, raw)
    reader = FileReader.open(store, PATH, registry=get_manager().encodings)
    # By the schema in the file, and by the one that a table's manifest would have.
    schemas = [description]
    try:
        reader.schema.to_arrow()
        if reader.schema != description:
            schemas.append(reader.schema)
    except LanceError:
        pass
    for schema in schemas:
        mapping = column_of(schema.fields)
        for field in schema.fields:
            for rows in (None, PARTS[zlib.crc32(raw) % 2]):
                yield lambda f=field, m=mapping, r=rows: checked(reader, f, m, r)


def checked(reader: FileReader, field: Any, mapping: dict[int, int], rows: Any) -> None:
    # A file may honestly hold more rows of nothing but nulls than fit into memory.
    rows = rows or RowRange(0, min(reader.num_rows, 1000))
    (column,) = reader.read([field], mapping, rows)
    column.validate(full=True)
    assert len(column) == len(rows)
    assert column.type == field.storage_type


def outcome(mutant: Mutant, schema: Schema) -> str:
    try:
        tries = list(uses(mutant.data, schema))
    except LanceError:
        return "not opened"
    errors = 0
    for use in tries:
        try:
            use()
        except LanceError:
            errors += 1
    return "errors" if errors else "read"


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("name", FILES)
def test_a_mutant_reads_as_valid_data_or_raises_an_error(name: str) -> None:
    data = FILES[name]()
    assert Parsed(data).build() == data
    store = MemoryStore(Objects())
    store.put(PATH, data)
    schema = FileReader.open(store, PATH, registry=get_manager().encodings).schema
    assert outcome(Mutant("none", data), schema) == "read"
    outcomes: dict[str, int] = {}
    before = peak_memory()
    for mutant in mutants(data, COUNT // len(FILES), seed=len(name), extra=AWARE, hot=4000):
        start = time.process_time()
        try:
            found = outcome(mutant, schema)
        except BaseException as error:
            raise AssertionError(f"{mutant.kind}: {error!r}") from error
        outcomes[found] = outcomes.get(found, 0) + 1
        assert time.process_time() - start < SECONDS, mutant.kind
        assert peak_memory() - before < MEMORY, mutant.kind
    # The damage is neither trivial nor hopeless.
    assert min(outcomes.get(kind, 0) for kind in ("not opened", "errors", "read")) > COUNT // 100
