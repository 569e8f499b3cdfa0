"""A data file of version 0.1 that is damaged in its table, and the manifest of that."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from functools import cache, partial

import pyarrow as pa

import lance_core as lance
from lance_core._pb.file_pb2 import Metadata
from lance_core._pb.table_pb2 import Manifest
from lance_core_testing.mutants import Mutant, Mutation, mutants, mutate_message
from tests.fuzz.judge import Verdict, judged
from tests.fuzz.tables import Files, files_of, outcome, root_of
from tests.fuzz.unsealed import without_checksums

ROWS = 300
NUMBERS = (-1, 0, 1, 7, 64, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63))
FILTERS = ("i > 250", "s = 'text 7'", "p.x IN (3, 5) OR b", "d = 'x'")


@cache
@without_checksums
def sound() -> Files:
    """The files of the table: path and bytes of each."""
    numbers = range(ROWS)
    table = pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "s": [None if n % 7 == 0 else f"text {n % 50}" for n in numbers],
            "b": [n % 3 == 0 for n in numbers],
            "p": pa.array([{"x": n, "l": [n] * (n % 3)} for n in numbers]),
            "q": pa.array([[{"y": f"{n}", "z": [True] * (n % 2)}] * (n % 4) for n in numbers]),
            "v": pa.array([[n, 1] for n in numbers], pa.list_(pa.float32(), 2)),
            "d": pa.array(["x", "y"] * 150).dictionary_encode(),
        }
    )
    uri = "memory://legacy mutants/table"
    made = lance.write_dataset(
        table, uri, data_storage_version="legacy", max_rows_per_group=40, max_rows_per_file=220
    )
    made.delete("i = 17")
    return files_of(made)


def sections(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the lengths of the two messages are: that of the metadata, that of the schema."""
    (position,) = struct.unpack_from("<Q", data, len(data) - 16)
    yield position, 0
    yield Metadata.FromString(content(data, position)).manifest_position, 1


def content(data: bytes, position: int) -> bytes:
    (length,) = struct.unpack_from("<I", data, position)
    return data[position + 4 : position + 4 + length]


def with_metadata(data: bytes, metadata: Metadata, manifest: bytes = b"") -> bytes:
    """``data`` with another description behind everything else."""
    body = data[:-16]
    if manifest:
        metadata.manifest_position = len(body)
        body += struct.pack("<I", len(manifest)) + manifest
    raw = metadata.SerializeToString()
    ending = struct.pack("<Q", len(body)) + data[-8:]
    return body + struct.pack("<I", len(raw)) + raw + ending


def change_metadata(data: bytes, chance: random.Random) -> Mutant:
    (position, _), _ = sections(data)
    message = Metadata.FromString(content(data, position))
    kind = mutate_message(message, chance)
    return Mutant(f"Metadata.{kind}", with_metadata(data, message))


def change_schema(data: bytes, chance: random.Random) -> Mutant:
    (position, _), (schema, _) = sections(data)
    message = Manifest.FromString(content(data, schema))
    kind = mutate_message(chance.choice(message.fields), chance)
    metadata = Metadata.FromString(content(data, position))
    return Mutant(f"schema: {kind}", with_metadata(data, metadata, message.SerializeToString()))


def change_place(data: bytes, chance: random.Random) -> Mutant:
    """Another number in a page table, of data or of statistics."""
    (position, _), _ = sections(data)
    metadata = Metadata.FromString(content(data, position))
    tables = (metadata.page_table_position, metadata.statistics.page_table_position)
    place = chance.choice(tables) + 8 * chance.randrange(120)
    return with_number(data, place, chance)


def change_offset(data: bytes, chance: random.Random) -> Mutant:
    """Another number anywhere in the pages, where offsets of strings and lists are as well."""
    return with_number(data, chance.randrange(len(data) // 2), chance)


def with_number(data: bytes, place: int, chance: random.Random) -> Mutant:
    number = chance.choice([*NUMBERS, chance.randrange(len(data))])
    if place + 8 > len(data):
        return Mutant("nothing", data)
    changed = data[:place] + struct.pack("<q", number) + data[place + 8 :]
    return Mutant(f"{number} at {place}", changed)


def change_manifest(data: bytes, chance: random.Random) -> Mutant:
    """A field or a fragment of the table; what is in front of the manifest stays in its place."""
    (position,) = struct.unpack_from("<Q", data, len(data) - 16)
    message = Manifest.FromString(content(data, position))
    kind = mutate_message(chance.choice([*message.fields, message.fragments[0], message]), chance)
    raw = message.SerializeToString()
    changed = data[:position] + struct.pack("<I", len(raw)) + raw + data[-16:]
    return Mutant(f"Manifest: {kind}", changed)


AWARE: dict[str, tuple[Mutation, ...]] = {
    "data/": (change_metadata, change_schema, change_place, change_place, change_offset),
    "_versions/": (change_manifest,),
}


def uses(dataset: lance.LanceDataset) -> Iterator[Callable[[], object]]:
    """What is done with a mutant: reads of all pages, of some, and filters for statistics."""
    yield lambda: dataset.to_table().validate(full=True)
    yield lambda: dataset.take([290, 0, 39, 40]).validate(full=True)
    yield dataset.validate
    for condition in FILTERS:
        yield partial(read_where, dataset, condition)


def read_where(dataset: lance.LanceDataset, condition: str) -> None:
    dataset.to_table(["i"], filter=condition).validate(full=True)


def damage(folder: str, count: int, seed: int) -> Verdict:
    """Judge ``count`` mutants of a file in one of the folders of `AWARE`."""
    files = sound()
    # Of manifests the newest, of data files the one with most batches.
    found = [path for path in files if path.startswith(folder)]
    path = min(found) if folder == "_versions/" else max(found, key=lambda one: len(files[one]))
    assert outcome(root_of(files), uses) == "read"
    damaged = mutants(files[path], count, seed, extra=AWARE[folder], hot=900)
    return judged(damaged, lambda data: outcome(root_of({**files, path: data}), uses))
