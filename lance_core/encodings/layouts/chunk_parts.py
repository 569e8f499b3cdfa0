"""What a chunk of a mini-block page consists of: its header, levels and value buffers.

A chunk begins with the number of levels (u16), the bytes of repetition and of definition levels
(u16, if the page has them) and those of each value buffer (u16, or u32 with large chunks). All
parts start at multiples of 8 bytes from the start of the chunk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError


class ChunkForm(NamedTuple):
    """What chunks of a page have: kinds of levels, ``num_buffers`` value buffers, large sizes."""

    has_rep: bool
    has_def: bool
    num_buffers: int
    large: bool


class ChunkParts(NamedTuple):
    """Parts of chunks, one entry for each chunk; positions count from the start of ``data``.

    ``starts`` and ``sizes`` have a row for each value buffer; ``rep`` and ``definition`` are
    (starts, sizes), None if the page has no such levels.
    """

    data: npt.NDArray[np.uint8]
    num_levels: Int64Array
    rep: tuple[Int64Array, Int64Array] | None
    definition: tuple[Int64Array, Int64Array] | None
    starts: Int64Array
    sizes: Int64Array


def chunk_parts(
    form: ChunkForm, data: npt.NDArray[np.uint8], positions: Int64Array, sizes: Int64Array
) -> ChunkParts:
    """The parts of the chunks of ``sizes`` bytes at ``positions`` of ``data``.

    Raises `CorruptFileError` if a part does not fit into its chunk.
    """
    fixed = 1 + form.has_rep + form.has_def
    length = 2 * fixed + form.num_buffers * (4 if form.large else 2)
    if (sizes < length).any():
        raise CorruptFileError(f"a chunk is shorter than its header of {length} bytes")
    header = data[positions[:, None] + np.arange(length)]
    numbers = header[:, : 2 * fixed].copy().view("<u2").astype(np.int64).T
    unit = "<u4" if form.large else "<u2"
    buffer_sizes = header[:, 2 * fixed :].copy().view(unit).astype(np.int64).T
    place = _aligned(np.full(len(positions), length, np.int64))
    level_parts = []
    for number in range(1, fixed):
        level_parts.append((positions + place, numbers[number]))
        place = _aligned(place + numbers[number])
    starts = np.empty(buffer_sizes.shape, np.int64)
    for number in range(form.num_buffers):
        starts[number] = positions + place
        end = place + buffer_sizes[number]
        place = _aligned(end)
    if (end > sizes).any():
        raise CorruptFileError("the parts of a chunk do not fit into it")
    rep = level_parts.pop(0) if form.has_rep else None
    definition = level_parts.pop(0) if form.has_def else None
    return ChunkParts(data, numbers[0], rep, definition, starts, np.ascontiguousarray(buffer_sizes))


def _aligned(place: Int64Array) -> Int64Array:
    return (place + 7) // 8 * 8
