"""Write fragments anew by copying pages: which fragments allow it, and the copy itself."""

from __future__ import annotations

from collections.abc import Sequence

from lance_core.errors import UnsupportedFeatureError
from lance_core.hookspecs.file_versions import FileVersion, FileWriteResult
from lance_core.hookspecs.stored_pages import ColumnParser, Fragment, column_of
from lance_core.hookspecs.stores import ObjectWriter
from lance_core.maintenance import Snapshot
from lance_core.optimize import CompactionMetrics
from lance_core_compaction.page_copy.copy_inputs import copy_inputs
from lance_core_compaction.page_copy.field_layout import field_layouts
from lance_core_compaction.page_copy.file_copy import FileCopy
from lance_core_compaction.page_copy.file_rewrite import FileRewrite
from lance_core_compaction.page_copy.pieces import EncodedRows, pieces_of_fields


def write_file(
    rewrite: FileRewrite, writer: ObjectWriter
) -> tuple[FileWriteResult, CompactionMetrics]:
    """Write one file that `why_not` or `why_no_pages` allow, and close its ``writer``.

    Pages are copied where possible; the others are decoded and encoded again. The caller aborts the
    writer after an error. Raises `CorruptFileError` for files whose metadata contradict the format
    or the manifest, `ObjectNotFoundError` for a file that does not exist, and the errors of the
    stores.
    """
    table, version = rewrite.table, rewrite.version
    layouts = field_layouts(table.schema.fields, version)
    inputs = copy_inputs(
        table,
        rewrite.fragments,
        layouts,
        version,
        is_strict=rewrite.is_strict,
        batch_bytes=rewrite.batch_bytes,
    )
    # A page of several has other checksums than they have, which stay with each page.
    merges = not rewrite.is_strict and not inputs.table.has_sums
    parser = ColumnParser(version, 0)
    pieces = pieces_of_fields(layouts, inputs.table, inputs.rows, parser, merges=merges)
    rows = sum(source.num_rows - len(source.deleted) for source in inputs.rows)
    file = FileCopy(writer, table.schema, version, rewrite.registry, layouts, merges=merges)
    counts = CompactionMetrics()
    return file.write(inputs, rewrite.read_rows, pieces, rows, counts), counts


def why_not(table: Snapshot, fragments: Sequence[Fragment], version: FileVersion) -> str | None:
    """The reason why a strict binary copy of ``fragments`` is impossible, None if it is possible.

    ``version``: file version of the result.
    """
    reason = why_no_pages(table, fragments, version)
    if reason is not None:
        return reason
    expected_columns = column_of(table.schema.fields, version)
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
        layouts = field_layouts(table.schema.fields, version)
        inputs = copy_inputs(table, fragments, layouts, version, is_strict=True)
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
    table: Snapshot, fragments: Sequence[Fragment], version: FileVersion
) -> str | None:
    """The reason why no page of ``fragments`` can be copied, None if some can.

    Unlike `why_not`, this allows deleted rows and columns in several files.
    """
    if not version.copies_pages:
        return f"files of version {version} have no pages that can be copied"
    for part in table.schema.walk():
        if part.is_blob or part.id in table.blobs_v2:
            return f"column {part.name!r} has blobs, which are stored outside of pages"
    for fragment in fragments:
        if fragment.overlays:
            return f"fragment {fragment.id} has data overlay files"
    if not any(
        file.file_version == version.value for fragment in fragments for file in fragment.files
    ):
        return f"no file has version {version}"
    return None
