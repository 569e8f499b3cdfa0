"""Protobuf varints and runs of bytes of different lengths, in whole arrays.

A varint has seven bits of a number in each byte, lowest first; all its bytes but the last are at
least 0x80. "Ragged" bytes are the bytes of several items one after the other, with their lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core.encodings.arrow.spans import edges_of, spans_index
from lance_core.errors import CorruptFileError

Bytes: TypeAlias = npt.NDArray[np.uint8]
"""Bytes as an array."""

Ints: TypeAlias = npt.NDArray[np.int64]
"""Integers of 64 bits."""

Ragged: TypeAlias = tuple[Bytes, Ints]
"""Items of bytes, one after the other, and the size of each."""

MAX_BYTES = 9
"""Longest varint of a number below 2**63; all numbers of a valid file are smaller."""


def varints_at(data: Bytes, positions: Ints) -> tuple[Ints, Ints]:
    """The varint at each position, and the position after it.

    ``data`` has at least `MAX_BYTES` bytes after the last position. Raises `CorruptFileError` for a
    longer varint.
    """
    first = data[positions]
    values = (first & 0x7F).astype(np.int64)
    after = positions + 1
    unfinished = np.flatnonzero(first & 0x80)
    for number in range(1, MAX_BYTES):
        if not len(unfinished):
            return values, after
        byte = data[after[unfinished]]
        values[unfinished] |= (byte & 0x7F).astype(np.int64) << (7 * number)
        after[unfinished] += 1
        unfinished = unfinished[(byte & 0x80) != 0]
    if len(unfinished):
        raise CorruptFileError("a number of the column metadata is 2**63 or more")
    return values, after


def packed_varints(data: Bytes, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """All varints in the byte ranges, and the number of varints in each range.

    Raises `CorruptFileError` if a range ends within a varint, or for one of 2**63 or more.
    """
    body = gather(data, starts, stops)
    edges = edges_of(stops - starts)
    is_last = body < 0x80
    if len(body) and not is_last[edges[1:][edges[1:] > edges[:-1]] - 1].all():
        raise CorruptFileError("a list of numbers of the column metadata ends within a number")
    counts: Ints = np.diff(edges_of(is_last)[edges])
    if not len(body):
        return np.zeros(0, np.int64), counts
    ends = np.flatnonzero(is_last)
    firsts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends + 1 - firsts
    if lengths.max() > MAX_BYTES:
        raise CorruptFileError("a number of the column metadata is 2**63 or more")
    shifts = 7 * (np.arange(len(body)) - np.repeat(firsts, lengths))
    return np.add.reduceat((body & 0x7F).astype(np.int64) << shifts, firsts), counts


def encode(values: Ints) -> Ragged:
    """The bytes of the varint of each of ``values``, which must not be negative."""
    lengths = np.ones(len(values), np.int64)
    for number in range(1, MAX_BYTES):
        longer = values >= 1 << (7 * number)
        if not longer.any():
            break
        lengths += longer
    edges = edges_of(lengths)
    body = np.empty(edges[-1], np.uint8)
    rest, at, lasts = values, edges[:-1], edges[1:] - 1
    while len(rest):
        more = at < lasts
        body[at] = (rest & 0x7F) | (more.astype(np.int64) << 7)
        rest, at, lasts = rest[more] >> 7, at[more] + 1, lasts[more]
    return body, lengths


def tagged(tag: int, item: Ragged, present: npt.NDArray[np.bool_]) -> Ragged:
    """The byte ``tag`` and the item, for each item; nothing for those that are not ``present``."""
    sizes = np.where(present, item[1], 0)
    edges = edges_of(item[1])
    body = gather(item[0], edges[:-1], edges[:-1] + sizes)
    tags = np.full(int(present.sum()), tag, np.uint8)
    return concatenated([(tags, present.astype(np.int64)), (body, sizes)])


def concatenated(parts: Sequence[Ragged]) -> Ragged:
    """Item by item, the bytes of all ``parts`` one after the other."""
    total = np.sum([lengths for _, lengths in parts], axis=0)
    edges = edges_of(total)
    body = np.empty(edges[-1], np.uint8)
    at = edges[:-1].copy()
    for piece, lengths in parts:
        body[spans_index(at, at + lengths)] = piece
        at += lengths
    return body, total


def merged(item: Ragged, counts: Ints) -> Ragged:
    """The same bytes, with each next ``counts`` items joined to one."""
    return item[0], np.diff(edges_of(item[1])[edges_of(counts)])


def gather(data: Bytes, starts: Ints, stops: Ints) -> Bytes:
    """The bytes of all ranges one after the other."""
    return data[spans_index(starts, stops)]
