"""Write rows as new fragments with one data file each, not yet part of a version."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from lance_core.datafile.file_output import (
    FileOptions,
    FileOutput,
    FileWriteResult,
    check_positive,
)
from lance_core.datafile.page_limits import page_limits
from lance_core.datafile.writer import FieldGroup, FileWriter
from lance_core.dataset.blobs.external import ExternalBlobs
from lance_core.dataset.snapshot.snapshot import TableRoot
from lance_core.dataset.values.fragment_metadata import DataFile as GivenDataFile
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.dataset.values.progress import FragmentWriteProgress
from lance_core.dataset.values.progress_bar import progress_bar
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.dataset.write.target_bases import TargetBase
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.imports.on_demand import lazy_module
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Schema, has_blobs_v2
from lance_core.schema.align import align_batch
from lance_core.schema.blobs.views import as_given
from lance_core.store.base import ObjectWriter
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.paths import data_file_name

if TYPE_CHECKING:
    from lance_core.dataset.blobs import ingest, side_files
    from lance_core.table.manifest_parts import BasePath
else:
    ingest = lazy_module("lance_core.dataset.blobs.ingest")
    side_files = lazy_module("lance_core.dataset.blobs.side_files")

DEFAULT_MAX_ROWS_PER_FILE = 1024 * 1024
DEFAULT_MAX_BYTES_PER_FILE = 90 * 1024 * 1024 * 1024
"""A file ends at the first batch after this size."""

NO_LIMIT = 1 << 62
"""A number of rows or bytes that no file reaches."""


@dataclass(frozen=True, slots=True)
class BlobOptions:
    """Options for version 2 blobs that are stored outside of data files.

    ``pack_limit``: maximum bytes of a side file with several blobs; None uses each field's limit.
    ``external``: the URIs that may be stored. ``ingest``: True stores the bytes at the URIs
    instead.
    """

    pack_limit: int | None = None
    external: ExternalBlobs = field(default_factory=ExternalBlobs)
    ingest: bool = False

    @classmethod
    def of_moved_rows(cls, base_paths: Iterable[BasePath]) -> Self:
        """Options for rows of a table: they may have blobs at any URI, which must not be refused.

        ``base_paths`` are those of the table.
        """
        return cls(external=ExternalBlobs.of(base_paths, True))

    def __post_init__(self) -> None:
        limit = self.pack_limit
        if limit is not None and (not isinstance(limit, int) or limit < 0):
            raise InvalidInputError(
                "blob_pack_file_size_threshold must be a non-negative number of bytes, got "
                f"{limit!r}"
            )


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for splitting rows into data files.

    ``files``: the layout of each file. ``max_rows_per_file`` is exact; ``max_bytes_per_file`` is
    checked between batches; unless ``splits_batches`` is False, a batch is divided where it would
    exceed the limit. ``blobs``: options for version 2 blobs. ``targets``: where the files go in
    turn, by default to the table's root.
    """

    files: FileOptions
    max_rows_per_file: int = DEFAULT_MAX_ROWS_PER_FILE
    max_bytes_per_file: int = DEFAULT_MAX_BYTES_PER_FILE
    progress: FragmentWriteProgress | None = None
    blobs: BlobOptions = field(default_factory=BlobOptions)
    splits_batches: bool = True
    targets: tuple[TargetBase, ...] = ()

    def __post_init__(self) -> None:
        check_positive("max_rows_per_file", self.max_rows_per_file)
        check_positive("max_bytes_per_file", self.max_bytes_per_file)
        for name in ("begin", "complete"):
            if self.progress is not None and not callable(getattr(self.progress, name, None)):
                raise InvalidInputError(f"progress has no method {name!r}: {self.progress!r}")


def write_fragments(
    root: TableRoot, batches: Iterable[pa.RecordBatch], schema: Schema, options: WriteOptions
) -> list[Fragment]:
    """Write all rows of ``batches`` as fragments; columns are matched to ``schema`` by name.

    Without rows there are no fragments. After a failure the files written so far are removed,
    because no transaction references them yet.
    """
    schema = as_given(schema)
    with (
        discard_on_failure(root, options.targets) as files,
        _FragmentWriter(root, schema, options, files.data) as writer,
        progress_bar("write") as advance,
    ):
        for batch in batches:
            aligned = align_batch(batch, schema, root.registry.kernels)
            for part in _ingested(root, aligned, schema, options):
                writer.write(part)
            advance(batch.num_rows)
    return files.data


def write_field_groups(
    root: TableRoot,
    groups: Sequence[FieldGroup],
    schema: Schema,
    options: WriteOptions,
    done: list[Fragment],
) -> None:
    """Append a fragment with the rows of ``groups`` to ``done``; see `FileWriter.finish_groups`.

    ``schema`` has no blobs, and the version of ``options`` is 2.0 or later. The limits of
    ``options`` on rows and bytes of files have no effect. After an error that ``options.progress``
    raises, ``done`` may have the fragment.
    """
    with _FragmentWriter(root, schema, options, done) as writer:
        writer.write_groups(groups)


def _ingested(
    root: TableRoot, batch: pa.RecordBatch, schema: Schema, options: WriteOptions
) -> Iterator[pa.RecordBatch]:
    if options.blobs.ingest and has_blobs_v2(schema.complex_fields):
        return ingest.Ingest(root.config).batches(batch, schema.fields)
    return iter([batch])


class _FragmentWriter:
    """Splits a stream of batches into files; as a context manager, aborts after an error."""

    def __init__(
        self, root: TableRoot, schema: Schema, options: WriteOptions, done: list[Fragment]
    ) -> None:
        self._root = root
        self._schema = schema
        self._options = options
        self._done = done
        self._progress = options.progress
        self._row_bits = schema.row_bits()
        self._file: FileOutput | None = None
        self._side: side_files.SideFiles | None = None
        self._name = ""
        self._targets = itertools.cycle(options.targets or (TargetBase(root.store),))
        self._target = TargetBase(root.store)

    def __enter__(self) -> _FragmentWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._file is None:
            return
        if kind is None:
            self._finish()
        else:
            self._file.abort()
            if self._side is not None:
                self._side.abort()

    def write(self, batch: pa.RecordBatch) -> None:
        for part in self._parts(batch):
            file = self._file
            assert file is not None
            file.write_batch(part)
            full = file.num_rows >= self._options.max_rows_per_file
            if full or file.tell() >= self._options.max_bytes_per_file:
                self._finish()

    def write_groups(self, groups: Sequence[FieldGroup]) -> None:
        """Write a whole file."""
        self._start()
        assert isinstance(self._file, FileWriter)
        self._add(self._file.finish_groups(groups))

    def _parts(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The batch, split where a file reaches its limits."""
        start = 0
        while start < batch.num_rows:
            if self._file is None:
                self._start()
            rows = min(batch.num_rows - start, self._room(batch))
            yield batch.slice(start, rows)
            start += rows

    def _room(self, batch: pa.RecordBatch) -> int:
        """The number of rows of ``batch`` that still fit into the open file, at least one."""
        file = self._file
        assert file is not None
        rows = self._options.max_rows_per_file - file.num_rows
        free = self._options.max_bytes_per_file - file.tell()
        if self._options.splits_batches and self._may_exceed(batch, free):
            free = max(free, self._min_part_bytes())
            rows = min(rows, free * batch.num_rows // max(batch.nbytes, 1))
        return max(1, rows)

    def _min_part_bytes(self) -> int:
        """Smaller parts only take longer: the size of a file grows when a page is full."""
        files = self._options.files
        limits = page_limits(self._schema.num_fields, files.data_cache_bytes, files.max_page_bytes)
        return limits.flush_bytes // 8

    def _may_exceed(self, batch: pa.RecordBatch, limit: int) -> bool:
        """False if ``batch`` certainly has at most ``limit`` bytes.

        For thousands of columns, this takes a tenth of the time of `pa.RecordBatch.nbytes`.
        """
        bits, others = self._row_bits
        fixed = batch.num_rows * bits // 8 + 2 * batch.num_columns
        return bool(fixed + others * batch.get_total_buffer_size() > limit)

    def _start(self) -> None:
        self._name = data_file_name(uuid.uuid4())
        self._target = next(self._targets)
        path, store = self._target.data_file_path(self._name), self._target.store
        if has_blobs_v2(self._schema.complex_fields):
            blobs = self._options.blobs
            self._side = side_files.SideFiles(store, path, blobs.external.refer, blobs.pack_limit)
        target = store.open_writer(path)
        try:
            self._file = self._open(target)
        except BaseException:
            target.abort()  # a field that cannot be stored; nobody else knows this writer
            raise
        if self._progress is not None:
            self._progress.begin(FragmentMetadata(0, [GivenDataFile(self._name, [])], 0))

    def _open(self, target: ObjectWriter) -> FileOutput:
        files, registry = self._options.files, self._root.registry
        spec = registry.file_version(files.version)
        if spec.writer is None:
            raise UnsupportedFeatureError(f"files of version {files.version} cannot be written")
        open_file = registry.resolved(spec.writer)
        output: FileOutput = open_file(
            target, self._schema, files, registry=registry, blobs=self._side
        )
        return output

    def _finish(self) -> None:
        assert self._file is not None
        self._add(self._finished(self._file))

    def _add(self, written: FileWriteResult) -> None:
        """Add the fragment of a finished file."""
        self._file = self._side = None
        fragment = new_fragment(self._name, written, self._target.base_id)
        self._done.append(fragment)
        if self._progress is not None:
            self._progress.complete(FragmentMetadata.of(fragment, written.num_rows))

    def _finished(self, file: FileOutput) -> FileWriteResult:
        """Finish the side files and then the file, which references them."""
        if self._side is None:
            return file.finish()
        try:
            self._side.close()
            return file.finish()
        except BaseException:
            file.abort()
            self._side.abort()
            raise


def new_fragment(name: str, written: FileWriteResult, base_id: int | None = None) -> Fragment:
    """The fragment with id 0 and the rows of one new file, in the base path ``base_id``."""
    file = DataFile(
        path=name,
        fields=tuple(written.field_ids),
        column_indices=tuple(written.column_indices),
        file_major_version=written.major,
        file_minor_version=written.minor,
        file_size_bytes=written.size_bytes,
        base_id=base_id,
    )
    return Fragment(id=0, files=(file,), physical_rows=written.num_rows)
