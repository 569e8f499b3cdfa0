"""Compact fragments by copying pages: which fragments allow it, and the copy itself."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import pyarrow as pa

from lance_core.datafile.binary_copy.field_layout import field_layouts
from lance_core.datafile.binary_copy.file_copy import CopyCounts, FileCopy, Parts
from lance_core.datafile.binary_copy.pieces import EncodedRows, pieces_of_fields
from lance_core.datafile.column_map import column_of
from lance_core.datafile.column_metadata import ColumnParser
from lance_core.dataset.maintenance.compaction.copy_inputs import copy_inputs
from lance_core.dataset.maintenance.compaction.stored_rows import (
    BATCH_ROWS,
    all_rows,
    rows_plan,
)
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.scan import scan_batches
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.fragment_writer import new_fragment
from lance_core.encodings.version import FileVersion
from lance_core.errors import UnsupportedFeatureError
from lance_core.imports.on_demand import Part, load
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, Schema, to_storage
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.paths import data_file_name, data_file_path


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """Options of a copy.

    A file ends after the fragment with which it has ``target_rows`` rows or ``max_bytes`` bytes.
    ``version``: file version of the result. ``is_strict``: True copies all pages, also small ones.
    ``read_batch_bytes``: maximum bytes that are read at once where the store cannot copy bytes
    itself. ``advance`` is called with the number of rows whenever some were written. ``done``: each
    finished fragment is appended, so that the caller can remove its files after a failure
    (`NewFiles.data`); an unfinished file removes itself. ``verify_pages``: decode each page once
    before it is copied.
    """

    target_rows: int
    max_bytes: int
    version: FileVersion
    is_strict: bool = False
    read_batch_bytes: int = 16 << 20
    advance: Callable[[int], object] = lambda _: None
    done: list[Fragment] = field(default_factory=list)
    verify_pages: bool = False


@dataclass(frozen=True, slots=True)
class RewrittenFragments:
    """New fragments with id 0, and what a copy of pages has done to write them.

    The counts are zero for rows that were all encoded again.
    """

    fragments: tuple[Fragment, ...]
    counts: CopyCounts


def why_not(
    snapshot: Snapshot, fragments: Sequence[Fragment], version: FileVersion | None = None
) -> str | None:
    """The reason why a strict binary copy of ``fragments`` is impossible, None if it is possible.

    ``version``: file version of the result, by default the table's.
    """
    version = version or snapshot.storage_version
    reason = why_no_pages(snapshot, fragments, version)
    if reason is not None:
        return reason
    expected_columns = column_of(snapshot.schema.fields, version)
    for fragment in fragments:
        if fragment.deletion_file is not None:
            return f"fragment {fragment.id} has deleted rows"
        if len(fragment.files) != 1:
            return f"the columns of fragment {fragment.id} are in {len(fragment.files)} files"
        (file,) = fragment.files
        if file.file_version != version.value:
            return f"{file.path!r} has file version {file.file_version}, not {version}"
        if dict(file.columns()) != expected_columns:
            return f"{file.path!r} does not have the columns of the table's schema"
    try:
        layouts = field_layouts(snapshot.schema.fields, version)
        inputs = copy_inputs(snapshot, fragments, layouts, version, is_strict=True)
    except UnsupportedFeatureError as error:
        return str(error)
    chosen = [layout for layout in layouts if layout.has_structs_of_lists]
    parser = ColumnParser(version, 0)
    pieces = pieces_of_fields(chosen, inputs.table, inputs.rows, parser, merges=False)
    for layout, own in zip(chosen, pieces, strict=True):
        if any(isinstance(piece, EncodedRows) for piece in own):
            return f"pages of {layout.field.name!r} differ in which structs may be null"
    return None


def why_no_pages(
    snapshot: Snapshot, fragments: Sequence[Fragment], version: FileVersion | None = None
) -> str | None:
    """The reason why no page of ``fragments`` can be copied, None if `copy_fragments` can be used.

    Unlike `why_not`, this allows deleted rows and columns in several files.
    """
    version = version or snapshot.storage_version
    if not version.copies_pages:
        return f"files of version {version} have no pages that can be copied"
    for part in snapshot.schema.walk():
        if part.is_blob or part.id in snapshot.blobs_v2:
            return f"column {part.name!r} has blobs, which are stored outside of pages"
    for fragment in fragments:
        if fragment.overlays:
            return f"fragment {fragment.id} has data overlay files"
    if not any(
        file.file_version == version.value for fragment in fragments for file in fragment.files
    ):
        return f"no file has version {version}"
    return None


def copy_fragments(
    snapshot: Snapshot, fragments: Sequence[Fragment], writing: CopyOptions
) -> RewrittenFragments:
    """Write the live rows of ``fragments``, in their order, as new fragments without row ids.

    Pages are copied where possible, the others are decoded and encoded again. Call it only if
    `why_no_pages` returns None, or `why_not` for a copy without any decoding. After an error no
    fragment is usable: the caller removes the files of those that are ``done``.

    Raises `CorruptFileError` for files whose metadata contradict the format or the manifest,
    `ObjectNotFoundError` for a file that does not exist, and the errors of the stores.
    """
    load(Part.FILES)
    load(Part.NEW_FILES)
    load(Part.COPIES)
    snapshot.root.registry.encoders(writing.version)
    counts = CopyCounts()
    first = len(writing.done)
    for group in _groups(snapshot, fragments, writing):
        _copy(snapshot, group, writing, counts)
    return RewrittenFragments(tuple(writing.done[first:]), counts)


def _groups(
    snapshot: Snapshot, fragments: Sequence[Fragment], writing: CopyOptions
) -> Iterator[list[Fragment]]:
    """The fragments of each new file."""
    group: list[Fragment] = []
    rows = size = 0
    for fragment in fragments:
        group.append(fragment)
        rows += snapshot.live_rows(fragment)
        size += sum(file.file_size_bytes or 0 for file in fragment.files)
        if rows >= writing.target_rows or size >= writing.max_bytes:
            yield group
            group, rows, size = [], 0, 0
    if group and rows:
        yield group


def _copy(
    snapshot: Snapshot, group: Sequence[Fragment], writing: CopyOptions, counts: CopyCounts
) -> None:
    """Write one new file with the live rows of ``group``, and add its fragment to ``done``."""
    schema, version, root = snapshot.schema, writing.version, snapshot.root
    layouts = field_layouts(schema.fields, version)
    size = writing.read_batch_bytes
    inputs = copy_inputs(
        snapshot, group, layouts, version, is_strict=writing.is_strict, batch_bytes=size
    )

    def read(fields: Sequence[Field], parts: Parts) -> Iterator[list[pa.Array]]:
        spans = [Span(group[number], start, stop) for number, start, stop in parts]
        return _read(snapshot, fields, spans)

    merges = not writing.is_strict
    parser = ColumnParser(version, 0)
    pieces = pieces_of_fields(layouts, inputs.table, inputs.rows, parser, merges=merges)
    if writing.verify_pages:
        for _ in _read(snapshot, schema.fields, all_rows(snapshot, group)):
            pass
    rows = sum(map(snapshot.live_rows, group))
    name = data_file_name(uuid.uuid4())
    writer = root.store.open_writer(data_file_path(name))
    try:
        file = FileCopy(writer, schema, version, root.registry, layouts, merges=merges)
        written = file.write(inputs, read, pieces, rows, counts)
    except BaseException:
        writer.abort()
        raise
    writing.done.append(new_fragment(name, written))
    writing.advance(rows)


def _read(
    snapshot: Snapshot, fields: Sequence[Field], spans: Sequence[Span]
) -> Iterator[list[pa.Array]]:
    """The live rows of ``spans``, a few megabytes at a time: one array for each field."""
    plan = rows_plan(Schema(tuple(fields)), spans, BATCH_ROWS)
    for batch in scan_batches(snapshot, plan):
        yield [
            to_storage(column, field)
            for column, field in zip(batch.columns, plan.schema.fields, strict=True)
        ]
