"""Resolve descriptions of blobs to byte ranges of objects in stores.

``docs/format/blobs.md`` describes the columns of a description and the names of side files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import BlobKind
from lance_core.store.base import ObjectStore
from lance_core.store.read_planning import plan_reads
from lance_core.table.paths import check_relative, side_file_path

if TYPE_CHECKING:
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.table.fragments.data_file import DataFile

_MAX_POSITION = (1 << 63) - 1
_MAX_GAP = 1 << 20
_MAX_JOINED = 64 << 20
"""Maximum bytes between two ranges that one request reads, and of the request itself."""


@dataclass(frozen=True, slots=True)
class BlobSource:
    """The location of a blob: ``size`` bytes at ``start`` in the object ``path`` of ``store``."""

    store: ObjectStore
    path: str
    start: int
    size: int

    def range(self, offset: int, length: int) -> ByteRange:
        """The range of the object that holds the blob's ``length`` bytes at ``offset``."""
        return ByteRange(self.start + offset, self.start + offset + length)


@dataclass(frozen=True, slots=True, eq=False)
class BlobDescriptions:
    """Version 2 descriptions as columns; empty and null blobs have the kind INLINE and id 0."""

    valid: npt.NDArray[np.bool_]
    kinds: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint64]
    sizes: npt.NDArray[np.uint64]
    ids: npt.NDArray[np.uint32]
    uris: pa.Array

    @classmethod
    def of(cls, array: pa.StructArray) -> BlobDescriptions:
        """The columns of ``array``.

        Raises `CorruptFileError` for an unknown kind or a range beyond 2**63, and
        `UnsupportedFeatureError` for managed blobs.
        """
        valid = np.asarray(array.is_valid())
        kinds, positions, sizes, ids = (_column(array.field(i), valid) for i in range(4))
        if (kinds > BlobKind.EXTERNAL).any():
            if kinds.max() > BlobKind.MANAGED:
                raise CorruptFileError(f"a blob of the unknown kind {kinds.max()}")
            raise UnsupportedFeatureError("managed blobs are not supported")
        beyond = np.uint64(_MAX_POSITION)
        if (sizes > beyond).any() or (positions > beyond - sizes).any():
            raise CorruptFileError("a blob ends past 2**63")
        empty = (sizes == 0) & (kinds != BlobKind.EXTERNAL)
        if empty.any():
            kinds, ids = np.where(empty, 0, kinds).astype(np.uint8), np.where(empty, 0, ids)
        return cls(valid, kinds, positions, sizes, ids.astype(np.uint32), array.field(4))


def _column(member: pa.Array, valid: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    if member.null_count:
        member = member.fill_null(0)
    values = np.asarray(member)
    return values if valid.all() else np.where(valid, values, values.dtype.type(0))


def sources_v1(
    snapshot: Snapshot, file: DataFile, described: pa.StructArray
) -> list[BlobSource | None]:
    """The locations of version 1 blobs, which are in the data file; None for a null blob.

    A null blob has a null description, or position 1 and size 0. Raises `CorruptFileError` for a
    blob that ends past the file.
    """
    base = snapshot.base(file.base_id)
    store, path = snapshot.store_of(base), file.store_path(base)
    file_size = snapshot.reader(file).metadata.size
    sources: list[BlobSource | None] = []
    for value in described.to_pylist():
        if value is None or (value["position"], value["size"]) == (1, 0):
            sources.append(None)
            continue
        sources.append(
            _within(BlobSource(store, path, value["position"], value["size"]), file_size)
        )
    return sources


def sources_v2(
    snapshot: Snapshot, file: DataFile, described: pa.StructArray
) -> list[BlobSource | None]:
    """The locations of version 2 blobs; None for a null blob.

    Requests the size of an external object if the description has none. Raises
    `BasePathRefusedError` for a location that the caller has not allowed, `CorruptFileError`,
    `UnsupportedFeatureError`, and `ObjectNotFoundError` for a missing object.
    """
    columns = BlobDescriptions.of(described)
    base = snapshot.base(file.base_id)
    store, path = snapshot.store_of(base), file.store_path(base)
    file_size = snapshot.reader(file).metadata.size
    sources: list[BlobSource | None] = []
    for row in range(len(described)):
        kind, size = int(columns.kinds[row]), int(columns.sizes[row])
        start, blob_id = int(columns.positions[row]), int(columns.ids[row])
        if not columns.valid[row]:
            sources.append(None)
        elif kind == BlobKind.INLINE:
            sources.append(_within(BlobSource(store, path, start, size), file_size))
        elif kind == BlobKind.EXTERNAL:
            uri = columns.uris[row].as_py() or ""
            sources.append(external(snapshot, blob_id, uri, start, size))
        else:
            sources.append(BlobSource(store, side_file_path(path, blob_id), start, size))
    return sources


def external(
    snapshot: Snapshot, base_id: int, uri: str, start: int = 0, size: int = 0
) -> BlobSource:
    """The location of an external blob; ``size`` 0: to the end. Raises the errors of `sources_v2`.

    ``uri`` is a path relative to the base path ``base_id``, or an absolute URI if that is 0.
    """
    if base_id:
        store = snapshot.store_of(snapshot.base(base_id))
        path = check_relative(uri, "blob_uri")
    else:
        store, path = snapshot.object_at(uri)
    if size == 0:
        whole = store.head(path).size
        if start > whole:
            raise CorruptFileError(f"a blob starts at {start}, the object has {whole} bytes", path)
        size = whole - start
    return BlobSource(store, path, start, size)


def _within(source: BlobSource, file_size: int) -> BlobSource:
    if source.size and source.start + source.size > file_size:
        raise CorruptFileError("a blob ends past the file", source.path, source.start)
    return source


def read_ranges(store: ObjectStore, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
    """The bytes of ``ranges`` (in any order) of one object; ranges close together are coalesced."""
    plan = plan_reads(ranges, min(store.coalesce_gap, _MAX_GAP), _MAX_JOINED)
    return plan.cut(store.get_ranges(path, [ByteRange(*extent) for extent in plan.extents]))
