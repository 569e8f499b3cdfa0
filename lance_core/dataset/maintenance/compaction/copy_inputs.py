"""The files and rows of fragments as the input of a copy of pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.datafile.binary_copy.copied_pages import SourceFile
from lance_core.datafile.binary_copy.field_layout import FieldLayout
from lance_core.datafile.binary_copy.file_copy import STANDARD_ENCODING, CopyInput
from lance_core.datafile.binary_copy.pieces import NO_COPY, SourceRows
from lance_core.datafile.binary_copy.source_pages import SourcePages, source_pages
from lance_core.datafile.reader import FileReader
from lance_core.datafile.varints import Ints
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.version import FileVersion
from lance_core.errors import UnsupportedFeatureError
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
    found = _readers(snapshot, named, version, is_strict)
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
    files = [
        SourceFile(snapshot.store_of(snapshot.base(file.base_id)), found[file].path, batch_bytes)
        for file in kept
    ]
    return CopyInput(files, table, rows)


def _readers(
    snapshot: Snapshot, files: Sequence[DataFile], version: FileVersion, is_strict: bool
) -> dict[DataFile, FileReader]:
    """The open files, without those from which no page can be copied."""
    readers: Iterator[FileReader] = map(snapshot.reader, files)
    if snapshot.is_io_bound:
        readers = in_order(snapshot.reader, files, IO_THREADS, is_io_bound=True)
    found = {}
    known: dict[tuple[int, ...], int] = {}
    for file, reader in zip(files, readers, strict=True):
        columns = file.column_indices
        if columns not in known:  # most files have the same columns
            known[columns] = sum(column >= 0 for column in columns)
        reason = _why_no_source(reader, version, known[columns])
        if reason is None:
            found[file] = reader
        elif is_strict:
            raise UnsupportedFeatureError(f"{reader.path!r} {reason}")
    return found


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
    found: Mapping[DataFile, FileReader], is_strict: bool
) -> tuple[SourcePages, list[DataFile]]:
    """The pages of the files, without files whose pages cannot be copied."""
    kept = list(found)
    readers = list(found.values())
    try:
        return source_pages([r.metadata for r in readers], [r.path for r in readers]), kept
    except UnsupportedFeatureError:
        if is_strict:
            raise
    kept = [file for file, reader in found.items() if _can_parse(reader)]
    readers = [found[file] for file in kept]
    return source_pages([r.metadata for r in readers], [r.path for r in readers]), kept


def _can_parse(reader: FileReader) -> bool:
    try:
        source_pages([reader.metadata], [reader.path])
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
