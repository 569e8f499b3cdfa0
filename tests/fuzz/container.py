"""A good data file taken apart, so that its metadata can be changed and put together again."""

from __future__ import annotations

import random
import struct
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message

from lance_core._pb.file2_pb2 import ColumnMetadata
from lance_core._pb.file_pb2 import FileDescriptor
from lance_core_testing.mutants import Mutant, mutate_message

FOOTER = struct.Struct("<QQQIIHH4s")
ENTRY = struct.Struct("<QQ")


class Parsed:
    """The parts of a file: ``data`` are all bytes before the metadata."""

    def __init__(self, raw: bytes) -> None:
        (_, columns, buffers, num_buffers, _, *_) = FOOTER.unpack(raw[-FOOTER.size :])
        self.footer = raw[-FOOTER.size :]
        self.column_table = list(ENTRY.iter_unpack(raw[columns:buffers]))
        end = buffers + num_buffers * ENTRY.size
        self.global_table = list(ENTRY.iter_unpack(raw[buffers:end]))
        position, length = self.global_table[0]
        self.data = raw[:position]
        self.descriptor = FileDescriptor.FromString(raw[position : position + length])
        self.columns = [
            ColumnMetadata.FromString(raw[position : position + length])
            for position, length in self.column_table
        ]

    def build(self) -> bytes:
        """The file again, with what was changed."""
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


def swap_columns(data: bytes, chance: random.Random) -> Mutant:
    parsed = Parsed(data)
    if len(parsed.columns) < 2:
        return change_column(data, chance)
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


def change_any(direct: Any, message_type: type[Message], chance: random.Random) -> str:
    """Change the message of ``message_type`` that the encoding of a page or column holds."""
    stored = AnyMessage.FromString(direct.encoding)
    message = message_type.FromString(stored.value)
    kind = mutate_message(message, chance)
    stored.value = message.SerializeToString()
    direct.encoding = stored.SerializeToString()
    return kind
