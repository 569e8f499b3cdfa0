"""The parts of a chunk of a mini-block page: levels and value buffers.

See `lance_core.encodings.kernels.numpy.chunk_headers` for the layout of the chunk header.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.v2_1.codecs.base import MiniBlockChunks


class ChunkForm(NamedTuple):
    """The form of the chunks of a page: kinds of levels, number of value buffers, size width."""

    has_rep: bool
    has_def: bool
    num_buffers: int
    large: bool


class ChunkParts(NamedTuple):
    """The parts of chunks, with one entry per chunk; positions count from the start of ``data``.

    ``starts`` and ``sizes`` have a row for each value buffer. ``rep`` and ``definition`` are
    (starts, sizes), or None if the page has no such levels.
    """

    data: npt.NDArray[np.uint8]
    num_levels: Int64Array
    rep: tuple[Int64Array, Int64Array] | None
    definition: tuple[Int64Array, Int64Array] | None
    starts: Int64Array
    sizes: Int64Array

    def values(self, counts: Int64Array) -> MiniBlockChunks:
        """The value buffers of chunks that hold ``counts`` values each."""
        return MiniBlockChunks.known(self.data, self.starts, self.sizes, counts)


def chunk_parts(
    form: ChunkForm,
    data: npt.NDArray[np.uint8],
    positions: Int64Array,
    sizes: Int64Array,
    kernels: Kernels,
) -> ChunkParts:
    """The parts of the chunks of ``sizes`` bytes at ``positions`` of ``data``.

    Raises `CorruptFileError` if a part exceeds its chunk.
    """
    levels, buffers = form.has_rep + form.has_def, form.num_buffers
    headers = kernels.chunk_headers(data, positions, sizes, levels, buffers, form.large)
    parts = levels + buffers
    table = headers.reshape(1 + 2 * parts, len(positions))
    starts, lengths = table[1 : 1 + parts], table[1 + parts :]
    # The order of the parts: repetition levels, definition levels, value buffers. A page without
    # repetition levels has its definition levels first.
    rep = (starts[0], lengths[0]) if form.has_rep else None
    definition = (starts[levels - 1], lengths[levels - 1]) if form.has_def else None
    members = data, table[0], rep, definition, starts[levels:], lengths[levels:]
    return tuple.__new__(ChunkParts, members)  # without a call of a Python function
