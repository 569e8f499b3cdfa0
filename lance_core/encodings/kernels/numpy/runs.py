"""Run-length encoding: runs of 1 to 255 equal integers, each stored as a value and a length."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.bitpacking import WIDTHS, Words
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes, check_spans, joined_spans
from lance_core.errors import CorruptFileError, InvalidInputError

MAX_RUN = 255
"""Maximum length of a stored run: lengths take one byte."""


class RunRule(NamedTuple):
    """The rule for the number of values of a chunk: ``least``, doubled while it is below ``most``.

    A chunk takes the largest such number whose values form at most ``max_runs`` runs, or ``least``
    if even these form more. The last chunk takes the remaining values.
    """

    most: int
    least: int
    max_runs: int


def expand_runs(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
) -> Words:
    """See `lance_core.encodings.kernels.Kernels.expand_runs`."""
    check_runs(data, starts, sizes, counts, bits)
    runs = sizes[1]
    lengths = joined_spans(data, starts[1], runs)
    ends = edges_of(lengths)
    # The lengths of the runs of each chunk must add up to its number of values.
    stops = np.cumsum(runs)
    if (ends[stops] - ends[stops - runs] != counts).any():
        raise CorruptFileError("the lengths of runs do not add up to the number of values")
    values = joined_spans(data, starts[0], sizes[0]).view(f"<u{bits // 8}")
    return np.repeat(values, lengths)


def check_runs(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
) -> None:
    """Raise `CorruptFileError` unless each chunk has as many run lengths as run values."""
    if bits not in WIDTHS:
        raise CorruptFileError(f"runs cannot store values of {bits} bits")
    if starts.shape != (2, len(counts)) or sizes.shape != starts.shape:
        raise CorruptFileError("runs are not in two buffers")
    check_spans(data, starts[0], sizes[0], counts)
    check_spans(data, starts[1], sizes[1])
    if (sizes[0] != sizes[1] * (bits // 8)).any():
        raise CorruptFileError("the numbers of run lengths and run values differ")
    if len(counts) and (counts > sizes[1] * MAX_RUN).any():
        raise CorruptFileError("the lengths of runs do not add up to the number of values")


def run_begins(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """A mask of the values that differ from the one before them; the first value is one of them."""
    begins = np.empty(len(values), np.bool_)
    begins[:1] = True
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def count_runs(words: Words, per_chunk: int) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.count_runs`."""
    if per_chunk < 1:
        raise InvalidInputError(f"chunks of {per_chunk} values")
    if not len(words):
        return np.empty(0, np.int64)
    begins = run_begins(words)
    begins[::per_chunk] = True
    return np.add.reduceat(begins, np.arange(0, len(words), per_chunk), dtype=np.int64)


def encode_runs(words: Words, rule: RunRule) -> tuple[Words, Bytes, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.encode_runs`."""
    check_rule(rule)
    if not len(words):
        return words[:0], np.empty(0, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int64)
    begins = run_begins(words)
    # The rule needs the runs of the whole column; then cut runs at the starts of chunks.
    counts = _chunk_counts(len(words), np.flatnonzero(begins), rule)
    ends = np.cumsum(counts)
    begins[ends - counts] = True  # each chunk starts a new run
    starts = np.flatnonzero(begins)
    whole = np.diff(starts, append=len(words))
    # Split runs longer than MAX_RUN: all parts have MAX_RUN values, except the last part.
    parts = (whole + MAX_RUN - 1) // MAX_RUN
    stops = np.cumsum(parts)
    lengths = np.full(int(stops[-1]), MAX_RUN, np.uint8)
    lengths[stops - 1] = whole - (parts - 1) * MAX_RUN
    # The number of the last run of each chunk gives the stored runs per chunk.
    last = np.append(np.searchsorted(starts, ends[:-1]), len(starts)) - 1
    runs = np.diff(stops[last], prepend=0)
    return np.repeat(words[starts], parts), lengths, runs, counts


def check_rule(rule: RunRule) -> None:
    """Raise `InvalidInputError` unless ``most / least`` is a power of two and ``max_runs`` > 0."""
    times, rest = divmod(rule.most, rule.least) if rule.least > 0 else (0, 0)
    if times < 1 or times & (times - 1) or rest or rule.most >= 1 << 31 or rule.max_runs < 1:
        raise InvalidInputError(f"chunks of runs by {rule}")


def _chunk_counts(count: int, starts: Int64Array, rule: RunRule) -> Int64Array:
    """The number of values of each chunk; ``starts`` are the starts of runs."""
    # before[i]: the number of stored runs (of at most MAX_RUN values) in the first i runs.
    pieces = -(-np.diff(starts, append=count) // MAX_RUN)
    before = edges_of(pieces)
    start, counts = 0, []
    while start < count:
        size = rule.most
        while size > rule.least:
            if _stored_runs(starts, before, start, min(start + size, count)) <= rule.max_runs:
                break
            size //= 2
        counts.append(min(size, count - start))
        start += counts[-1]
    return np.array(counts, np.int64)


def _stored_runs(starts: Int64Array, before: Int64Array, begin: int, end: int) -> int:
    """The number of stored runs that the values ``begin`` to ``end`` alone would take.

    ``before[i]`` is the number of stored runs in the first i runs.
    """
    first, last = np.searchsorted(starts, [begin, end - 1], side="right").tolist()
    if first == last:  # all values belong to one run
        return -(-(end - begin) // MAX_RUN)
    # The values start within a run and end within another: count the parts of both runs separately.
    head = -(-(int(starts[first]) - begin) // MAX_RUN)
    tail = -(-(end - int(starts[last - 1])) // MAX_RUN)
    return head + int(before[last - 1] - before[first]) + tail
