"""Rows on disk in partitions by the hash of their keys, so that equal keys are in one partition.

A partition is a file with an Arrow stream in a temporary folder. It is read by mapping it into
memory, so that only the columns in use take memory, which the system can take back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa

from lance_core.dataset.write.merge_insert.key_hashes import hash_keys
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.store.temporary_folder import TemporaryFolder, spill_errors

_PARTITION_BITS = 6
_BUFFERS_PER_BUDGET = 8
"""Rows are buffered up to this fraction of the memory budget before they are partitioned."""


class SpilledRows:
    """Rows in partitions. As a context manager, it completes the files."""

    def __init__(
        self,
        folder: TemporaryFolder,
        name: str,
        schema: pa.Schema,
        keys: Sequence[str],
        budget: float,
    ) -> None:
        self._folder, self._name, self._schema, self._keys = folder, name, schema, list(keys)
        self._limit = budget / _BUFFERS_PER_BUDGET
        self._waiting: list[pa.Table] = []
        self._size = 0
        self._files = contextlib.ExitStack()
        self._writers: dict[int, pa.RecordBatchWriter] = {}

    @property
    def num_parts(self) -> int:
        return 1 << _PARTITION_BITS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            with spill_errors():
                self._files.close()
            self._waiting.clear()
            self._writers.clear()

    def write(self, rows: pa.Table) -> None:
        """Add rows; raises `StoreError` if the disk is full."""
        self._waiting.append(rows)
        self._size += rows.nbytes
        if self._size > self._limit:
            self._flush()

    def part(self, number: int) -> pa.Table:
        """The rows of a partition, mapped into memory."""
        path = self._folder.file(f"{self._name}-{number}.arrow")
        if not path.exists():
            return self._schema.empty_table()
        with spill_errors():
            return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()

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
                    self._writer(number).write_table(ordered.slice(start, count))
            start += count

    def _writer(self, number: int) -> pa.RecordBatchWriter:
        if number not in self._writers:
            path = str(self._folder.file(f"{self._name}-{number}.arrow"))
            sink = self._files.enter_context(pa.OSFile(path, "wb"))
            writer = pa.ipc.new_stream(sink, self._schema)
            self._writers[number] = self._files.enter_context(writer)
        return self._writers[number]
