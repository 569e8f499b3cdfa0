"""Positions as streams or lists of blocks, see `lance_core_text.postings.positions`."""

from __future__ import annotations

import numpy as np

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.loops.encoding import BlockEncoder, Numbers
from lance_core_text.loops.library import is_compiled
from lance_core_text.postings.numbered_runs import numbered_runs
from lance_core_text.postings.varints import encode_varints
from lance_core_text.write.byte_pieces import Bytes, place_bytes, place_packed, widths_of
from lance_core_text.write.encode_blocks import BlockBounds

_GROUP = 128
"""Positions of a packed group."""


def encode_streams(
    bounds: BlockBounds, frequencies: Numbers, positions: Numbers
) -> tuple[Bytes, Integers]:
    """The bytes of the streams of all blocks, and the offset of each and of the end."""
    if is_compiled():
        encoder = BlockEncoder(frequencies, frequencies, bounds.counts, bounds.of_lists)
        return encoder.streams(positions)
    frequencies, positions = frequencies.astype(np.int64), positions.astype(np.int64)
    deltas = np.diff(positions, prepend=0)
    firsts = np.cumsum(frequencies) - frequencies
    deltas[firsts] = positions[firsts]  # of each document from 0
    totals = np.add.reduceat(frequencies, bounds.starts) if len(bounds.starts) else bounds.starts
    starts = np.cumsum(totals) - totals
    of_groups, of_rest = totals // _GROUP, totals % _GROUP
    owners, number = numbered_runs(of_groups)
    indices = (starts[owners] + _GROUP * number)[:, None] + np.arange(_GROUP)
    groups = deltas[indices]
    widths = widths_of(groups)
    rest_owners, rest_number = numbered_runs(of_rest)
    rest = (starts + _GROUP * of_groups)[rest_owners] + rest_number
    data, lengths = encode_varints(deltas[rest])
    rest_bytes = np.bincount(rest_owners, weights=lengths, minlength=len(totals)).astype(np.int64)
    sizes = 1 + 16 * widths
    group_bytes = np.bincount(owners, weights=sizes, minlength=len(totals)).astype(np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(group_bytes + rest_bytes)])
    out = np.zeros(int(offsets[-1]), np.uint8)
    before = np.cumsum(sizes) - sizes  # bytes of groups before each, of all blocks
    of_block = np.cumsum(group_bytes) - group_bytes
    group_offsets = offsets[:-1][owners] + before - of_block[owners]
    out[group_offsets] = widths
    place_packed(out, group_offsets + 1, groups, widths)
    place_bytes(out, offsets[:-1] + group_bytes, rest_bytes, data)
    return out, offsets


def encode_lists(frequencies: Numbers, positions: Numbers) -> tuple[Bytes, Integers, Integers]:
    """Positions as format 1 has them: the bytes of all values, their offsets, and the values.

    A document has a value with the number of its positions, one for each full group, and one for
    the rest; the third array has how many values each document has.
    """
    counts = frequencies.astype(np.int64)
    of_groups, of_rest = counts // _GROUP, counts % _GROUP
    of_values = 1 + of_groups + (of_rest > 0)
    first_values = np.cumsum(of_values) - of_values
    starts = np.cumsum(counts) - counts
    owners, number = numbered_runs(of_groups)
    indices = (starts[owners] + _GROUP * number)[:, None] + np.arange(_GROUP)
    groups = positions[indices].astype(np.int64)
    deltas = np.diff(groups, axis=1, prepend=groups[:, :1])
    widths = widths_of(deltas)
    sizes = np.full(int(of_values.sum()), 4, np.int64)
    group_values = first_values[owners] + 1 + number
    sizes[group_values] = 5 + 16 * widths
    has_rest = np.flatnonzero(of_rest)
    rest_values = first_values[has_rest] + 1 + of_groups[has_rest]
    sizes[rest_values] = 4 * of_rest[has_rest]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    out = np.zeros(int(offsets[-1]), np.uint8)
    four = np.arange(4)
    out[offsets[first_values][:, None] + four] = _bytes_of(counts)
    if len(owners):
        out[offsets[group_values][:, None] + four] = _bytes_of(groups[:, 0])
        out[offsets[group_values] + 4] = widths
        place_packed(out, offsets[group_values] + 5, deltas, widths)
    rest_owners, rest_number = numbered_runs(of_rest)
    rest = positions[(starts + _GROUP * of_groups)[rest_owners] + rest_number]
    place_bytes(out, offsets[rest_values], 4 * of_rest[has_rest], _bytes_of(rest).reshape(-1))
    return out, offsets, of_values


def _bytes_of(numbers: Integers) -> Bytes:
    """The four bytes of each number, one a row."""
    return np.ascontiguousarray(numbers.astype("<u4")).view(np.uint8).reshape(-1, 4)
