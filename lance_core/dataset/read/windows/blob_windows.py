"""Windows of a scan that returns the bytes of blobs: sized by these bytes, not by rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lance_core.dataset.read.fragments.blob_sizes import blob_sizes, size_cuts
from lance_core.encodings.decoding import RowRange, Rows, packed_rows

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.schema import Field

SIZED_ROWS = 1 << 14
"""Rows whose descriptions are read at a time to compute the sizes of windows."""


def cut_by_size(
    snapshot: Snapshot, spans: Iterable[Span], described: tuple[Field, ...], most_bytes: int
) -> Iterator[Span]:
    """Split ``spans`` to at most ``most_bytes`` of blobs each; a single row may have more."""
    for span in spans:
        if span.chosen is None:
            rows: Rows = RowRange(span.start, span.stop)
        else:
            rows = packed_rows(span.chosen_rows)
        sizes = blob_sizes(snapshot, span.fragment, described, rows)
        edges = np.append(rows.numbers, span.stop).tolist()
        edges[0] = span.start
        for first, stop in size_cuts(sizes, most_bytes):
            yield replace(span, start=edges[first], stop=edges[stop])
