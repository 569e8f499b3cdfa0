"""Batches that are kept in a temporary file from the first pass on."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa


class DiskCache:
    """A temporary folder with the batches of one pass, which is removed with this object."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """``folder``: where to make it, the system's place for temporary files by default."""
        self._folder = tempfile.mkdtemp(prefix="lance-torch-", dir=folder)
        self._path = Path(self._folder, "batches.arrow")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    @property
    def is_whole(self) -> bool:
        """Whether a pass has come to its end."""
        return self._path.exists()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of a cache that is whole."""
        yield from pa.ipc.open_stream(pa.memory_map(str(self._path)))

    def kept(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches; after the last one, they are kept."""
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
            writer = None
            for batch in batches:
                writer = writer or pa.ipc.new_stream(file, batch.schema)
                writer.write_batch(batch)
                yield batch
            if writer is None:
                return
            writer.close()
        Path(file.name).rename(self._path)
