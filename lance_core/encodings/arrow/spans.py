"""Spans of numbers, each from a start to a stop, as arrays of starts, of stops, or of edges."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array


def edges_of(lengths: npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_]) -> Int64Array:
    """The n + 1 int64 edges of n ``lengths``: item i is from ``edges[i]`` to ``edges[i + 1]``."""
    edges = np.zeros(len(lengths) + 1, np.int64)
    lengths.cumsum(out=edges[1:])
    return edges


def spans_index(starts: Int64Array, stops: Int64Array) -> Int64Array:
    """The numbers ``starts[i]`` to ``stops[i]`` (exclusive) of all spans, concatenated."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    # A number equals its index in the result plus the distance from there to its span.
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


def slices_between(buffer: pa.Buffer, edges: Int64Array) -> list[pa.Buffer]:
    """The bytes of ``buffer`` from each of ``edges`` to the next."""
    return [buffer.slice(start, stop - start) for start, stop in pairwise(edges.tolist())]
