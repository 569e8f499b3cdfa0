"""The files and rows of fragments as the input of a copy of pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.datafile.binary_copy.field_layout import FieldLayout
from lance_core.datafile.binary_copy.file_bytes import SourceFile
from lance_core.datafile.binary_copy.file_copy import STANDARD_ENCODING, CopyInput
from lance_core.datafile.binary_copy.pieces import NO_COPY, SourceRows
from lance_core.datafile.binary_copy.source_pages import RawColumns, SourcePages, source_pages
from lance_core.datafile.joined_files import FilePart, read_columns
from lance_core.datafile.reader import FileReader
from lance_core.datafile.varints import Ints
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.store.base import COPY_BYTES
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment


def copy_inputs(
    snapshot: Snapshot,
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
    found = _sources(snapshot, named, version, is_strict)
    table, kept = _source_pages(found, is_strict)
    number_of = {file: number for number, file in enumerate(kept)}
    is_standard = np.array([one == STANDARD_ENCODING for one in table.encodings], np.bool_)
    if is_strict and not is_standard.all():
        raise UnsupportedFeatureError("a column has an encoding of its own")
    places = _Places(layouts)
    rows = []
    for fragment in fragments:
        first = np.array(
            [
                table.first_column[number_of[f]] if f in number_of else NO_COPY
                for f in fragment.files
            ]
        )
        columns = places.columns(fragment, first, is_standard)
        deleted = snapshot.deleted_offsets(fragment)
        gone = np.empty(0, np.int64) if deleted is None else deleted.astype(np.int64)
        count = snapshot.physical_rows(fragment)
        rows.append(SourceRows(count, gone, columns, f"fragment {fragment.id}"))
    files = []
    for file in kept:
        store, source = snapshot.store_of(snapshot.base(file.base_id)), found[file]
        files.append(SourceFile(store, source.path, batch_bytes, source.content))
    return CopyInput(files, table, rows)


class _Source(NamedTuple):
    """A file from which pages can be copied; ``content`` is that of a `SourceFile`."""

    path: str
    columns: RawColumns
    content: pa.Buffer | None = None


def _sources(
    snapshot: Snapshot, files: Sequence[DataFile], version: FileVersion, is_strict: bool
) -> dict[DataFile, _Source]:
    """The files without those from which no page can be copied."""
    found = _alike_sources(snapshot, files, version)
    if found is not None:
        return found
    readers: Iterator[FileReader] = map(snapshot.reader, files)
    if snapshot.is_io_bound:
        readers = in_order(snapshot.reader, files, IO_THREADS, is_io_bound=True)
    found = {}
    known = _NumColumns()
    for file, reader in zip(files, readers, strict=True):
        reason = _why_no_source(reader, version, known.of(file))
        if reason is None:
            found[file] = _Source(reader.path, reader.metadata.columns)
        elif is_strict:
            raise UnsupportedFeatureError(f"{reader.path!r} {reason}")
    return found


def _alike_sources(
    snapshot: Snapshot, files: Sequence[DataFile], version: FileVersion
) -> dict[DataFile, _Source] | None:
    """All files, if they are local, alike, and pages of each can be copied; else None."""
    bases = {file.base_id for file in files}
    sizes = [file.trusted_size for file in files]
    if snapshot.is_io_bound or len(bases) != 1 or None in sizes:
        return None
    base = snapshot.base(bases.pop())
    pairs = zip(files, sizes, strict=True)
    parts = [FilePart(file.store_path(base), size or 0, 0) for file, size in pairs]
    try:
        found = read_columns(snapshot.store_of(base), parts)
    except (CorruptFileError, UnsupportedFeatureError):
        return None  # opening one after another finds the reason
    known = _NumColumns()
    is_known = all(known.of(file) == found.num_columns for file in files)
    if found.version is not version or (found.num_buffers != 1).any() or not is_known:
        return None
    contents = found.contents or [None] * len(parts)
    columns = zip(files, parts, found.files, contents, strict=True)
    return {file: _Source(part.path, own, content) for file, part, own, content in columns}


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
    found: Mapping[DataFile, _Source], is_strict: bool
) -> tuple[SourcePages, list[DataFile]]:
    """The pages of the files, without files whose pages cannot be copied."""
    try:
        return _pages_of(list(found.values())), list(found)
    except UnsupportedFeatureError:
        if is_strict:
            raise
    kept = [file for file, source in found.items() if _can_parse(source)]
    return _pages_of([found[file] for file in kept]), kept


def _pages_of(sources: Sequence[_Source]) -> SourcePages:
    return source_pages([one.columns for one in sources], [one.path for one in sources])


def _can_parse(source: _Source) -> bool:
    try:
        _pages_of([source])
    except UnsupportedFeatureError:
        return False
    return True


class _Places:
    """Finds the columns of fields in fragments; most fragments have files with the same columns."""

    def __init__(self, layouts: Sequence[FieldLayout]) -> None:
        self._layouts = layouts
        self._kept: dict[object, tuple[Ints, Ints]] = {}

    def columns(
        self, fragment: Fragment, first_column: Ints, is_standard: npt.NDArray[np.bool_]
    ) -> Ints:
        """The numbers in the page table of all columns of the new file, or `NO_COPY`.

        ``first_column``: the number of the first column of each file, or `NO_COPY`.
        """
        key = tuple((file.fields, file.column_indices) for file in fragment.files)
        if key not in self._kept:
            self._kept[key] = self._places(fragment)
        files, columns = self._kept[key]
        firsts = np.append(first_column, NO_COPY)[files]
        numbers = np.where(firsts == NO_COPY, NO_COPY, firsts + columns)
        return np.where((numbers >= 0) & is_standard[numbers], numbers, NO_COPY)

    def _places(self, fragment: Fragment) -> tuple[Ints, Ints]:
        """The number of the file, or -1, and the column in it, for each column of the new file."""
        home = fragment.file_of_field()
        columns = [file.columns() for file in fragment.files]
        places = []
        for layout in self._layouts:
            ids = [column.field_id for column in layout.columns]
            (number, *others) = {home.get(id_, -1) for id_ in ids}
            if others or number < 0 or not all(id_ in columns[number] for id_ in ids):
                places += [(NO_COPY, 0)] * len(ids)
            else:
                places += [(number, columns[number][id_]) for id_ in ids]
        files, found = np.array(places, np.int64).reshape(-1, 2).T
        return files, found
