"""Writing rows as new fragments: one data file each, not yet part of any version."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from lance_core.datafile.legacy_writer import DEFAULT_ROWS_PER_GROUP, LegacyFileWriter
from lance_core.datafile.writer import FileWriter
from lance_core.dataset.fragment_metadata import FragmentMetadata
from lance_core.dataset.progress import FragmentWriteProgress, NoopFragmentWriteProgress
from lance_core.dataset.snapshot import TableRoot
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError
from lance_core.schema import Schema
from lance_core.schema.align import align_batch
from lance_core.store.base import ObjectWriter
from lance_core.table.data_file import DataFile
from lance_core.table.fragment import Fragment
from lance_core.table.paths import data_file_name, data_file_path

DEFAULT_MAX_ROWS_PER_FILE = 1024 * 1024
DEFAULT_MAX_BYTES_PER_FILE = 90 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How data files are cut.

    ``max_rows_per_file`` is exact; ``max_bytes_per_file`` is looked at between batches.
    ``data_cache_bytes`` and ``max_page_bytes`` cut pages, see `page_limits`; ``max_rows_per_group``
    cuts the batches of files of version 0.1.
    """

    version: FileVersion
    max_rows_per_file: int = DEFAULT_MAX_ROWS_PER_FILE
    max_bytes_per_file: int = DEFAULT_MAX_BYTES_PER_FILE
    data_cache_bytes: int | None = None
    max_page_bytes: int | None = None
    progress: FragmentWriteProgress | None = None
    max_rows_per_group: int = DEFAULT_ROWS_PER_GROUP

    def __post_init__(self) -> None:
        for name in ("max_rows_per_file", "max_bytes_per_file", "max_rows_per_group"):
            limit = getattr(self, name)
            if not isinstance(limit, int) or limit < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {limit!r}")
        for name in ("data_cache_bytes", "max_page_bytes"):
            limit = getattr(self, name)
            if limit is not None and not isinstance(limit, int):
                raise InvalidInputError(f"{name} must be a whole number, got {limit!r}")
        for name in ("begin", "complete"):
            if self.progress is not None and not callable(getattr(self.progress, name, None)):
                raise InvalidInputError(f"progress has no method {name!r}: {self.progress!r}")


def write_fragments(
    root: TableRoot, reader: pa.RecordBatchReader, schema: Schema, options: WriteOptions
) -> list[Fragment]:
    """Write all rows of ``reader``, whose columns are matched to ``schema`` by name.

    No rows give no fragments. If anything fails, the files written so far are removed: no
    transaction names them yet.
    """
    done: list[Fragment] = []
    try:
        with _FragmentWriter(root, schema, options, done) as writer:
            for batch in reader:
                writer.write(align_batch(batch, schema))
    except BaseException:
        discard(root, done)
        raise
    return done


def discard(root: TableRoot, fragments: list[Fragment]) -> None:
    """Remove the data files of fragments that no version names and none ever will."""
    for fragment in fragments:
        for file in fragment.files:
            with contextlib.suppress(Exception):  # what stays is unreferenced; cleanup collects it
                root.store.delete(data_file_path(file.path))


class _FragmentWriter:
    """Cuts a stream of batches into files. A context manager: finishes, or aborts on an error."""

    def __init__(
        self, root: TableRoot, schema: Schema, options: WriteOptions, done: list[Fragment]
    ) -> None:
        self._root = root
        self._schema = schema
        self._options = options
        self._done = done
        self._progress = options.progress or NoopFragmentWriteProgress()
        self._file: FileWriter | LegacyFileWriter | None = None
        self._name = ""

    def __enter__(self) -> _FragmentWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._file is None:
            return
        if kind is None:
            self._finish()
        else:
            self._file.abort()

    def write(self, batch: pa.RecordBatch) -> None:
        for part in self._parts(batch):
            file = self._file
            assert file is not None
            file.write_batch(part)
            full = file.num_rows >= self._options.max_rows_per_file
            if full or file.tell() >= self._options.max_bytes_per_file:
                self._finish()

    def _parts(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The batch cut so that no part crosses the limits of the file that it will go to."""
        start = 0
        while start < batch.num_rows:
            if self._file is None:
                self._start()
            rows = min(batch.num_rows - start, self._room(batch))
            yield batch.slice(start, rows)
            start += rows

    def _room(self, batch: pa.RecordBatch) -> int:
        """Rows of ``batch`` that still fit into the open file, at least one."""
        file = self._file
        assert file is not None
        rows = self._options.max_rows_per_file - file.num_rows
        free = self._options.max_bytes_per_file - file.tell()
        if batch.nbytes > free:
            rows = min(rows, free * batch.num_rows // batch.nbytes)
        return max(1, rows)

    def _start(self) -> None:
        self._name = data_file_name(uuid.uuid4())
        self._file = self._open(self._root.store.open_writer(data_file_path(self._name)))
        self._progress.begin(FragmentMetadata(0, [], 0))

    def _open(self, target: ObjectWriter) -> FileWriter | LegacyFileWriter:
        options = self._options
        if options.version is FileVersion.V0_1:
            rows = options.max_rows_per_group
            return LegacyFileWriter(target, self._schema, rows_per_group=rows)
        return FileWriter(
            target,
            self._schema,
            registry=self._root.registry,
            version=options.version,
            data_cache_bytes=options.data_cache_bytes,
            max_page_bytes=options.max_page_bytes,
        )

    def _finish(self) -> None:
        file, self._file = self._file, None
        assert file is not None
        written = file.finish()
        fragment = Fragment(
            id=0,
            files=(
                DataFile(
                    path=self._name,
                    fields=tuple(written.field_ids),
                    column_indices=tuple(written.column_indices),
                    file_major_version=written.major,
                    file_minor_version=written.minor,
                    file_size_bytes=written.size_bytes,
                ),
            ),
            physical_rows=written.num_rows,
        )
        self._done.append(fragment)
        self._progress.complete(FragmentMetadata.of(fragment, written.num_rows))
