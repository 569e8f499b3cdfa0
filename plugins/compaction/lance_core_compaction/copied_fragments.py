"""Write fragments anew by copying pages, one new file after the other."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lance_core.maintenance import (
    Field,
    FileVersion,
    Fragment,
    Part,
    Schema,
    Snapshot,
    Span,
    data_file_name,
    data_file_path,
    load,
    new_fragment,
    scan_batches,
    to_storage,
)
from lance_core.optimize import CompactionMetrics
from lance_core_compaction.page_copy.binary_copy import write_file
from lance_core_compaction.page_copy.file_rewrite import FileRewrite, Parts
from lance_core_compaction.rewritten_fragments import RewrittenFragments
from lance_core_compaction.stored_rows import BATCH_ROWS, all_rows, rows_plan


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


def copy_fragments(
    snapshot: Snapshot,
    fragments: Sequence[Fragment],
    writing: CopyOptions,
) -> RewrittenFragments:
    """Write the live rows of ``fragments``, in their order, as new fragments without row ids.

    Call it only if `why_not` or `why_no_pages` returns None. After an error no fragment is usable:
    the caller removes the files of those that are ``done``.

    Raises `CorruptFileError` for files whose metadata contradict the format or the manifest,
    `ObjectNotFoundError` for a file that does not exist, and the errors of the stores.
    """
    load(Part.FILES)
    load(Part.NEW_FILES)
    load(Part.COPIES)
    snapshot.root.registry.encoders(writing.version)
    counts = CompactionMetrics()
    first = len(writing.done)
    for group in _groups(snapshot, fragments, writing):
        counts += _copy(snapshot, group, writing)
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
    snapshot: Snapshot,
    group: Sequence[Fragment],
    writing: CopyOptions,
) -> CompactionMetrics:
    """Write one new file with the live rows of ``group``, and add its fragment to ``done``.

    Returns what was done for it.
    """

    def read(fields: Sequence[Field], parts: Parts) -> Iterator[list[pa.Array]]:
        spans = [Span(group[number], start, stop) for number, start, stop in parts]
        return _read(snapshot, fields, spans)

    if writing.verify_pages:
        for _ in _read(snapshot, snapshot.schema.fields, all_rows(snapshot, group)):
            pass
    root = snapshot.root
    rewrite = FileRewrite(
        table=snapshot,
        fragments=group,
        version=writing.version,
        registry=root.registry,
        is_strict=writing.is_strict,
        batch_bytes=writing.read_batch_bytes,
        read_rows=read,
    )
    name = data_file_name(uuid.uuid4())
    writer = root.store.open_writer(data_file_path(name))
    try:
        written, counts = write_file(rewrite, writer)
    except BaseException:
        writer.abort()
        raise
    writing.done.append(new_fragment(name, written))
    writing.advance(sum(map(snapshot.live_rows, group)))
    return counts


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
