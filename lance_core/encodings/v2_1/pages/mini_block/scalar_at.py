"""Decode one row of a mini-block page without lists from the chunk that holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.v2_1.codecs.base import Chunk, Place, ScalarAt, scalar_at
from lance_core.encodings.v2_1.pages.leaf_values import array_of
from lance_core.encodings.v2_1.pages.mini_block.chunk_header import ChunkHeader
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext


class ChunkScalars:
    """Decodes single values of a page; ``items`` are those of its dictionary, if any."""

    __slots__ = ("_definition", "_header", "_items", "_max_def", "_type", "_value")

    def __init__(
        self,
        form: ChunkForm,
        scalars: tuple[ScalarAt, ScalarAt | None],
        max_def: int,
        type_: pa.DataType,
        items: pa.Array | None,
    ) -> None:
        self._header = ChunkHeader(form)
        self._value, self._definition = scalars
        self._max_def = max_def
        self._type = type_
        self._items = items

    @classmethod
    def of(
        cls,
        message: MiniBlockLayout,
        form: ChunkForm,
        max_def: int,
        type_: pa.DataType,
        items: pa.Array | None,
        context: DecodeContext,
    ) -> ChunkScalars | None:
        """A decoder; None if a single value requires decoding the whole chunk."""
        if items is None:
            if pa.types.is_struct(type_) or pa.types.is_dictionary(type_):
                return None
        elif pa.types.is_dictionary(type_):
            return None
        value = scalar_at(message.value_compression, Place.MINI_BLOCK, context)
        definition = None
        if form.has_def:
            definition = scalar_at(message.def_compression, Place.BLOCK, context)
        if value is None or (form.has_def and definition is None):
            return None
        return cls(form, (value, definition), max_def, type_, items)

    def decode(self, data: memoryview, position: int, count: int, validate_utf8: bool) -> pa.Array:
        """The value at ``position`` of the chunk ``data``, which has ``count`` values."""
        level, chunk = self._parts(data, position, count)
        if level:
            return all_null(self._type, 1)
        octets = self._value(chunk, position)
        if self._items is not None:
            index = int.from_bytes(octets, "little")
            if index >= len(self._items):
                raise CorruptFileError(
                    f"index {index} is outside of the dictionary of {len(self._items)} items"
                )
            return self._items.slice(index, 1)
        return array_of(self._type, octets, validate_utf8)

    def _parts(self, data: memoryview, position: int, count: int) -> tuple[int, Chunk]:
        """The definition level of the value, and the value buffers of the chunk."""
        total, starts, sizes = self._header.parts(data)
        first = self._header.num_levels
        chunk = Chunk(data, starts[first:], sizes[first:], count)
        if not first:
            return 0, chunk
        if total != count:
            raise CorruptFileError("the levels of a chunk do not match its values")
        if self._definition is None:
            return 0, chunk
        levels = Chunk(data, starts[first - 1 : first], sizes[first - 1 : first], count)
        level = int.from_bytes(self._definition(levels, position), "little")
        if level > self._max_def:
            raise CorruptFileError(f"definition level {level} where {self._max_def} is the highest")
        return level, chunk
