"""The scan of the rows that a compaction writes or compares, in the form that files store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lance_core.maintenance import (
    Fragment,
    Output,
    Projection,
    ScanPlan,
    Schema,
    Snapshot,
    Span,
    SpanRows,
    binary_json,
    given_to_files,
)

BATCH_ROWS = 1 << 16
"""Maximum rows of a batch that is decoded and encoded again; small fragments share one."""


def rows_plan(schema: Schema, spans: Sequence[Span], batch_size: int | None = None) -> ScanPlan:
    """The scan of the live rows of ``spans`` for ``schema``, which may have some of the fields.

    With a ``batch_size``, all batches but the last have this size.
    """
    fields = tuple(binary_json(given_to_files(field)) for field in schema.fields)
    stored = replace(schema, fields=fields)
    outputs = [Output(field.to_arrow(), (field.name,)) for field in fields]
    return ScanPlan(
        projection=Projection.of(stored, outputs),
        rows=SpanRows(spans),
        schema=stored,
        batch_size=batch_size or BATCH_ROWS,
        exact=batch_size is not None,
    )


def all_rows(snapshot: Snapshot, fragments: Iterable[Fragment]) -> tuple[Span, ...]:
    """The spans of all rows of ``fragments``."""
    return tuple(Span(fragment, 0, snapshot.physical_rows(fragment)) for fragment in fragments)
