"""Locate the parts of a single chunk with plain integers (see `chunk_parts` for the layout)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm
from lance_core.errors import CorruptFileError


class Parts(NamedTuple):
    """Starts and sizes of the parts of a chunk: first its levels, then its value buffers."""

    num_levels: int
    starts: list[int]
    sizes: tuple[int, ...]


class ChunkHeader:
    """Reads the headers of chunks of one form."""

    __slots__ = ("_struct", "num_levels")

    def __init__(self, form: ChunkForm) -> None:
        self.num_levels = form.has_rep + form.has_def
        buffers = ("I" if form.large else "H") * form.num_buffers
        self._struct = struct.Struct("<H" + "H" * self.num_levels + buffers)

    def parts(self, data: memoryview) -> Parts:
        """The parts of the chunk ``data``. Raises `CorruptFileError` if they exceed the chunk."""
        offset = self._struct.size
        if len(data) < offset:
            raise CorruptFileError(f"a chunk is shorter than its header of {offset} bytes")
        count, *sizes = self._struct.unpack_from(data)
        starts = []
        for size in sizes:
            offset = (offset + 7) // 8 * 8
            starts.append(offset)
            offset += size
        if offset > len(data):
            raise CorruptFileError("the parts of a chunk do not fit into it")
        # Without a call of a Python function.
        return tuple.__new__(Parts, (count, starts, tuple(sizes)))
