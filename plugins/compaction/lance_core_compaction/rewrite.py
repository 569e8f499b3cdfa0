"""Write the live rows of fragments as new fragments: the work of one task, before its commit.

Rows are decoded and encoded again, or pages are copied, if the mode of the compaction and the files
allow it. The columns of each new fragment are in one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from lance_core.errors import CompactionError, CorruptFileError
from lance_core.maintenance import (
    DEFAULT_MAX_BYTES_PER_FILE,
    BlobOptions,
    FileOptions,
    Fragment,
    FragmentMetadata,
    FragmentWriteProgress,
    Offsets,
    RowLineage,
    RowRange,
    Snapshot,
    WriteOptions,
    check_storable,
    discard_on_failure,
    has_blobs,
    live,
    scan_batches,
    scan_windows,
    stored_bytes,
    with_dictionaries,
    write_fragments,
)
from lance_core.optimize import CompactionMetrics
from lance_core_compaction.field_groups import page_bytes, write_by_groups
from lance_core_compaction.options import CompactionMode, CompactionSettings
from lance_core_compaction.rewritten_fragments import RewrittenFragments
from lance_core_compaction.stored_rows import all_rows, rows_plan

MAX_EXPANSION = 16
"""Assumed maximum of the bytes of new files, as a multiple of the old ones."""

PAGE_BYTES = 24 << 20
"""Maximum bytes of the rows that wait for their pages, over all columns (8 MiB for each)."""

Advance = Callable[[int], object]


def rewrite(
    snapshot: Snapshot,
    fragments: Sequence[Fragment],
    settings: CompactionSettings,
    progress: FragmentWriteProgress | None = None,
    advance: Advance = lambda _: None,
) -> RewrittenFragments:
    """Write the live rows of ``fragments`` as new fragments, in the same order.

    With stable row ids the rows keep their ids and versions. ``advance`` is called with numbers of
    written rows. After a failure all new files are removed.

    Raises `CompactionError` if a copy of all pages is required but not possible, `CorruptFileError`
    for corrupt files, and the errors of the store.
    """
    # A table does not need metadata of the files that are about to be replaced.
    snapshot = snapshot.for_rewrite(fragments)
    with discard_on_failure(snapshot.root) as files:
        copied = _copied(snapshot, fragments, settings, files.data, advance)
        if copied is None:
            files.data += _encoded(snapshot, fragments, settings, progress, advance)
        else:
            _report(progress, files.data)
        expected = sum(snapshot.live_rows(fragment) for fragment in fragments)
        written = sum(fragment.physical_rows or 0 for fragment in files.data)
        if written != expected:
            ids = ", ".join(str(fragment.id) for fragment in fragments)
            raise CorruptFileError(
                f"fragments {ids} have {expected} rows, but {written} were read from their files"
            )
        new = files.data
        if snapshot.manifest.uses_stable_row_ids:
            new = _with_lineage(snapshot, fragments, new)
        counts = CompactionMetrics() if copied is None else copied.counts
        return RewrittenFragments(tuple(new), counts)


def rows_per_file(rows: int, target: int) -> int:
    """The rows of each new file: ``rows`` are divided evenly among files of at least ``target``."""
    files = max(1, rows // max(1, target))
    return max(1, -(-rows // files))


def _copied(
    snapshot: Snapshot,
    fragments: Sequence[Fragment],
    settings: CompactionSettings,
    done: list[Fragment],
    advance: Advance,
) -> RewrittenFragments | None:
    """The fragments copied page by page, None if they have to be encoded."""
    mode, version = settings.compaction_mode, settings.file_version
    is_strict = mode is CompactionMode.FORCE_BINARY_COPY
    if mode is CompactionMode.REENCODE:
        return None
    from lance_core_compaction.copied_fragments import CopyOptions, copy_fragments
    from lance_core_compaction.page_copy.binary_copy import why_no_pages, why_not

    reason = (why_not if is_strict else why_no_pages)(snapshot, fragments, version)
    if reason is not None and is_strict:
        raise CompactionError(f"binary copy is not supported: {reason}")
    if reason is not None:
        return None
    options = CopyOptions(
        target_rows=_file_rows(snapshot, fragments, settings),
        max_bytes=settings.max_bytes_per_file or DEFAULT_MAX_BYTES_PER_FILE,
        version=version,
        read_batch_bytes=settings.binary_copy_read_batch_bytes,
        advance=advance,
        done=done,
        verify_pages=settings.verify_pages,
        is_strict=is_strict,
    )
    return copy_fragments(snapshot, fragments, options)


def _report(progress: FragmentWriteProgress | None, fragments: Sequence[Fragment]) -> None:
    if progress is None:
        return
    for fragment in fragments:
        metadata = FragmentMetadata.of(fragment, fragment.physical_rows or 0)
        progress.begin(metadata)
        progress.complete(metadata)


def _file_rows(
    snapshot: Snapshot, fragments: Sequence[Fragment], settings: CompactionSettings
) -> int:
    rows = sum(snapshot.live_rows(fragment) for fragment in fragments)
    return rows_per_file(rows, settings.target_rows_per_fragment)


def _encoded(
    snapshot: Snapshot,
    fragments: Sequence[Fragment],
    settings: CompactionSettings,
    progress: FragmentWriteProgress | None,
    advance: Advance,
) -> list[Fragment]:
    """The live rows of ``fragments``, decoded and encoded again."""
    version = settings.file_version
    check_storable(snapshot.schema, version.value)
    if _may_group(snapshot, fragments, settings):
        options = WriteOptions(
            FileOptions(version, data_cache_bytes=page_bytes() * len(snapshot.schema.fields)),
            max_rows_per_file=_file_rows(snapshot, fragments, settings),
            progress=progress,
        )
        with discard_on_failure(snapshot.root) as files:
            write_by_groups(snapshot, fragments, options, advance, files.data)
        return files.data
    plan = rows_plan(snapshot.schema, all_rows(snapshot, fragments), settings.batch_size)
    scan = scan_windows if settings.batch_size is None else scan_batches
    batches = _counted(scan(snapshot, plan), advance)
    schema = snapshot.schema
    if version.has_table_dictionaries:
        reader = pa.RecordBatchReader.from_batches(plan.projection.schema, batches)
        batches, schema = with_dictionaries(reader, schema)
    columns = len(schema.fields)
    options = WriteOptions(
        FileOptions(
            version,
            data_cache_bytes=min(PAGE_BYTES, 8 * columns << 20),
            max_rows_per_group=settings.max_rows_per_group,
        ),
        max_rows_per_file=_file_rows(snapshot, fragments, settings),
        max_bytes_per_file=settings.max_bytes_per_file or DEFAULT_MAX_BYTES_PER_FILE,
        progress=progress,
        blobs=BlobOptions.of_moved_rows(snapshot.manifest.base_paths),
        splits_batches=settings.batch_size is None,
    )
    return write_fragments(snapshot.root, batches, schema, options)


def _may_group(
    snapshot: Snapshot, fragments: Sequence[Fragment], settings: CompactionSettings
) -> bool:
    """True if the fields can be written one group after the other.

    Not if rows must stay together: in batches or in files of a chosen size, in files of a version
    that does not support it, and with blobs. A remote store would be asked again for each group.
    """
    if settings.batch_size is not None or settings.max_bytes_per_file is not None:
        return False
    versions = (snapshot.storage_version, settings.file_version)
    if not all(file_version.groups_fields for file_version in versions) or snapshot.is_io_bound:
        return False
    if any(map(has_blobs, snapshot.schema.fields)):
        return False
    size = stored_bytes(all_rows(snapshot, fragments))
    return bool(snapshot.schema.fields) and size * MAX_EXPANSION < DEFAULT_MAX_BYTES_PER_FILE


def _counted(batches: Iterator[pa.RecordBatch], advance: Advance) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        advance(batch.num_rows)
        # Threads decode what this one frees, and the pool would retain it for each of them.
        pa.default_memory_pool().release_unused()


def _with_lineage(
    snapshot: Snapshot, fragments: Sequence[Fragment], new: Sequence[Fragment]
) -> list[Fragment]:
    """``new`` with the row ids and row versions of the live rows of ``fragments``."""
    lineage = RowLineage.of_rows(
        (fragment, _live_offsets(snapshot, fragment)) for fragment in fragments
    )
    start, placed = 0, []
    for fragment in new:
        placed.append(lineage.given_to(fragment, start))
        start += fragment.physical_rows or 0
    return placed


def _live_offsets(snapshot: Snapshot, fragment: Fragment) -> Offsets:
    return live(snapshot, fragment, RowRange(0, snapshot.physical_rows(fragment))).numbers
