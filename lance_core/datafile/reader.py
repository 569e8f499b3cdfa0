"""Read one data file: rows of fields, and global buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, islice, repeat
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.checksums.crc32c import crc32c_loop
from lance_core.checksums.seal import wrong_sum
from lance_core.concurrency.turns import leave_turn
from lance_core.datafile.content import FileContent, read_content
from lance_core.datafile.fast.column_groups import COLUMN_GROUPS, Groups, GroupsOfFile
from lance_core.datafile.fast.small_files import WHOLE_FILES, SmallFile, SmallFiles
from lance_core.datafile.metadata import FileMetadata
from lance_core.datafile.page_checks import PageChecks, checks_pages
from lance_core.datafile.page_span import PagesInMemory, page_span
from lance_core.datafile.page_statistics import PageStatistics
from lance_core.datafile.read_ahead import FileReadAhead, Kept
from lance_core.datafile.tail import Tail
from lance_core.encodings.arrow.ordered_rows import AnyRows, halves
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.decoding import (
    Decoding,
    RowIndices,
    RowRange,
    run_decoding,
    run_interleaved,
)
from lance_core.encodings.fast.version_paths import KEY_SEARCHES
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    PluginError,
    ResultTooLargeError,
    UnsupportedFeatureError,
)
from lance_core.imports.on_demand import Part, load
from lance_core.schema import Field, Schema
from lance_core.store.base import ObjectStore
from lance_core.store.ranges import view_ranges

if TYPE_CHECKING:
    from lance_core.encodings.decoding import ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex

T = TypeVar("T")

MAX_INTERLEAVED = 64
MAX_INTERLEAVED_ROWS = 1 << 13
"""Maximum decodings, and rows of each, that run concurrently if their bytes are in memory."""


class FileReader:
    """An open data file. Thread-safe; holds no system resource and need not be closed.

    Parsed column metadata is cached, so several reads parse it once. The file must not change while
    a reader exists; data files of a table never change.
    """

    __slots__ = (
        *("_checked", "_checks", "_content", "_context", "_groups", "_source", "_store", "_whole"),
        "path",
    )

    def __init__(
        self,
        store: ObjectStore,
        path: str,
        content: FileContent,
        registry: EncodingRegistry,
        source: FileReadAhead | PagesInMemory | SmallFile | None = None,
        checks: PageChecks | None = None,
    ) -> None:
        self.path = path
        self._checks = checks
        self._content = content
        self._store = store
        self._source = source or store
        self._whole: pa.Buffer | None = None
        self._context = DecodeContext(store.coalesce_gap, content.size, content.version, registry)
        self._checked: tuple[Sequence[Field], Mapping[int, int] | None] = (), None
        parses_all = store.read_ahead > 0
        self._groups = GroupsOfFile(content, self._context, parses_all=parses_all)

    @classmethod
    def open(
        cls,
        store: ObjectStore,
        path: str,
        *,
        registry: EncodingRegistry,
        size: int | None = None,
        small_files: SmallFiles | None = None,
        tail: Tail | None = None,
    ) -> FileReader:
        """Open the file at ``path``; a known ``size`` in bytes saves a request to the store.

        Makes one request for the end of the file, which may contain the whole file, and one or two
        more if the metadata is larger. ``small_files`` is a cache of small files that are read
        whole. ``tail``: the end of the file, if it was read before. Raises
        `ObjectNotFoundError`, `CorruptFileError` and `UnsupportedFeatureError`.
        """
        load(Part.FILES)
        source = None
        try:
            if tail is None:
                size = store.head(path).size if size is None else size
                whole = WHOLE_FILES.first(small_files, store, path, size)
                tail, source = whole or (Tail(store, path, size), None)
            content = read_content(tail, registry)
            checks = None
            if isinstance(content, FileMetadata) and checks_pages(registry):
                checks = content.page_checks() or None
            reader = cls(store, path, content, registry, source, checks)
        except CorruptFileError as error:
            raise error.at(path=path) from error
        if tail.is_whole_file and source is None:
            reader._whole = tail.buffer
        return reader

    def reading_ahead(self, rows: RowRange, cache: Kept, growth: int | None = None) -> FileReader:
        """A reader of the same file for a scan of ``rows``; see `FileReadAhead`.

        Returns this reader if reading ahead has no benefit.
        """
        content, store = self._content, self._store
        if not isinstance(content, FileMetadata) or self._whole is not None:
            return self
        if not store.read_ahead or self._source is not store:
            return self
        return self._with(store, FileReadAhead(store, content, rows, cache, growth))

    def _with(
        self,
        store: ObjectStore,
        source: FileReadAhead | PagesInMemory | SmallFile | None,
        whole: pa.Buffer | None = None,
    ) -> FileReader:
        """A reader of the same file that gets its bytes elsewhere."""
        registry = self._context.registry
        reader = FileReader(store, self.path, self._content, registry, source, self._checks)
        reader._whole = whole
        return reader

    def with_pages(
        self, fields: Sequence[Field], column_of: Mapping[int, int], rows: RowRange
    ) -> FileReader | None:
        """A reader of the same file that gets the pages of ``rows`` in one request.

        This reader where reads take no requests; None if the pages are not adjacent, see
        `page_span`. Raises `CorruptFileError`.
        """
        content, store = self._content, self._store
        if not isinstance(content, FileMetadata):
            return None
        try:
            span = page_span(content, fields, column_of, rows)
        except CorruptFileError as error:
            raise error.at(path=self.path) from error
        if span is None:
            return None
        if not store.read_ahead or self._whole is not None or self._source is not store:
            return self
        return self._with(store, PagesInMemory(store, span))

    def on(self, store: ObjectStore) -> FileReader:
        """The same open file, read through ``store``; what is in memory is not read again."""
        source = None if self._source is self._store else self._source
        assert not isinstance(source, ObjectStore)
        return self._with(store, source, self._whole)

    @property
    def version(self) -> FileVersion:
        """The file version."""
        return self._content.version

    @property
    def nbytes(self) -> int:
        """An estimate of the bytes that this object keeps; parsed metadata takes as much again."""
        whole = 0 if self._whole is None else self._whole.size
        return whole + 2 * self._content.metadata_size

    @property
    def metadata(self) -> FileMetadata:
        """The metadata of a 2.x file. Raises `UnsupportedFeatureError` for a 0.1 file."""
        if isinstance(self._content, FileMetadata):
            return self._content
        raise UnsupportedFeatureError(
            f"{self.path!r} has file version {self.version}: such a file can only be read as part "
            "of a table"
        )

    @property
    def num_rows(self) -> int:
        """Number of rows in the file. Raises `CorruptFileError`."""
        try:
            return self._content.num_rows
        except CorruptFileError as error:
            raise error.at(path=self.path) from error

    @property
    def schema(self) -> Schema:
        """The schema stored in the file. Raises `CorruptFileError`."""
        try:
            return self._content.schema
        except CorruptFileError as error:
            raise error.at(path=self.path) from error

    def read(
        self, fields: Sequence[Field], column_of: Mapping[int, int], rows: AnyRows
    ) -> list[pa.ChunkedArray]:
        """Read rows of fields; returns one array per field, in the order of ``rows``.

        ``fields`` are top-level fields, each with all or some of its children. ``column_of`` maps
        the ids of these fields and their children to physical columns, like `DataFile.columns`.
        Results have the fields' storage types. Buffers that are stored in Arrow's layout are not
        copied, unless many small ones are joined.

        A result has several chunks if one array cannot hold it. Raises `InvalidInputError` for rows
        outside of the file, `CorruptFileError` for an invalid file, `ResultTooLargeError` for more
        rows than memory can hold or a value that no array of its type can hold, and
        `UnsupportedFeatureError` for an unknown encoding.
        """
        try:
            self._check_rows(rows)
            return self._read(fields, column_of, rows)
        except (CorruptFileError, PluginError) as error:
            raise error.at(path=self.path) from error
        except ResultTooLargeError:
            raise
        except MemoryError as error:
            raise _too_large(len(rows), self.path) from error

    def _read(
        self, fields: Sequence[Field], column_of: Mapping[int, int], rows: AnyRows
    ) -> list[pa.ChunkedArray]:
        """See `read`; cuts the rows where one array cannot hold what a decoder returns."""
        try:
            groups, rest = self._grouped(fields, column_of)
            num_rows = len(rows)
            if num_rows == 0:
                return [_chunked(field, [], 0) for field in fields]
            content, context = self._content, self._context
            alone = [fields[position] for position in rest] if groups else fields
            decodings: Iterable[Decoding[Any]]
            decodings = content.decode_fields(alone, column_of, rows, context)
            if not groups:
                arrays = self._decoded(decodings, num_rows)
                return list(map(_chunked, fields, arrays, repeat(num_rows)))
            columns = self.metadata.columns
            of_groups = (group.decode(column_of, columns, rows, context) for group in groups)
            results = self._decoded(chain(of_groups, decodings), num_rows)
            members = chain.from_iterable(results[: len(groups)])
            positions = chain.from_iterable([*(group.positions for group in groups), rest])
            arrays_of = chain(members, results[len(groups) :])
            arrays_at = dict(zip(positions, arrays_of, strict=True))
            return [
                _chunked(field, arrays_at[position], num_rows)
                for position, field in enumerate(fields)
            ]
        except ResultTooLargeError as error:
            if len(fields) == 1 and len(rows) < 2:
                raise _value_too_large(fields[0], rows, self.path, error) from error
        # Not in the handler, because the traceback keeps alive what was decoded.
        if len(fields) > 1:
            return [self._read([field], column_of, rows)[0] for field in fields]
        first, second = (self._read(fields, column_of, part)[0] for part in halves(rows))
        return [pa.chunked_array([*first.chunks, *second.chunks], first.type)]

    def find_integers(
        self, field: Field, column_of: Mapping[int, int], rows: RowRange, index: IntegerIndex
    ) -> ValueMatches | None:
        """See `lance_core.encodings.fast.version_paths.find_integers`; raises as `read` does.

        None if there is no faster way than to decode all values.
        """
        content = self._content
        if not isinstance(content, FileMetadata):
            return None
        try:
            self._check_rows(rows)
            content.check_field(field, column_of)
            columns, context = content.columns, self._context
            search = KEY_SEARCHES.first(field, column_of, columns, rows, index, context)
            return None if search is None else run_decoding(search, self._get)
        except (CorruptFileError, PluginError) as error:
            raise error.at(path=self.path) from error

    def field_bytes(self, field: Field, index: int) -> int:
        """Bytes in the pages of ``field`` without its children; ``index`` is its physical column.

        Raises `CorruptFileError`.
        """
        try:
            return self._content.field_bytes(field, index)
        except CorruptFileError as error:
            raise error.at(path=self.path) from error

    def page_statistics(self, fields: Sequence[Field]) -> PageStatistics | None:
        """Statistics of runs of rows of ``fields``, which may be nested fields.

        None if the file has no statistics; fields without statistics are left out.
        """
        try:
            return run_decoding(self._content.page_statistics(fields, self._context), self._get)
        except (CorruptFileError, PluginError) as error:
            raise error.at(path=self.path) from error

    @property
    def rows_per_group(self) -> int | None:
        """The rows of each batch but the last; None if the version has no batches.

        Raises `UnsupportedFeatureError` if the batches of the file have different lengths.
        """
        return self._content.rows_per_group

    def read_global_buffer(self, index: int) -> pa.Buffer:
        """The bytes of global buffer ``index``; number 0 is the ``FileDescriptor``."""
        buffers = self.metadata.global_buffers
        if not 0 <= index < len(buffers):
            raise InvalidInputError(
                f"global buffer {index} was asked for, but {self.path!r} has {len(buffers)}"
            )
        (buffer,) = self._get([buffers[index]])
        sums = self.metadata.global_sums
        if sums and index:
            computed, expected = crc32c_loop()([buffer])[0], sums[index - 1]
            if computed != expected:
                error = wrong_sum(buffer.size, computed, expected, buffers[index].start)
                raise error.at(path=self.path, field=f"global_buffers[{index}]")
        return buffer

    @property
    def has_page_sums(self) -> bool:
        """True if the first page with buffers has checksums. Raises `CorruptFileError`."""
        content = self._content
        return isinstance(content, FileMetadata) and content.columns.has_sums

    def check_pages(self, columns: Sequence[int] | None = None) -> int:
        """Check all pages, or those of ``columns``, and global buffers against their checksums.

        Returns the bytes of pages that have checksums. Raises `CorruptFileError`, naming column,
        page and offset.
        """
        content = self._content
        if not isinstance(content, FileMetadata):
            return 0
        for number in range(1, len(content.global_buffers)):
            self.read_global_buffer(number)
        try:
            return content.page_checks().check_all(partial(self._get, is_checked=True), columns)
        except CorruptFileError as error:
            raise error.at(path=self.path) from None

    def _grouped(self, fields: Sequence[Field], column_of: Mapping[int, int]) -> Groups:
        """The fields to decode together, and the indices of the others; all are checked."""
        checked, columns = self._checked
        if columns is column_of and len(checked) == len(fields) and all(map(is_, checked, fields)):
            return (), range(len(fields))  # the same fields as in the last read
        groups = COLUMN_GROUPS.first(self._groups, fields, column_of)
        if groups is not None:
            return groups
        for field in fields:
            self._content.check_field(field, column_of)
        self._checked = tuple(fields), column_of
        return (), range(len(fields))

    def _decoded(self, decodings: Iterable[Decoding[T]], num_rows: int) -> list[T]:
        """The results of ``decodings`` of ``num_rows`` rows each.

        Many rows or columns are decoded one after the other if their bytes are in memory: then each
        result is complete before the next decoding starts, which saves memory, and thousands of
        unfinished ones would slow down Python's garbage collector. Otherwise, each call of the
        store gets the requests of all.
        """
        if self._whole is not None or (self._source is self._store and self._store.has_views):
            most = MAX_INTERLEAVED if num_rows <= MAX_INTERLEAVED_ROWS else 0
            first = list(islice(decodings, most + 1))
            if len(first) > most:
                return [run_decoding(decoding, self._get) for decoding in chain(first, decodings)]
            decodings = first
        return run_decoding(run_interleaved(list(decodings)), self._get)

    def _get(self, ranges: Sequence[ByteRange], *, is_checked: bool = False) -> Sequence[pa.Buffer]:
        """The bytes of ``ranges``; ``is_checked``: of pages only what is being checked already."""
        if not ranges:
            return ()
        if self._checks is not None and not is_checked:
            return self._checks.get(ranges, partial(self._get, is_checked=True))
        if self._whole is None:
            if not self._store.has_views:
                leave_turn()
            return self._source.get_ranges(self.path, ranges)
        return view_ranges(self._whole, ranges, self.path)

    def _check_rows(self, rows: AnyRows) -> None:
        num_rows = self._content.num_rows
        if isinstance(rows, RowIndices):
            if not len(rows.values):
                return
            first, stop = int(rows.values[0]), int(rows.values[-1]) + 1
        elif isinstance(rows, RowRange):
            first, stop = rows.start, rows.stop
        else:
            first, stop = rows.first, rows.last + 1
        if not 0 <= first <= stop <= num_rows:
            raise InvalidInputError(
                f"rows {first} to {stop} were asked for, but {self.path!r} has {num_rows}"
            )


def _too_large(num_rows: int, path: str) -> ResultTooLargeError:
    """The error for rows that memory cannot hold; even a small file may have very many rows."""
    return ResultTooLargeError(
        f"{num_rows} rows of {path!r} do not fit into memory; ask for fewer at once"
    )


def _value_too_large(
    field: Field, rows: AnyRows, path: str, error: ResultTooLargeError
) -> ResultTooLargeError:
    """The error for a single row that one array of its type cannot hold."""
    return ResultTooLargeError(
        f"field {field.name!r}, row {rows.first} of {path!r}: {error}; leave out this row or "
        "column, and write such values to a column of type large_string or large_binary"
    )


def _chunked(field: Field, chunks: list[pa.Array], num_rows: int) -> pa.ChunkedArray:
    result = pa.chunked_array(chunks, field.storage_type)
    if len(result) != num_rows:
        raise CorruptFileError(
            f"{len(result)} rows were decoded instead of {num_rows}", field=field.name
        )
    return result
