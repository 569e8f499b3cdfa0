"""The manifest, data and deletion files of a table that are damaged."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa

import lance_core as lance
from lance_core._pb import table_pb2, transaction_pb2
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import TableRoot
from lance_core.errors import LanceError
from lance_core.plugins import get_manager
from lance_core.store.config import StoreConfig
from lance_core.store.memory import MemoryStore, Objects
from lance_core.table.manifest.file import parse_manifest_file
from lance_core_testing.mutants import Mutant, Mutation, mutants, mutate_message
from tests.fuzz.judge import Verdict, judged
from tests.fuzz.unsealed import without_checksums
from tests.table_surgery import delete_rows

SHARES = {"manifest": 4, "data": 2, "array of deletions": 1, "bitmap of deletions": 1}
"""Kinds of files, and how many mutants of each there are beside those of the others."""

ROWS = 5600
Files = dict[str, bytes]


@without_checksums
def make_table() -> lance.LanceDataset:
    """Two fragments, one with many and one with few deleted rows; with stable row ids."""
    numbers = range(ROWS)
    table = pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "s": [None if n % 7 == 0 else f"text {n % 50}" for n in numbers],
            "p": pa.array([{"x": n, "l": [n] * (n % 3)} for n in numbers]),
            "v": pa.array([[n, 1] for n in numbers], pa.list_(pa.float32(), 2)),
        }
    )
    uri = "memory://mutants/table"
    dataset = lance.write_dataset(
        table,
        uri,
        max_rows_per_file=5500,
        enable_stable_row_ids=True,
        commit_message="first",
    )
    return delete_rows(dataset, {0: range(5400), 1: [0, 5, 99]})


@cache
def sound() -> Files:
    """The files of the table: path and bytes of each."""
    return files_of(make_table())


def files_of(dataset: lance.LanceDataset) -> Files:
    store = dataset.snapshot.root.store
    return {meta.path: bytes(store.get(meta.path)) for meta in store.list("")}


def paths_of(files: Files, kind: str) -> str:
    """The file to damage."""
    by_kind: dict[str, Callable[[str], bool]] = {
        "manifest": lambda path: path.startswith("_versions/"),
        "data": lambda path: path.startswith("data/"),
        "array of deletions": lambda path: path.endswith(".arrow"),
        "bitmap of deletions": lambda path: path.endswith(".bin"),
    }
    # Of manifests the newest, of data files the smaller one: its damage matters more.
    found = [path for path in files if by_kind[kind](path)]
    return min(found) if kind == "manifest" else min(found, key=lambda path: len(files[path]))


def root_of(files: Files) -> TableRoot:
    store = MemoryStore(Objects())
    for path, data in files.items():
        store.put(path, data)
    handler = PutIfAbsentCommitHandler(store)
    return TableRoot(StoreConfig("memory://mutant"), store, handler, get_manager().encodings)


def taken_apart(data: bytes) -> tuple[table_pb2.Manifest, bytes]:
    file = parse_manifest_file(data)
    message = file.manifest.to_proto()
    for raw in file.manifest.fragments.raw:
        message.fragments.add().MergeFromString(raw)
    return message, file.transaction or b""


def put_together(message: table_pb2.Manifest, transaction: bytes) -> bytes:
    message.transaction_section = 0
    position = 4 + len(transaction)
    raw = message.SerializeToString()
    sections = [len(part).to_bytes(4, "little") + part for part in (transaction, raw)]
    return b"".join([*sections, position.to_bytes(8, "little"), b"\0\0\2\0LANC"])


def change_manifest(data: bytes, chance: random.Random) -> Mutant:
    message, transaction = taken_apart(data)
    kind = mutate_message(message, chance)
    return Mutant(f"Manifest.{kind}", put_together(message, transaction))


def change_fragment(data: bytes, chance: random.Random) -> Mutant:
    message, transaction = taken_apart(data)
    number = chance.randrange(len(message.fragments))
    target: Any = message.fragments[number]
    target = chance.choice([target, target.files[0], target.deletion_file])
    kind = mutate_message(target, chance)
    return Mutant(f"fragments[{number}].{kind}", put_together(message, transaction))


def change_field(data: bytes, chance: random.Random) -> Mutant:
    message, transaction = taken_apart(data)
    number = chance.randrange(len(message.fields))
    kind = mutate_message(message.fields[number], chance)
    return Mutant(f"fields[{number}].{kind}", put_together(message, transaction))


def change_transaction(data: bytes, chance: random.Random) -> Mutant:
    message, transaction = taken_apart(data)
    changed = transaction_pb2.Transaction.FromString(transaction)
    kind = mutate_message(changed, chance)
    raw = changed.SerializeToString()
    return Mutant(f"Transaction.{kind}", put_together(message, raw))


AWARE: dict[str, tuple[Mutation, ...]] = {
    "manifest": (
        change_manifest,
        change_fragment,
        change_fragment,
        change_field,
        change_transaction,
    )
}


def uses(dataset: lance.LanceDataset) -> Iterator[Callable[[], object]]:
    """What is done with a mutant; each may raise a `LanceError`."""
    names = dataset.schema.names
    yield lambda: valid(dataset.to_table(limit=300))
    yield lambda: valid(dataset.to_table(limit=300, offset=100, with_row_id=True))
    yield lambda: valid(dataset.to_table(["_rowaddr", "_rowoffset", "_rowid"], limit=500))
    yield lambda: valid(dataset.to_table(names[:1], filter="_rowaddr >= 0", limit=20))
    yield lambda: valid(dataset.take([0, 50, 3]))
    yield lambda: valid(dataset.to_table([], limit=10_000))
    yield lambda: valid(pa.Table.from_batches(dataset.to_batches(limit=200, batch_size=64)))
    yield dataset.count_rows
    yield dataset.versions
    yield dataset.get_transactions
    yield dataset.stats.data_stats
    yield dataset.stats.dataset_stats
    yield dataset.validate
    yield lambda: [fragment.metadata.to_json() for fragment in dataset.get_fragments()]


def valid(table: pa.Table) -> None:
    table.validate(full=True)


Uses = Callable[[lance.LanceDataset], Iterator[Callable[[], object]]]


def outcome(root: TableRoot, uses: Uses) -> str:
    """How far ``uses`` come with a table that may be damaged: only `LanceError` is expected."""
    try:
        dataset = lance.LanceDataset.of(open_table.open_version(root))
        tries = list(uses(dataset))
    except LanceError:
        return "not opened"
    errors = 0
    for use in tries:
        try:
            use()
        except LanceError:
            errors += 1
    return "errors" if errors else "read"


def objects(root: TableRoot) -> list[tuple[str, int, str | None]]:
    return [(meta.path, meta.size, meta.etag) for meta in root.store.list("")]


def damage(kind: str, count: int, seed: int) -> Verdict:
    """Judge ``count`` mutants of a file of one of the kinds of `SHARES`."""
    files = sound()
    path = paths_of(files, kind)

    def judge(data: bytes) -> str:
        root = root_of({**files, path: data})
        there = objects(root)
        found = outcome(root, uses)
        assert objects(root) == there, "something was written"
        return found

    assert judge(files[path]) == "read"
    return judged(mutants(files[path], count, seed, extra=AWARE.get(kind, ()), hot=500), judge)
