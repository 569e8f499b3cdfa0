"""A file of version 0.1, and damage to it that knows what it hits."""

from __future__ import annotations

import random
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lance_core
from lance_core._pb.file_pb2 import Metadata
from lance_core._pb.table_pb2 import Manifest
from lance_core.schema import Field
from lance_core_testing.mutants import Mutant, Mutation, mutate_message
from tests.interop.columns import table_of_everything

FOOTER = struct.Struct("<QHH4s")
LENGTH = struct.Struct("<I")
ENTRY = 16
ROWS_PER_GROUP = 9
HOT = 6000

COLUMNS = (
    "key",
    "flat, bool",
    "flat, double",
    "flat, string",
    "flat, binary of 16",
    "flat, dictionary int8",
    "list, int16",
    "list, string",
    "struct, binary",
    "vector, float",
)


def legacy_file() -> bytes:
    """A file of some rows of a few types in each shape, in several batches."""
    table = table_of_everything("some nulls").select(COLUMNS).slice(0, 30)
    with tempfile.TemporaryDirectory() as folder:
        options = {"data_storage_version": "legacy", "max_rows_per_group": ROWS_PER_GROUP}
        lance_core.write_dataset(table, folder, **options)
        (path,) = Path(folder).glob("data/*.lance")
        return path.read_bytes()


def pages_of_ids(fields: Sequence[Field]) -> dict[int, int]:
    """Field id to row of the page table, as tables have it."""
    return {part.id: part.id for field in fields for part in field.walk()}


def _metadata(data: bytes) -> tuple[int, Any]:
    position = FOOTER.unpack(data[-FOOTER.size :])[0]
    return position, Metadata.FromString(_block(data, position))


def _block(data: bytes, position: int) -> bytes:
    (length,) = LENGTH.unpack_from(data, position)
    return data[position + LENGTH.size : position + LENGTH.size + length]


def _with_metadata(data: bytes, position: int, metadata: Any) -> bytes:
    raw = metadata.SerializeToString()
    footer = data[-FOOTER.size :]
    return data[:position] + LENGTH.pack(len(raw)) + raw + footer


def change_metadata(data: bytes, chance: random.Random) -> Mutant:
    position, metadata = _metadata(data)
    kind = mutate_message(metadata, chance)
    return Mutant(f"metadata: {kind}", _with_metadata(data, position, metadata))


def change_schema(data: bytes, chance: random.Random) -> Mutant:
    """Another schema, put where the metadata was; the metadata follows it."""
    position, metadata = _metadata(data)
    manifest = Manifest.FromString(_block(data, metadata.manifest_position))
    kind = mutate_message(manifest, chance)
    raw = manifest.SerializeToString()
    metadata.manifest_position = position
    start = position + LENGTH.size + len(raw)
    footer = list(FOOTER.unpack(data[-FOOTER.size :]))
    footer[0] = start
    body = data[:position] + LENGTH.pack(len(raw)) + raw
    content = metadata.SerializeToString()
    changed = body + LENGTH.pack(len(content)) + content + FOOTER.pack(*footer)
    return Mutant(f"schema: {kind}", changed)


def change_page_table(data: bytes, chance: random.Random) -> Mutant:
    """Another position or length of a page, of values or of statistics."""
    position, metadata = _metadata(data)
    starts = [metadata.page_table_position, metadata.statistics.page_table_position]
    place = chance.choice(starts)
    place += 8 * chance.randrange(max(1, (position - place) // 8))
    (old,) = struct.unpack_from("<q", data, place)
    near = [old + 1, old - 1, old + 8, old * 2, old // 2, 0, -1, len(data)]
    new = chance.choice([*near, *near, 1 << 31, 1 << 40, (1 << 62) - 1, -(1 << 63)])
    changed = bytearray(data)
    struct.pack_into("<Q", changed, place, new % (1 << 64))
    return Mutant(f"page table: number at {place} = {new}, was {old}", bytes(changed))


AWARE: tuple[Mutation, ...] = (
    change_metadata,
    change_schema,
    change_page_table,
    change_page_table,
)
