"""Changing tables in ways that this library does not offer, or that no library should."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.table.fragments.deletion import encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.manifest.file import (
    ManifestFile,
    parse_manifest_file,
    serialize_manifest_file,
)
from lance_core.table.manifest.manifest import Manifest
from lance_core.table.transactions.operations import Delete

_ids = itertools.count(1)


def delete_rows(
    dataset: lance.LanceDataset, offsets: Mapping[int, Sequence[int]], gone: Sequence[int] = ()
) -> lance.LanceDataset:
    """Delete rows by fragment id and physical offset, and the fragments ``gone`` as a whole.

    ``offsets`` are all that are deleted in a fragment, not only the new ones.
    """
    snapshot = dataset.snapshot
    updated = []
    for fragment_id, rows in offsets.items():
        kind, data = encode_deletions(np.array(sorted(set(rows)), np.uint32))
        file = DeletionFile(kind, dataset.version, next(_ids), len(set(rows)))
        snapshot.root.store.put(file.store_path(fragment_id), data)
        updated.append(dataclasses.replace(snapshot.fragment(fragment_id), deletion_file=file))
    operation = lance.LanceOperation.Stored(Delete(tuple(updated), tuple(gone), "by hand"))
    return lance.LanceDataset.commit(dataset, operation, dataset.version)


def replace_deletion_file(dataset: lance.LanceDataset, fragment_id: int, data: bytes) -> None:
    """Put other bytes where a fragment's deletion file is."""
    snapshot = dataset.snapshot
    file = snapshot.fragment(fragment_id).deletion_file
    assert file is not None
    snapshot.root.store.put(file.store_path(fragment_id), data)


def edit_manifest(
    dataset: lance.LanceDataset, change: Callable[[table_pb2.Manifest], object]
) -> lance.LanceDataset:
    """Change the message of the open version in place, and open that version anew.

    ``change`` gets the whole message, fragments included.
    """
    snapshot = dataset.snapshot
    path = snapshot.location.path
    raw = bytes(snapshot.root.store.get(path))
    file = parse_manifest_file(raw)
    message = file.manifest.to_proto()
    for one in file.manifest.fragments.raw:
        message.fragments.add().MergeFromString(one)
    change(message)
    snapshot.root.store.put(path, _manifest_file(file, message.SerializeToString()))
    return lance.dataset(dataset.uri, dataset.version)


def _manifest_file(file: ManifestFile, manifest: bytes) -> bytes:
    """The file with another message; the sections before it are dropped."""
    tail = serialize_manifest_file(ManifestFile(Manifest(1, file.manifest.schema)))[-8:]
    return b"".join([len(manifest).to_bytes(4, "little"), manifest, bytes(8), tail])


def edit_fragment(
    dataset: lance.LanceDataset, change: Callable[[table_pb2.DataFragment], object], number: int = 0
) -> lance.LanceDataset:
    """Change one fragment of the open version in place; as `edit_manifest`."""
    return edit_manifest(dataset, lambda manifest: change(manifest.fragments[number]))
