"""A version as its stored files say it is, read without the code that makes versions.

Only the generated protobuf messages and the codecs of row ids and versions are shared with the
library: no operation, no conflict rule, no fragment list.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from lance_core._pb import table_pb2, transaction_pb2
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import RowVersions
from tests.explore.pairs.model import ID, Cell, Column, Model
from tests.explore.pairs.shelf import Address, Shelf

Read = Callable[[str], bytes]
"""The content of an object; `KeyError` if it is not there."""

_DELETIONS, _STABLE, _CONFIG, _BASES = 1, 2, 8, 16
_OPTIONAL = (_DELETIONS, _CONFIG, _BASES)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A version. ``problem`` is what contradicts itself in it, "" if nothing does.

    ``identities``: of every physical row, by fragment. ``row_ids``, ``created`` and ``updated`` are
    those of the live rows, by identity; empty without stable row ids.
    """

    version: int
    transaction: str
    model: Model
    identities: Mapping[int, tuple[Cell, ...]]
    data_files: frozenset[str]
    max_fragment_id: int
    next_row_id: int
    row_ids: Mapping[str, int]
    created: Mapping[str, int]
    updated: Mapping[str, int]
    problem: str


def decode(data: bytes, read: Read, shelf: Shelf) -> Decoded:
    """The version whose manifest file is ``data``."""
    manifest, transaction, indices = _messages(data)
    reader = _Rows(manifest, read, shelf)
    columns = {
        item.id: Column(
            item.name, not item.nullable, {k: v.decode() for k, v in item.metadata.items()}
        )
        for item in manifest.fields
    }
    model = Model(
        columns,
        {i: {n: row.get(n) for n in columns} for i, row in reader.rows.items()},
        dict(manifest.config),
        dict(manifest.table_metadata),
        {key: value.decode() for key, value in manifest.schema_metadata.items()},
        {index.name: tuple(index.fields) for index in indices},
        frozenset((base.name, base.path) for base in manifest.base_paths),
    )
    problem = reader.problem or model.problem() or _wrong_flags(manifest)
    for index in indices:
        problem = problem or reader.wrong_index(index, shelf)
    return Decoded(
        manifest.version,
        transaction,
        model,
        reader.identities,
        frozenset(file.path for part in manifest.fragments for file in part.files),
        manifest.max_fragment_id if manifest.HasField("max_fragment_id") else -1,
        manifest.next_row_id,
        reader.row_ids,
        reader.created,
        reader.updated,
        problem,
    )


def _messages(
    data: bytes,
) -> tuple[table_pb2.Manifest, str, Sequence[table_pb2.IndexMetadata]]:
    """The manifest, the uuid of its transaction, and its indices."""

    def section(position: int) -> bytes:
        (length,) = struct.unpack_from("<I", data, position)
        return data[position + 4 : position + 4 + length]

    (position,) = struct.unpack_from("<Q", data, len(data) - 16)
    manifest = table_pb2.Manifest.FromString(section(position))
    inline = section(manifest.transaction_section)
    transaction = transaction_pb2.Transaction.FromString(inline)
    if not manifest.HasField("index_section"):
        return manifest, transaction.uuid, ()
    indices = table_pb2.IndexSection.FromString(section(manifest.index_section))
    return manifest, transaction.uuid, tuple(indices.indices)


@lru_cache(maxsize=1 << 12)
def _listed(data: bytes, is_bitmap: bool) -> frozenset[int]:
    """The offsets that a deletion file lists."""
    if is_bitmap:
        return frozenset(BitMap.deserialize(data))
    options = pa.ipc.IpcReadOptions(use_threads=False)
    return frozenset(pa.ipc.open_file(data, options=options).read_all()["row_id"].to_pylist())


class _Rows:
    """The live rows of a version."""

    def __init__(self, manifest: table_pb2.Manifest, read: Read, shelf: Shelf) -> None:
        self._read = read
        self._shelf = shelf
        self._is_stable = bool(manifest.reader_feature_flags & _STABLE)
        self._addresses: dict[int, list[tuple[Address, str]]] = {}
        self.rows: dict[str, dict[int, Cell]] = {}
        self.identities: dict[int, tuple[Cell, ...]] = {}
        self.row_ids: dict[str, int] = {}
        self.created: dict[str, int] = {}
        self.updated: dict[str, int] = {}
        self.problem = ""
        for fragment in manifest.fragments:
            self._add(fragment)
        if len(self.identities) < len(manifest.fragments):
            self.problem = "two fragments have the same id"
        if len(set(self.row_ids.values())) < len(self.row_ids):
            self.problem = "two rows have the same id"
        if any(id_ >= manifest.next_row_id for id_ in self.row_ids.values()):
            self.problem = "a row id is not below the next one"
        if any(id_ > manifest.max_fragment_id for id_ in self.identities):
            self.problem = "a fragment id is above the highest one"

    def _add(self, fragment: table_pb2.DataFragment) -> None:
        columns: dict[int, Sequence[Cell]] = {}
        for file in fragment.files:
            content = self._shelf.files[file.path]
            columns.update({n: content[n] for n in file.fields if n >= 0})
        count = fragment.physical_rows
        if any(len(values) != count for values in columns.values()):
            self.problem = f"files of fragment {fragment.id} do not have {count} rows"
            return
        self.identities[fragment.id] = tuple(columns[ID])
        addresses = self._addresses[fragment.id] = []
        deleted = self._deleted(fragment)
        ids = self._ids(fragment)
        if len(deleted) == count:
            self.problem = f"fragment {fragment.id} has no rows left"
        for offset in range(count):
            if offset in deleted:
                continue
            identity = str(columns[ID][offset])
            if identity in self.rows:
                self.problem = f"row {identity} is there twice"
            self.rows[identity] = {n: values[offset] for n, values in columns.items()}
            addresses.append((ids[0][offset] if ids else (fragment.id, offset), identity))
            if ids:
                self.row_ids[identity] = ids[0][offset]
                self.created[identity], self.updated[identity] = ids[1][offset], ids[2][offset]

    def _ids(self, fragment: table_pb2.DataFragment) -> list[list[int]]:
        """Stable ids, and the versions in which rows came and were last changed."""
        if not self._is_stable:
            if fragment.WhichOneof("row_id_sequence"):
                self.problem = f"fragment {fragment.id} has row ids"
            return []
        count = fragment.physical_rows
        every = np.arange(count)
        made, changed = (
            RowVersions.from_bytes(data, count).take(every).tolist()
            for data in (
                fragment.inline_created_at_versions,
                fragment.inline_last_updated_at_versions,
            )
        )
        ids = RowIdSequence.from_bytes(fragment.inline_row_ids, count).take(every).tolist()
        return [ids, made, changed]

    def _deleted(self, fragment: table_pb2.DataFragment) -> frozenset[int]:
        if not fragment.HasField("deletion_file"):
            return frozenset()
        file = fragment.deletion_file
        extension = "bin" if file.file_type else "arrow"
        path = f"_deletions/{fragment.id}-{file.read_version}-{file.id}.{extension}"
        try:
            data = self._read(path)
        except KeyError:
            self.problem = f"{path} is not there"
            return frozenset()
        found = _listed(data, bool(file.file_type))
        if len(found) != file.num_deleted_rows or max(found) >= fragment.physical_rows:
            self.problem = f"{path} lists {sorted(found)}, the manifest {file.num_deleted_rows}"
        return found

    def wrong_index(self, index: table_pb2.IndexMetadata, shelf: Shelf) -> str:
        """A row that the index covers, and would not be found by, or by another value."""
        known = shelf.indices[uuid.UUID(bytes=index.uuid.uuid)]
        covered = BitMap.deserialize(index.fragment_bitmap)
        for fragment, addresses in self._addresses.items():
            if fragment not in covered:
                continue
            for address, identity in addresses:
                values = tuple(self.rows[identity].get(n) for n in index.fields)
                if known.get(address) != values:
                    return (
                        f"index {index.name} covers row {identity} of fragment {fragment} as "
                        f"{known.get(address)}, it is {values}"
                    )
        return ""


def _wrong_flags(manifest: table_pb2.Manifest) -> str:
    has = {
        _DELETIONS: any(fragment.HasField("deletion_file") for fragment in manifest.fragments),
        _CONFIG: bool(manifest.config),
        _BASES: bool(manifest.base_paths),
    }
    for flag in _OPTIONAL:
        if bool(manifest.writer_feature_flags & flag) != has[flag]:
            return f"feature flag {flag} should be {has[flag]}"
    return ""
