"""Positions as streams, one a block of documents, see `lance_core_text.postings.positions`."""

from __future__ import annotations

import numpy as np

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.varints import encode_varints
from lance_core_text.write.byte_pieces import Bytes, place_bytes, place_packed, widths_of
from lance_core_text.write.encode_blocks import BlockBounds

_GROUP = 128
"""Positions of a packed group."""


def encode_positions(
    bounds: BlockBounds, frequencies: Integers, positions: Integers
) -> tuple[Bytes, Integers]:
    """The bytes of the streams of all blocks, and the offset of each and of the end."""
    deltas = np.diff(positions, prepend=0)
    firsts = np.cumsum(frequencies) - frequencies
    deltas[firsts] = positions[firsts]  # of each document from 0
    totals = np.add.reduceat(frequencies, bounds.starts) if len(bounds.starts) else bounds.starts
    starts = np.cumsum(totals) - totals
    of_groups, of_rest = totals // _GROUP, totals % _GROUP
    owners = np.repeat(np.arange(len(totals)), of_groups)
    number = np.arange(len(owners)) - np.repeat(np.cumsum(of_groups) - of_groups, of_groups)
    places = (starts[owners] + _GROUP * number)[:, None] + np.arange(_GROUP)
    groups = deltas[places]
    widths = widths_of(groups)
    rest_owners = np.repeat(np.arange(len(totals)), of_rest)
    rest_number = np.arange(len(rest_owners)) - np.repeat(np.cumsum(of_rest) - of_rest, of_rest)
    rest = (starts + _GROUP * of_groups)[rest_owners] + rest_number
    data, lengths = encode_varints(deltas[rest])
    rest_bytes = np.bincount(rest_owners, weights=lengths, minlength=len(totals)).astype(np.int64)
    sizes = 1 + 16 * widths
    group_bytes = np.bincount(owners, weights=sizes, minlength=len(totals)).astype(np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(group_bytes + rest_bytes)])
    out = np.zeros(int(offsets[-1]), np.uint8)
    before = np.cumsum(sizes) - sizes  # bytes of groups before each, of all blocks
    of_block = np.cumsum(group_bytes) - group_bytes
    place = offsets[:-1][owners] + before - of_block[owners]
    out[place] = widths
    place_packed(out, place + 1, groups, widths)
    place_bytes(out, offsets[:-1] + group_bytes, rest_bytes, data)
    return out, offsets
