"""The table that all pairs start from, made by the shipped code, and what both writers know of it.

Four fragments of six rows. Columns `ID`, `X` and `Y` share a data file, `Z` has its own. Row 0 of
fragments 1 and 2 is deleted, an index over `X` covers everything, four fragment ids are reserved.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pyarrow as pa

from lance_core.commits.environment import Environment
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import Version
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import CommitOptions
from lance_core.schema import Schema
from lance_core.store.base import PutMode
from lance_core.store.memory import MemoryStore, Objects
from lance_core.table.fragments.data_file import TOMBSTONE, DataFile
from lance_core.table.fragments.deletion import encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_metadata import (
    IndexMetadata,
    encode_fragment_ids,
    fragment_bitmap,
)
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.transactions.apply import CommitFacts
from lance_core.table.transactions.operations import (
    CreateIndex,
    Delete,
    Operation,
    Overwrite,
    ReserveFragments,
    UpdateConfig,
    UpdateMap,
)
from lance_core.table.transactions.transaction import Transaction
from tests.explore.pairs.decoding import Decoded, decode
from tests.explore.pairs.model import ID, NEW, Cell, X, Y, Z
from tests.explore.pairs.shelf import Address, Shelf

ROWS = 6
FRAGMENTS = 4
RESERVED = 4
BASE_INDEX = uuid.UUID(int=1)
NAMES = ("id", "x", "y", "z", "new")
WIDE = Schema.from_arrow(
    pa.schema([pa.field("id", pa.string(), nullable=False)] + [(n, pa.string()) for n in NAMES[1:]])
)
"""All columns, with the one that can be added."""
SCHEMA = replace(WIDE, fields=WIDE.fields[:NEW], metadata={"of": "the base"})


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A table before two transactions: its objects, its versions, and what its files hold."""

    stable: bool
    objects: Mapping[str, bytes]
    newest: Version
    history: Mapping[int, Decoded]
    shelf: Shelf

    @property
    def version(self) -> int:
        """The newest version's number."""
        return self.newest.location.version

    def fragment(self, number: int) -> Fragment:
        """An existing fragment."""
        found = self.newest.file.manifest.fragments.by_id(number)
        assert found is not None
        return found

    def values(self, number: int, column: int) -> list[Cell]:
        """The values of a column in all physical rows of a fragment."""
        for file in self.fragment(number).files:
            if column in file.fields:
                return list(self.shelf.files[file.path][column])
        raise KeyError(column)

    def live(self, number: int) -> list[int]:
        """The offsets of the rows of a fragment that are not deleted."""
        rows = self.history[self.version].model.rows
        return [i for i, identity in enumerate(self.values(number, ID)) if identity in rows]

    def identities(self, number: int, offsets: Iterable[int]) -> list[str]:
        """The identities of rows."""
        values = self.values(number, ID)
        return [str(values[offset]) for offset in offsets]

    def row_ids(self, number: int, offsets: Sequence[int]) -> list[int]:
        """The stable ids of rows."""
        data = self.fragment(number).row_ids
        assert isinstance(data, bytes)
        return RowIdSequence.from_bytes(data, ROWS).take(np.array(offsets, dtype=np.int64)).tolist()

    def address(self, number: int, offset: int) -> Address:
        """How an index knows a row."""
        return self.row_ids(number, [offset])[0] if self.stable else (number, offset)


@dataclass(frozen=True, slots=True, eq=False)
class Desk:
    """Where a writer puts the files of one transaction."""

    name: str
    shelf: Shelf
    written: dict[str, bytes] = field(default_factory=dict)

    def data_file(self, columns: Mapping[int, Sequence[Cell]], label: str = "") -> DataFile:
        """A data file with these columns."""
        path = f"{self.name}{label}.lance"
        assert path not in self.shelf.files
        self.shelf.files[path] = columns
        fields = tuple(columns)
        return DataFile(path, fields, tuple(range(len(fields))), 2, 0, 100)

    def new_fragment(self, columns: Mapping[int, Sequence[Cell]], label: str = "") -> Fragment:
        """A fragment whose id the commit gives it."""
        file = self.data_file(columns, label)
        return Fragment(0, (file,), physical_rows=len(columns[ID]))

    def deletion_file(self, fragment: Fragment, version: int, deleted: Iterable[int]) -> Fragment:
        """``fragment`` with exactly these rows deleted."""
        offsets = np.array(sorted(deleted), dtype=np.uint32)
        kind, data = encode_deletions(offsets)
        number = uuid.uuid5(uuid.NAMESPACE_OID, self.name).int & ((1 << 63) - 1)
        file = DeletionFile(kind, version, number, len(offsets))
        self.written[file.store_path(fragment.id)] = data
        return replace(fragment, deletion_file=file)

    def index(
        self, name: str, column: int, fragments: Iterable[int], known: Mapping[Address, Cell]
    ) -> IndexMetadata:
        """An index over a column that knows the values of some rows."""
        identity = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.name}/index")
        self.shelf.indices[identity] = {address: (value,) for address, value in known.items()}
        bitmap = encode_fragment_ids(fragment_bitmap(fragments))
        return IndexMetadata(identity, name, (column,), fragment_bitmap=bitmap)


def with_file(fragment: Fragment, file: DataFile) -> Fragment:
    """``fragment`` with ``file`` in the place of the same columns in other files."""
    hidden = frozenset(file.fields)
    files = []
    for old in fragment.files:
        fields = tuple(TOMBSTONE if number in hidden else number for number in old.fields)
        if any(number != TOMBSTONE for number in fields):
            files.append(replace(old, fields=fields))
    return replace(fragment, files=(*files, file))


def environment(name: str) -> Environment:
    """No chance and no waiting; identities that no other name has."""
    count = iter(range(1 << 30))

    def new_uuid() -> uuid.UUID:
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{name}/{next(count)}")

    return Environment(
        clock=lambda: 1_700_000_000_000_000_000,
        monotonic=lambda: 0.0,
        sleep=lambda _: None,
        random=lambda: 0.5,
        new_uuid=new_uuid,
    )


def store_of(objects: Mapping[str, bytes]) -> MemoryStore:
    """A store that holds these objects."""
    made = Objects()
    for path, data in objects.items():
        made.put(path, pa.py_buffer(data), PutMode.overwrite)
    return MemoryStore(made)


def objects_of(store: MemoryStore) -> dict[str, bytes]:
    """Everything in a store."""
    return {meta.path: store.get(meta.path).to_pybytes() for meta in store.list("")}


@cache
def base_of(stable: bool) -> Base:
    """The table, with or without stable row ids."""
    store = store_of({})
    handler = PutIfAbsentCommitHandler(store)
    desk = Desk("base", Shelf())
    newest: Version | None = None
    for number, make in enumerate(_STEPS):
        operation = make(desk, newest, stable)
        for path, data in desk.written.items():
            store.put(path, data)
        newest = commit_transaction(
            handler,
            store,
            Transaction(number, str(uuid.UUID(int=100 + number)), operation),
            newest,
            CommitOptions(facts=CommitFacts(stable_row_ids=stable)),
            environment(f"base{number}"),
        )
    assert newest is not None
    objects = objects_of(store)
    read = objects.__getitem__
    decoded = [decode(objects[v.path], read, desk.shelf) for v in handler.list_versions()]
    return Base(stable, objects, newest, {one.version: one for one in decoded}, desk.shelf)


def _created(desk: Desk, newest: Version | None, stable: bool) -> Operation:
    fragments = []
    for number in range(FRAGMENTS):
        every = {n: [f"{NAMES[n]}{number}.{i}" for i in range(ROWS)] for n in (ID, X, Y, Z)}
        z = {Z: every.pop(Z)}
        made = desk.new_fragment(every, f"-{number}")
        fragments.append(replace(made, files=(*made.files, desk.data_file(z, f"-{number}z"))))
    return Overwrite(tuple(fragments), SCHEMA)


def _indexed(desk: Desk, newest: Version | None, stable: bool) -> Operation:
    values: dict[Address, Cell] = {}
    for number in range(FRAGMENTS):
        for offset, value in enumerate(desk.shelf.files[f"base-{number}.lance"][X]):
            values[number * ROWS + offset if stable else (number, offset)] = value
    index = desk.index("base", X, range(FRAGMENTS), values)
    desk.shelf.indices[BASE_INDEX] = desk.shelf.indices.pop(index.uuid)
    return CreateIndex((replace(index, uuid=BASE_INDEX, dataset_version=1),))


def _deleted(desk: Desk, newest: Version | None, stable: bool) -> Operation:
    assert newest is not None
    touched = newest.file.manifest.fragments[1:3]
    return Delete(tuple(desk.deletion_file(part, 2, [0]) for part in touched), (), "")


def _configured(desk: Desk, newest: Version | None, stable: bool) -> Operation:
    return UpdateConfig(UpdateMap({"base": "1"}), UpdateMap({"base": "2"}))


def _reserved(desk: Desk, newest: Version | None, stable: bool) -> Operation:
    return ReserveFragments(RESERVED)


_STEPS: tuple[Callable[[Desk, Version | None, bool], Operation], ...] = (
    _created,
    _indexed,
    _deleted,
    _configured,
    _reserved,
)
