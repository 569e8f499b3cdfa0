"""The metadata of a file costs few requests, and is refused where it contradicts itself."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lance_core._pb import file_pb2
from lance_core.byte_ranges import ByteRange
from lance_core.datafile.footer import FOOTER_LENGTH
from lance_core.datafile.metadata import MAX_DESCRIPTION, FileMetadata, read_metadata
from lance_core.datafile.tail import TAIL_LENGTH, Tail
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core.store.memory import MemoryStore, Objects
from lance_core_testing.stores.tracing import Trace, TracingStore

Parts = Callable[..., Any]
PATH = "data/x.lance"


def opened(raw: bytes) -> tuple[FileMetadata, Trace]:
    store = TracingStore(MemoryStore(Objects()))
    store.put(PATH, raw)
    with store.measure() as trace:
        metadata = read_metadata(Tail(store, PATH, len(raw)))
    return metadata, trace


def test_metadata_says_what_the_file_holds(file_parts: Parts) -> None:
    parts = file_parts(columns=3, pages=2)
    raw = parts.build()
    metadata, _ = opened(raw)
    assert metadata.version is FileVersion.V2_0
    assert metadata.size == len(raw)
    assert metadata.num_rows == 20
    assert metadata.schema.names == ["c0", "c1", "c2"]
    assert len(metadata.columns) == 3
    assert [column.num_rows for column in metadata.columns] == [20, 20, 20]
    assert metadata.columns[2].pages[1].buffers == (ByteRange(5 * 64, 5 * 64 + 40),)
    start = len(parts.data)
    assert metadata.global_buffers == (ByteRange(start, start + len(parts.descriptor)),)
    assert metadata.num_data_bytes == len(parts.data)
    assert metadata.num_global_buffer_bytes == len(parts.descriptor)
    assert metadata.num_column_metadata_bytes == sum(map(len, parts.columns)) + 3 * 16


def test_a_small_file_is_one_request(file_parts: Parts) -> None:
    raw = file_parts().build()
    _, trace = opened(raw)
    assert trace.round_trips == 1
    assert trace.bytes_read == len(raw)


def test_of_a_large_file_only_the_end_is_read(file_parts: Parts) -> None:
    parts = replace(file_parts(columns=2), data=bytes(1 << 20))
    metadata, trace = opened(parts.build())
    assert metadata.num_rows == 20
    assert (trace.round_trips, trace.bytes_read) == (1, TAIL_LENGTH)


def test_much_metadata_is_two_requests(file_parts: Parts) -> None:
    raw = file_parts(columns=1000).build()
    metadata, trace = opened(raw)
    assert len(metadata.columns) == 1000
    assert trace.round_trips == 2
    assert trace.bytes_read <= len(raw) + TAIL_LENGTH


def test_tables_longer_than_the_tail_are_three_requests(file_parts: Parts) -> None:
    metadata, trace = opened(file_parts(columns=5000, pages=1).build())
    assert metadata.columns[4999].pages[0].buffers[0].start == 4999 * 64
    assert trace.round_trips == 3


def test_only_columns_that_are_asked_for_are_parsed(file_parts: Parts) -> None:
    parts = file_parts(columns=2)
    parts.columns[1] = b"\xff" * len(parts.columns[1])
    metadata, _ = opened(parts.build())
    assert metadata.columns[0].num_rows == 20
    with pytest.raises(CorruptFileError, match=r"columns\[1\]"):
        metadata.columns[1]


def test_a_column_is_parsed_once(file_parts: Parts) -> None:
    metadata, _ = opened(file_parts().build())
    assert metadata.columns[1] is metadata.columns[1]
    assert metadata.columns[:] == [metadata.columns[0], metadata.columns[1]]


@pytest.mark.parametrize("index", [-1, 2, 1 << 40])
def test_a_column_that_is_not_there_is_an_index_error(file_parts: Parts, index: int) -> None:
    metadata, _ = opened(file_parts(columns=2).build())
    with pytest.raises(IndexError):
        metadata.columns[index]


def test_pages_say_how_long_a_file_is_that_does_not_say_it(file_parts: Parts) -> None:
    metadata, _ = opened(file_parts(columns=2, pages=3, length=0).build())
    assert metadata.num_rows == 30


def test_a_file_without_columns_has_the_length_it_says(file_parts: Parts) -> None:
    metadata, _ = opened(file_parts(columns=0, length=7).build())
    assert (metadata.num_rows, len(metadata.columns)) == (7, 0)


def test_a_damaged_schema_does_not_stop_reading_columns(file_parts: Parts) -> None:
    parts = file_parts()
    descriptor = file_pb2.FileDescriptor.FromString(parts.descriptor)
    descriptor.schema.fields[1].id = descriptor.schema.fields[0].id
    metadata, _ = opened(replace(parts, descriptor=descriptor.SerializeToString()).build())
    assert metadata.columns[0].num_rows == 20
    with pytest.raises(CorruptFileError, match="used twice"):
        _ = metadata.schema


def start_of_columns(parts: Any) -> int:
    return len(parts.data) + len(parts.descriptor)


HUGE = (1 << 64) - 1
FAR = 1 << 62


def column_table(change: Callable[[list[tuple[int, int]], Any], object]) -> Any:
    def damage(parts: Any) -> Any:
        start = start_of_columns(parts)
        table = [(start, len(parts.columns[0]))]
        table.append((start + len(parts.columns[0]), len(parts.columns[1])))
        change(table, parts)
        return replace(parts, column_table=table)

    return damage


def global_table(*entries: tuple[int, int]) -> Any:
    return lambda parts: replace(parts, global_table=list(entries))


AT_OPEN = {
    "description is no message": lambda parts: replace(parts, descriptor=b"\xff\xff"),
    "description beyond the file": global_table((FAR, 10)),
    "description's end overflows": global_table((HUGE, HUGE)),
    "description in the column metadata": global_table((256, 400)),
    "description is absurdly long": lambda parts: replace(
        parts,
        data=bytes(MAX_DESCRIPTION + 64),
        global_table=[(0, MAX_DESCRIPTION + 1)],
    ),
    "second buffer beyond the file": lambda parts: replace(
        parts, global_table=[(len(parts.data), len(parts.descriptor)), (FAR, 1)]
    ),
    "data taken for column metadata": lambda parts: replace(
        parts, footer=lambda footer: replace(footer, column_metadata=0).to_bytes()
    ),
    "column metadata much larger than columns": lambda parts: replace(
        parts,
        columns=[parts.columns[0], parts.columns[1] + bytes(1000)],
        column_table=[(start_of_columns(parts), 1), (start_of_columns(parts), 1)],
    ),
}


@pytest.mark.parametrize("damage", AT_OPEN.values(), ids=AT_OPEN)
def test_damage_is_noticed_when_the_file_is_opened(file_parts: Parts, damage: Any) -> None:
    with pytest.raises(CorruptFileError):
        opened(damage(file_parts()).build())


AT_USE = {
    "before the column metadata": column_table(lambda t, p: t.__setitem__(1, (0, t[1][1]))),
    "over the tables": column_table(lambda t, p: t.__setitem__(1, (t[1][0] + 1, t[1][1]))),
    "beyond the file": column_table(lambda t, p: t.__setitem__(1, (FAR, t[1][1]))),
    "absurdly long": column_table(lambda t, p: t.__setitem__(1, (t[1][0], HUGE))),
}


@pytest.mark.parametrize("damage", AT_USE.values(), ids=AT_USE)
def test_a_column_described_outside_of_the_metadata_is_refused(
    file_parts: Parts, damage: Any
) -> None:
    metadata, _ = opened(damage(file_parts()).build())
    with pytest.raises(CorruptFileError, match=r"columns\[1\]") as caught:
        metadata.columns[1]
    assert caught.value.offset is not None


def test_truncation_at_any_length_is_noticed(file_parts: Parts) -> None:
    raw = file_parts().build()
    for length in range(len(raw)):
        with pytest.raises(CorruptFileError):
            opened(raw[:length])


def test_absurd_counts_cost_nothing(file_parts: Parts) -> None:
    raw = file_parts().build()
    for offset in (24, 28):
        forged = bytearray(raw)
        struct.pack_into("<I", forged, len(raw) - FOOTER_LENGTH + offset, 0xFFFFFFFF)
        with pytest.raises(CorruptFileError, match=r"footer\.num"):
            opened(bytes(forged))
