"""Read the bytes of version 2 blobs from their descriptions, for scans that return bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.blobs.external import absolute_uris
from lance_core.dataset.blobs.source import BlobDescriptions, external
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.numpy_values import from_numpy, to_scalar
from lance_core.encodings.arrow.strings import taken_arrays
from lance_core.encodings.blob_payloads import payloads
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.decoding import Int64Array, run_decoding
from lance_core.errors import CorruptFileError
from lance_core.schema import (
    BlobKind,
    Field,
    as_bytes,
    given_to_files,
    is_blob_v2,
)
from lance_core.schema.blobs.fields import GIVEN_V2
from lance_core.schema.empty_arrays import empty_array
from lance_core.schema.rebuild import visible_children, with_children
from lance_core.table.paths import side_file_path

if TYPE_CHECKING:
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.store.base import ObjectStore
    from lance_core.table.fragments.data_file import DataFile

_MAX_FILE_BYTES = 1 << 62
_LARGE_RUN, _LONG_RUN = 64 << 10, 16
"""Average bytes and values per run from which slices are faster than one copying `take`."""


def with_payloads(
    snapshot: Snapshot,
    file: DataFile,
    column: pa.ChunkedArray,
    field: Field,
    *,
    as_given: bool = False,
) -> pa.ChunkedArray:
    """``column`` with bytes in place of the descriptions of version 2 blobs in ``file``.

    ``field`` has the type of ``column``, as `described_in_file` returns it. ``as_given``: the
    result has the form of a writer's input, `GIVEN_V2`, and external blobs stay URIs, which are not
    read. Raises the errors of `lance_core.dataset.blobs.source.sources_v2`.
    """
    reader = _GivenReader(snapshot, file) if as_given else _Reader(snapshot, file)
    chunks: list[pa.Array] = []
    for chunk in column.chunks:
        chunks += reader.chunks(chunk) if is_blob_v2(field) else [reader.nested(chunk, field)]
    return pa.chunked_array(chunks, reader.result(field).storage_type)


class _Reader:
    """Reads the payloads that the descriptions in one data file reference."""

    def __init__(self, snapshot: Snapshot, file: DataFile) -> None:
        base = snapshot.base(file.base_id)
        self._snapshot = snapshot
        self._store = snapshot.store_of(base)
        self._path = file.store_path(base)
        self._size = snapshot.reader(file).metadata.size

    def nested(self, array: pa.Array, field: Field) -> pa.Array:
        """An array of ``field`` with bytes in place of descriptions."""
        if is_blob_v2(field):
            return concat_arrays(self.chunks(array))
        if not any(map(is_blob_v2, field.walk())):
            return array
        parts = zip(visible_children(array), field.children, strict=True)
        children = [self.nested(part, child) for part, child in parts]
        return with_children(array, self.result(field).storage_type, children)

    def result(self, field: Field) -> Field:
        """``field`` with the type of the result."""
        return as_bytes(field)

    def chunks(self, array: pa.StructArray) -> list[pa.Array]:
        """The payloads of ``array``'s descriptions in row order, in one or several arrays."""
        return self._payloads(BlobDescriptions.of(array))

    def _payloads(self, columns: BlobDescriptions) -> list[pa.Array]:
        if not len(columns.valid):
            return [empty_array(pa.large_binary())]
        homes = _homes(columns)
        order = np.argsort(homes, kind="stable")
        edges = np.flatnonzero(np.diff(homes[order])) + 1
        if not len(edges):
            return [self._read(columns, np.arange(len(homes)))]
        rows_of = np.split(order, edges)
        # Sequentially: this runs in the threads of a scan, which must not wait for each other.
        groups = [self._read(columns, rows) for rows in rows_of]
        return list(_in_row_order(groups, order, homes))

    def _read(self, columns: BlobDescriptions, rows: Int64Array) -> pa.Array:
        """The payloads at ``rows``; all that are not empty are in one object."""
        positions, sizes, valid = columns.positions[rows], columns.sizes[rows], columns.valid[rows]
        row = int(rows[np.argmax(columns.kinds[rows] != BlobKind.INLINE)])
        kind, blob_id = int(columns.kinds[row]), int(columns.ids[row])
        if kind == BlobKind.EXTERNAL:
            uri = columns.uris[row].as_py() or ""
            source = external(self._snapshot, blob_id, uri, int(positions[0]), int(sizes[0]))
            store, path, size = source.store, source.path, _MAX_FILE_BYTES
            positions, sizes = (np.array([n], np.uint64) for n in (source.start, source.size))
        elif kind == BlobKind.INLINE:
            store, path, size = self._store, self._path, self._size
        else:
            store, path = self._store, side_file_path(self._path, blob_id)
            size = _MAX_FILE_BYTES
        taken = self._fetch(store, path, size, positions, sizes)
        (masked,) = taken_arrays(pa.large_binary(), taken, None if valid.all() else valid, False)
        return masked

    def _fetch(
        self,
        store: ObjectStore,
        path: str,
        file_size: int,
        positions: npt.NDArray[np.uint64],
        sizes: npt.NDArray[np.uint64],
    ) -> pa.Array:
        if not sizes.any():
            return pa.repeat(to_scalar(b"", pa.large_binary()), len(sizes))
        snapshot = self._snapshot
        context = DecodeContext(
            store.coalesce_gap, file_size, snapshot.storage_version, snapshot.root.registry
        )
        where, shared = _distinct(positions, sizes)
        decoding = payloads(where["position"], where["size"], context)
        try:
            values = run_decoding(decoding, partial(store.get_ranges, path))
        except CorruptFileError as error:
            raise error.at(path=path) from error
        return values if shared is None else values.take(pa.array(shared))


class _GivenReader(_Reader):
    """Reads blobs in the form in which they are given to a writer."""

    def result(self, field: Field) -> Field:
        return given_to_files(field)

    def chunks(self, array: pa.StructArray) -> list[pa.Array]:
        columns = BlobDescriptions.of(array)
        is_external = columns.kinds == BlobKind.EXTERNAL
        own = replace(
            columns,
            kinds=np.where(is_external, np.uint8(BlobKind.INLINE), columns.kinds),
            positions=np.where(is_external, np.uint64(0), columns.positions),
            sizes=np.where(is_external, np.uint64(0), columns.sizes),
            ids=np.where(is_external, np.uint32(0), columns.ids),
        )
        data = concat_arrays(self._payloads(own))
        base_ids = np.where(is_external, columns.ids, np.uint32(0))
        has_range = is_external & ((columns.positions > 0) | (columns.sizes > 0))
        members = [
            _where(data, ~is_external),
            _where(absolute_uris(self._snapshot, base_ids, columns.uris), is_external),
            pa.array(columns.positions, mask=~has_range),
            pa.array(columns.sizes, mask=~(has_range & (columns.sizes > 0))),
        ]
        mask = None if columns.valid.all() else from_numpy(~columns.valid)
        return [pa.StructArray.from_arrays(members, fields=list(GIVEN_V2), mask=mask)]


def _where(values: pa.Array, chosen: npt.NDArray[np.bool_]) -> pa.Array:
    """``values``, null where not ``chosen``."""
    if chosen.all():
        return values
    return pc.if_else(from_numpy(chosen), values, to_scalar(None, values.type))


_SPAN = np.dtype([("position", np.uint64), ("size", np.uint64)])


def _distinct(
    positions: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.void], Int64Array | None]:
    """The payloads' distinct positions and sizes, and the index of each blob's payload in them.

    The index is None if each blob has a payload of its own.
    """
    spans = np.empty(len(sizes), _SPAN)
    spans["position"], spans["size"] = positions, sizes
    full = sizes > 0
    ordered = positions[full]
    if (ordered[1:] > ordered[:-1]).all():
        return spans, None
    spans["position"][~full] = 0
    distinct, shared = np.unique(spans, return_inverse=True)
    return distinct, shared


def _homes(columns: BlobDescriptions) -> Int64Array:
    """A number for each blob's object: equal numbers are read with one request for ranges.

    An empty blob gets the number of a neighbour, to keep runs long. Each external blob gets a
    number of its own: ranges of external blobs may overlap, and their sizes may be unknown.
    """
    homes = (columns.kinds.astype(np.int64) << 33) | columns.ids
    is_external = columns.kinds == BlobKind.EXTERNAL
    if is_external.any():
        count = int(np.count_nonzero(is_external))
        homes[is_external] = (1 << 60) + np.arange(count)
    empty = (columns.sizes == 0) & ~is_external
    if empty.any() and not empty.all():
        last = np.maximum.accumulate(np.where(empty, -1, np.arange(len(homes))))
        last[last < 0] = int(np.flatnonzero(~empty)[0])
        homes = homes[last]
        # `_read` reads an external blob alone: no empty neighbour may have the same number.
        homes[empty & is_external[last]] = 0
    return homes


def _in_row_order(
    groups: list[pa.Array], order: Int64Array, homes: Int64Array
) -> Iterator[pa.Array]:
    """The values of ``groups``, whose rows are in ``order``, as arrays in row order.

    Returns slices of the groups if the runs of adjacent rows are large, otherwise one copy.
    """
    count = len(homes)
    positions = np.empty(count, np.int64)
    positions[order] = np.arange(count)
    edges = np.flatnonzero(np.diff(homes)) + 1
    runs = len(edges) + 1
    if sum(group.nbytes for group in groups) < _LARGE_RUN * runs and count < _LONG_RUN * runs:
        yield concat_arrays(groups).take(from_numpy(positions))
        return
    starts = np.cumsum([0, *(len(group) for group in groups)])
    for first, stop in zip([0, *edges.tolist()], [*edges.tolist(), count], strict=True):
        number = int(np.searchsorted(starts, positions[first], side="right")) - 1
        yield groups[number].slice(int(positions[first] - starts[number]), stop - first)
