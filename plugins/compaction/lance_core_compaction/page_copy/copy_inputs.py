"""The files and rows of fragments as the input of a copy of pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.file_versions import FileVersion
from lance_core.hookspecs.stored_pages import (
    IO_THREADS,
    DataFile,
    FilePart,
    FileReader,
    Fragment,
    Ints,
    RawColumns,
    in_order,
    read_columns,
)
from lance_core.hookspecs.stores import COPY_BYTES, ObjectStore
from lance_core.maintenance import Snapshot
from lance_core_compaction.page_copy.field_layout import FieldLayout
from lance_core_compaction.page_copy.file_bytes import SourceFile
from lance_core_compaction.page_copy.file_copy import STANDARD_ENCODING, CopyInput
from lance_core_compaction.page_copy.pieces import NO_COPY, SourceRows
from lance_core_compaction.page_copy.source_pages import SourcePages, source_pages


def copy_inputs(
    table: Snapshot,
    fragments: Sequence[Fragment],
    layouts: Sequence[FieldLayout],
    version: FileVersion,
    *,
    is_strict: bool,
    batch_bytes: int = COPY_BYTES,
) -> CopyInput:
    """Open the files of ``fragments`` and parse the metadata of their pages.

    A file from which pages cannot be copied raises `UnsupportedFeatureError` if ``is_strict``;
    otherwise its columns are read and encoded again. Raises `CorruptFileError` and
    `ObjectNotFoundError`.
    """
    named = [file for fragment in fragments for file in fragment.files]
    sources = _sources(table, named, version, is_strict)
    pages, sources_by_number = _source_pages(sources, is_strict)
    is_standard = np.array(
        [encoding == STANDARD_ENCODING for encoding in pages.encodings], np.bool_
    )
    if is_strict and not is_standard.all():
        raise UnsupportedFeatureError("a column has an encoding of its own")
    first_column = np.full(len(named) + 1, NO_COPY)
    first_column[list(sources_by_number)] = pages.first_column[:-1]
    columns = _columns(fragments, layouts, first_column, is_standard)
    rows = [
        SourceRows(
            table.physical_rows(fragment),
            _deleted(table, fragment),
            own,
            f"fragment {fragment.id}",
        )
        for fragment, own in zip(fragments, columns, strict=True)
    ]
    files = [
        SourceFile(_store(table, named[number]), source.path, batch_bytes, source.content)
        for number, source in sources_by_number.items()
    ]
    return CopyInput(files, pages, rows)


def _store(table: Snapshot, file: DataFile) -> ObjectStore:
    return table.store_of(table.base(file.base_id))


_NO_ROWS = np.empty(0, np.int64)


def _deleted(table: Snapshot, fragment: Fragment) -> Ints:
    """The ascending offsets of the deleted rows."""
    offsets = table.deleted_offsets(fragment)
    return _NO_ROWS if offsets is None else offsets.astype(np.int64)


class _Source(NamedTuple):
    """A file from which pages can be copied; ``content`` is that of a `SourceFile`."""

    path: str
    columns: RawColumns
    content: pa.Buffer | None = None


def _sources(
    table: Snapshot, files: Sequence[DataFile], version: FileVersion, is_strict: bool
) -> list[_Source | None]:
    """The files, with None for those from which no page can be copied."""
    alike = _alike_sources(table, files, version)
    if alike is not None:
        return alike
    readers: Iterator[FileReader] = map(table.reader, files)
    if table.is_io_bound:
        readers = in_order(table.reader, files, IO_THREADS, is_io_bound=True)
    sources: list[_Source | None] = []
    known = _NumColumns()
    for file, reader in zip(files, readers, strict=True):
        reason = _why_no_source(reader, version, known.of(file))
        if reason is not None and is_strict:
            raise UnsupportedFeatureError(f"{reader.path!r} {reason}")
        sources.append(None if reason else _Source(reader.path, reader.metadata.columns))
    return sources


def _alike_sources(
    table: Snapshot, files: Sequence[DataFile], version: FileVersion
) -> list[_Source | None] | None:
    """All files, if they are local, alike, and pages of each can be copied; else None."""
    bases = {file.base_id for file in files}
    sizes = [file.trusted_size for file in files]
    if table.is_io_bound or len(bases) != 1 or None in sizes:
        return None
    base = table.base(bases.pop())
    pairs = zip(files, sizes, strict=True)
    parts = [FilePart(file.store_path(base), size or 0, 0) for file, size in pairs]
    try:
        joined = read_columns(table.store_of(base), parts)
    except (CorruptFileError, UnsupportedFeatureError):
        return None  # opening one after another finds the reason
    known = _NumColumns()
    is_known = all(known.of(file) == joined.num_columns for file in files)
    if joined.version is not version or (joined.num_buffers != 1).any() or not is_known:
        return None
    contents = joined.contents or [None] * len(parts)
    columns = zip(parts, joined.files, contents, strict=True)
    return [_Source(part.path, own, content) for part, own, content in columns]


class _NumColumns:
    """The number of columns of files that the manifest names; most files have the same ones."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], int] = {}

    def of(self, file: DataFile) -> int:
        columns = file.column_indices
        if columns not in self._known:
            self._known[columns] = sum(column >= 0 for column in columns)
        return self._known[columns]


def _why_no_source(reader: FileReader, version: FileVersion, known: int) -> str | None:
    """The reason why no page can be copied of a file of which ``known`` columns are named."""
    if reader.version is not version:
        return f"has file version {reader.version}, not {version}"
    if len(reader.metadata.global_buffers) > 1:
        return "has additional global buffers"
    if len(reader.metadata.columns) != known:
        return f"has {len(reader.metadata.columns)} columns, but only {known} are known"
    return None


def _source_pages(
    sources: Sequence[_Source | None], is_strict: bool
) -> tuple[SourcePages, dict[int, _Source]]:
    """The pages of the files, and the files by number, without those that cannot be copied."""
    copyable = {number: source for number, source in enumerate(sources) if source is not None}
    try:
        return _pages_of(list(copyable.values())), copyable
    except UnsupportedFeatureError:
        if is_strict:
            raise
    parseable = {number: source for number, source in copyable.items() if _can_parse(source)}
    return _pages_of(list(parseable.values())), parseable


def _pages_of(sources: Sequence[_Source]) -> SourcePages:
    return source_pages([source.columns for source in sources], [source.path for source in sources])


def _can_parse(source: _Source) -> bool:
    try:
        _pages_of([source])
    except UnsupportedFeatureError:
        return False
    return True


def _columns(
    fragments: Sequence[Fragment],
    layouts: Sequence[FieldLayout],
    first_column: Ints,
    is_standard: npt.NDArray[np.bool_],
) -> Ints:
    """A row for each fragment: the number in the page table of each column of the new file.

    It is `NO_COPY` for columns that are not copied. ``first_column``: the number of the first
    column of each file, or `NO_COPY`; its last item is `NO_COPY`.
    """
    known: dict[object, _Places] = {}  # most fragments have files with the same columns
    homes = []
    for fragment in fragments:
        key = tuple([(file.fields, file.column_indices) for file in fragment.files])
        if key not in known:
            known[key] = _places(fragment, layouts)
        homes.append(known[key])
    edges = np.cumsum([0, *(len(fragment.files) for fragment in fragments)])
    owners = np.array([home.files for home in homes]) + edges[:-1, None]
    columns = np.array([home.columns for home in homes])
    firsts = first_column[np.where(columns == NO_COPY, len(first_column) - 1, owners)]
    numbers = np.where(firsts == NO_COPY, NO_COPY, firsts + columns)
    return np.where(np.append(is_standard, False)[numbers], numbers, NO_COPY)


class _Places(NamedTuple):
    """For each column of the new file: the number of the file of a fragment, and the column in it.

    The column is `NO_COPY` if no file of the fragment has it.
    """

    files: Ints
    columns: Ints


def _places(fragment: Fragment, layouts: Sequence[FieldLayout]) -> _Places:
    home = fragment.file_of_field()
    columns = [file.columns() for file in fragment.files]
    pairs = []
    for layout in layouts:
        ids = [column.field_id for column in layout.columns]
        (number, *others) = {home.get(id_, -1) for id_ in ids}
        if others or number < 0 or not all(id_ in columns[number] for id_ in ids):
            pairs += [(0, NO_COPY)] * len(ids)
        else:
            pairs += [(number, columns[number][id_]) for id_ in ids]
    return _Places(*np.array(pairs, np.int64).reshape(len(pairs), 2).T)
