"""Rows on disk in partitions by the hash of their keys, so that equal keys are in one partition.

All partitions are in one file of a temporary folder: an Arrow stream for the rows of a partition
that were written together, and where each stream is. The file is read by mapping it into memory, so
that only the columns in use take memory, which the system can take back.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from lance_core.dataset.write.merge_insert.key_hashes import hash_keys
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.store.temporary_folder import TemporaryFolder, spill_errors

_PARTITION_BITS = 6
_BUFFERS_PER_BUDGET = 8
"""Rows are buffered up to this fraction of the memory budget before they are partitioned."""


class _Piece(NamedTuple):
    """Where a stream with rows of a partition is in the file: offset and length in bytes."""

    offset: int
    length: int


class SpilledRows:
    """Rows in partitions. As a context manager, it completes the file."""

    def __init__(
        self,
        folder: TemporaryFolder,
        name: str,
        schema: pa.Schema,
        keys: Sequence[str],
        budget: float,
    ) -> None:
        self._path = folder.file(f"{name}.arrow")
        self._schema, self._keys = schema, list(keys)
        self._limit = budget / _BUFFERS_PER_BUDGET
        self._waiting: list[pa.Table] = []
        self._size = 0
        self._pieces: dict[int, list[_Piece]] = {}
        self._sink: pa.OSFile | None = None
        self._map: pa.Buffer | None = None

    @property
    def num_parts(self) -> int:
        return 1 << _PARTITION_BITS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error_type is None:
                self._flush()
        finally:
            self._waiting.clear()
            if self._sink is not None:
                with spill_errors():
                    self._sink.close()

    def write(self, rows: pa.Table) -> None:
        """Add rows; raises `StoreError` if the disk is full."""
        self._waiting.append(rows)
        self._size += rows.nbytes
        if self._size > self._limit:
            self._flush()

    def part(self, number: int) -> pa.Table:
        """The rows of a partition, mapped into memory."""
        tables = [pa.ipc.open_stream(self._mapped(piece)).read_all() for piece in self._of(number)]
        return pa.concat_tables([self._schema.empty_table(), *tables])

    def _of(self, number: int) -> Sequence[_Piece]:
        return self._pieces.get(number, ())

    def _mapped(self, piece: _Piece) -> pa.Buffer:
        if self._map is None:
            with spill_errors(), pa.memory_map(str(self._path)) as source:
                self._map = source.read_buffer()
        return self._map.slice(piece.offset, piece.length)

    def _flush(self) -> None:
        rows = pa.concat_tables([self._schema.empty_table(), *self._waiting])
        self._waiting.clear()
        self._size = 0
        hashes = hash_keys([rows.column(name) for name in self._keys])
        parts = (hashes >> np.uint64(64 - _PARTITION_BITS)).astype(np.int64)
        counts = np.bincount(parts, minlength=self.num_parts)
        ordered = take_rows(rows, from_numpy(np.argsort(parts, kind="stable")))
        start = 0
        for number, count in enumerate(counts.tolist()):
            if count:
                with spill_errors():
                    self._append(number, ordered.slice(start, count))
            start += count

    def _append(self, number: int, rows: pa.Table) -> None:
        if self._sink is None:
            self._sink = pa.OSFile(str(self._path), "wb")
        offset = self._sink.tell()
        with pa.ipc.new_stream(self._sink, self._schema) as writer:
            writer.write_table(rows)
        # Arrow reads in place only what begins at a multiple of 64 bytes.
        end = self._sink.tell()
        self._sink.write(bytes(-end % 64))
        self._pieces.setdefault(number, []).append(_Piece(offset, end - offset))
