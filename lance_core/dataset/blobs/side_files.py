"""Side files, which hold the blobs that are too large for the data file under construction."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.blob_payloads import offsets_of
from lance_core.encodings.decoding import Int64Array
from lance_core.store.base import ObjectStore, ObjectWriter
from lance_core.table.paths import side_file_path

_WRITTEN_ALONE = 4096
"""Average bytes of a run of adjacent values from which each run is written without a copy."""

Referrer = Callable[[pa.Array, str], tuple[npt.NDArray[np.uint32], pa.Array]]
"""The type of `lance_core.encodings.context.BlobPlaces.refer`."""


class SideFiles:
    """`BlobPlaces` for the data file at ``data_file``: writes to the folder named after it.

    Side files are numbered from 1, in the order of their creation. ``pack_limit``: maximum bytes of
    a file with several blobs; None uses the limit in each field's metadata. Callers must call
    `close` before they finish the data file, or `abort`.
    """

    def __init__(
        self, store: ObjectStore, data_file: str, refer: Referrer, pack_limit: int | None = None
    ) -> None:
        self.refer = refer
        self._store = store
        self._data_file = data_file
        self._pack_limit = pack_limit
        self._paths: list[str] = []
        self._pack: ObjectWriter | None = None
        self._pack_id = 0
        self._pack_size = 0

    def pack(
        self, data: pa.Array, rows: Int64Array, sizes: Int64Array, limit: int
    ) -> tuple[Int64Array, Int64Array]:
        """Implement `BlobPlaces.pack`."""
        limit = limit if self._pack_limit is None else self._pack_limit
        ids, positions = np.empty_like(rows), np.empty_like(rows)
        first = 0
        # Take as many values as fit the open pack; start a new pack if none fits. A value above the
        # limit gets a pack alone.
        while first < len(rows):
            ends = np.cumsum(sizes[first:])
            count = int(np.searchsorted(ends, limit - self._pack_size, side="right"))
            if self._pack is None or not count:
                self._begin_pack()
                count = max(1, int(np.searchsorted(ends, limit, side="right")))
            part = slice(first, first + count)
            ids[part] = self._pack_id
            positions[part] = self._pack_size + ends[:count] - sizes[part]
            assert self._pack is not None
            _write_values(self._pack, data, rows[part], sizes[part])
            self._pack_size += int(ends[count - 1])
            first += count
        return ids, positions

    def dedicate(self, payload: pa.Buffer) -> int:
        """Implement `BlobPlaces.dedicate`."""
        number, writer = self._begin()
        with writer:
            writer.write(payload)
        return number

    def close(self) -> None:
        """Finish all files, which makes them visible in the store."""
        pack, self._pack = self._pack, None
        if pack is not None:
            pack.close()

    def abort(self) -> None:
        """Try to remove all files that were written; ignore failures."""
        pack, self._pack = self._pack, None
        if pack is not None:
            pack.abort()
        for path in self._paths:
            with contextlib.suppress(Exception):  # no version references it; a cleanup removes it
                self._store.delete(path)

    def _begin(self) -> tuple[int, ObjectWriter]:
        number = len(self._paths) + 1
        path = side_file_path(self._data_file, number)
        writer = self._store.open_writer(path)
        self._paths.append(path)
        return number, writer

    def _begin_pack(self) -> None:
        self.close()
        self._pack_id, self._pack = self._begin()
        self._pack_size = 0


def _write_values(
    writer: ObjectWriter, data: pa.Array, rows: Int64Array, sizes: Int64Array
) -> None:
    """Write the values at ``rows`` of ``data`` one after another.

    Adjacent values are written without a copy; many small runs are copied into one buffer first.
    """
    starts = offsets_of(data)[rows]
    edges = np.flatnonzero(starts[1:] != (starts + sizes)[:-1]) + 1
    if int(sizes.sum()) < _WRITTEN_ALONE * (len(edges) + 1):
        data = data.take(pa.array(rows))
        starts, edges = offsets_of(data)[:-1], edges[:0]
    firsts = starts[np.concatenate([[0], edges])]
    lasts = (starts + sizes)[np.concatenate([edges - 1, [len(rows) - 1]])]
    payload = data.buffers()[2]
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        writer.write(payload.slice(first, last - first))
