"""Decode and encode the rows of fragments, one group of fields after the other.

The cost of a column of a window, and of a page, has a fixed part. A scan of all fields at once can
only have windows with few rows, and a writer only small pages, because all of them are in memory.
One group of fields has few bytes for each row, so its windows and pages have many rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from lance_core.maintenance import (
    HUGE_PAGE,
    Field,
    FieldGroup,
    Fragment,
    Schema,
    Snapshot,
    Span,
    WindowBytes,
    WindowSizer,
    WriteOptions,
    align_batch,
    column_threads,
    first_rows,
    fixed_bytes,
    in_long_runs,
    narrowed,
    num_rows,
    probable_bytes,
    scan_windows,
    stored_bytes,
    write_field_groups,
)
from lance_core_compaction.stored_rows import all_rows, rows_plan

WINDOWS_BYTES = 12 << 20
"""Bytes of the windows of all groups that are under way at once, one for each.

A thread needs about four times its window, with what its pages are made of. So this bounds the
memory to about 55 MB.
"""

ROW_BYTES = 16
"""Minimum bytes that a row of a window counts: encoders and filters need as many for narrow fields.
"""

WIDE_BYTES = 128
"""Minimum bytes of values of fixed width that pages contain as they are, so that a thread needs
only the window, which can be twice as large. Vectors in larger pages are scanned faster.
"""

FIRST_ROWS = 1 << 14
"""Maximum rows of the first window of fields of unknown width."""


def write_by_groups(
    snapshot: Snapshot,
    fragments: Sequence[Fragment],
    options: WriteOptions,
    advance: Callable[[int], object],
    done: list[Fragment],
) -> None:
    """Write the live rows of ``fragments`` to files of ``options.max_rows_per_file`` rows each.

    Appends the new fragments to ``done``. ``advance`` is called with numbers of written rows. The
    fields have no blobs.
    """
    rows = sum(snapshot.live_rows(fragment) for fragment in fragments)
    whole = rows_plan(snapshot.schema, all_rows(snapshot, fragments))
    step = options.max_rows_per_file
    for first in range(0, rows, step):
        count = min(step, rows - first)
        spans = narrowed(snapshot, replace(whole, offset=first, limit=count)).spans
        passes = _Passes(snapshot, spans, count, advance)
        write_field_groups(snapshot.root, passes.groups(), snapshot.schema, options, done)


def group_bytes() -> int:
    """Maximum bytes of a window of a group in memory, and of a group with several fields.

    Fewer threads have larger windows, all of whole huge pages: other sizes take a quarter longer to
    allocate.
    """
    share = WINDOWS_BYTES // (column_threads() + 1)
    return max(HUGE_PAGE, share - share % HUGE_PAGE)


def page_bytes() -> int:
    """Bytes of the rows of a field that wait for their page.

    Most windows have more than half of that, so that they become pages without a copy.
    """
    return group_bytes() * 3 // 8


class _Passes:
    """The groups of one new file, which has ``rows`` rows: the live rows of ``spans``."""

    def __init__(
        self,
        snapshot: Snapshot,
        spans: Sequence[Span],
        rows: int,
        advance: Callable[[int], object],
    ) -> None:
        self._snapshot = snapshot
        self._spans = spans
        self._rows = rows
        self._advance = advance
        self._lock = threading.Lock()
        self._read = self._reported = 0
        self._widths = _widths(snapshot.schema.fields, spans)

    def groups(self) -> list[FieldGroup]:
        """All fields in groups of at most `group_bytes`, or of one field."""
        groups: list[list[int]] = []
        size, most = 0, group_bytes()
        for number, width in enumerate(self._widths):
            size += width * self._rows
            if not groups or size > most:
                groups.append([])
                size = width * self._rows
            groups[-1].append(number)
        return [FieldGroup(numbers, partial(self._batches, numbers)) for numbers in groups]

    def _batches(self, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        schema: Schema = self._snapshot.schema
        schema = replace(schema, fields=tuple(schema.fields[number] for number in numbers))
        fields = schema.fields
        plan = rows_plan(schema, in_long_runs(self._snapshot, self._spans, fields))

        def aligned(batch: pa.RecordBatch) -> pa.RecordBatch:
            self._report(batch.num_rows * len(numbers))
            return align_batch(batch, schema)

        stored = sum(self._widths[number] for number in numbers)
        sizer = _sizer(fields, self._rows, stored)
        return map(aligned, scan_windows(self._snapshot, plan, sizer))

    def _report(self, values: int) -> None:
        """Report the share of all values that were read as rows."""
        fields = len(self._snapshot.schema.fields)
        with self._lock:
            self._read += values
            rows = self._read // fields - self._reported
            self._reported += rows
        self._advance(rows)
        # Some functions of Arrow have no other pool; it would retain memory for each thread.
        pa.default_memory_pool().release_unused()


def _widths(fields: Sequence[Field], spans: Sequence[Span]) -> list[int]:
    """The estimated bytes of a row of each field.

    Fields of variable width share the stored bytes that the others leave.
    """
    known = [fixed_bytes([field]) for field in fields]
    rest = stored_bytes(spans) // max(1, num_rows(spans)) - sum(width or 0 for width in known)
    share = rest // max(1, known.count(None))
    return [
        max(share, probable_bytes([field])) if width is None else width
        for field, width in zip(fields, known, strict=True)
    ]


def _sizer(fields: Sequence[Field], rows: int, stored: int) -> WindowSizer:
    """The windows of a group: as few as `group_bytes` allows.

    ``stored``: the estimated bytes of a row of ``fields`` in files.
    """
    width, most = fixed_bytes(fields), group_bytes()
    if width is not None and width >= WIDE_BYTES * len(fields):
        most *= 2
    first = first_rows(min(rows, FIRST_ROWS), most, stored) if width is None else most // width
    rows = min(rows, most // ROW_BYTES)
    return WindowSizer(max(1, first), max(1, rows), 1, WindowBytes(most, most))
