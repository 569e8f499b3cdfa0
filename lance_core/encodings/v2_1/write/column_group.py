"""Encode small columns of numbers together, with the same bytes as one by one.

A file with thousands of columns and few rows has one small page for each column, and selecting and
applying an encoding costs more than the values. Here numpy does it for many columns at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_1.codecs.base import Encoded, Place, Target, encode
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.encodings.v2_1.levels.repdef import ItemLayer, ravel
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import (
    ChunkPart,
    Chunks,
    chunk_bytes,
    chunk_words,
)
from lance_core.encodings.v2_1.pages.mini_block.writer import mini_block_page
from lance_core.encodings.v2_1.selection.blocks import encode_levels
from lance_core.encodings.v2_1.selection.dictionary import never_has_dictionary
from lance_core.encodings.v2_1.write.field_encoder import TopLevelEncoder
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext, FieldEncoder

WINDOW = 128
"""Fields whose pages are in memory at once."""

MAX_BYTES = 128 << 10
"""Maximum bytes of a column that is encoded with others; a larger one is worth its fixed cost."""


class _Waiting(NamedTuple):
    """A column that waits for `flush`: its number, its values, and its first row."""

    number: int
    values: pa.Array
    row: int


def flush_together(
    encoders: Sequence[FieldEncoder], context: EncodeContext
) -> Iterator[tuple[int, EncodedPage]]:
    """Flush all ``encoders``: the number of the encoder and each of its pages, in order."""
    for first in range(0, len(encoders), WINDOW):
        part = encoders[first : first + WINDOW]
        pages = _pages_together(part, context)
        for number, encoder in enumerate(part):
            page = pages.pop(number, None)
            if page is None:
                yield from ((first + number, page) for page in encoder.flush())
            else:
                yield first + number, page


def _pages_together(
    encoders: Sequence[FieldEncoder], context: EncodeContext
) -> dict[int, EncodedPage]:
    """The single page of each encoder that has alike others; their waiting rows are removed."""
    alike: dict[tuple[pa.DataType, int], list[_Waiting]] = {}
    for number, encoder in enumerate(encoders):
        found = encoder.plain_values(MAX_BYTES) if isinstance(encoder, TopLevelEncoder) else None
        if found is not None and found[0].type.bit_width in WIDTHS:
            key = found[0].type, len(found[0])
            alike.setdefault(key, []).append(_Waiting(number, *found))
    pages: dict[int, EncodedPage] = {}
    for group in alike.values():
        if len(group) > 1:
            pages |= _encoded(group, context)
    for number in pages:
        encoder = encoders[number]
        assert isinstance(encoder, TopLevelEncoder)
        encoder.discard_waiting()
    return pages


def _encoded(group: Sequence[_Waiting], context: EncodeContext) -> dict[int, EncodedPage]:
    """The pages of a group, by number; columns for which other encodings may pay are left out."""
    count = len(group[0].values)
    words = _words(group)
    is_plain, packs = _choices(words, count, context)
    pages: dict[int, EncodedPage] = {}
    for key in ("inline_bitpacking", "flat"):
        chosen = np.flatnonzero(is_plain & (packs == (key == "inline_bitpacking")))
        if len(chosen):
            mine = [group[place] for place in chosen.tolist()]
            pages |= _stored(mine, words[chosen], key, context)
    return pages


def _words(group: Sequence[_Waiting]) -> npt.NDArray[np.unsignedinteger]:
    """One row for each column, padded with zeros to whole chunks of `CHUNK` values."""
    count, size = len(group[0].values), group[0].values.type.bit_width // 8
    words = np.zeros((len(group), -(-count // CHUNK) * CHUNK), f"<u{size}")
    for row, column in zip(words, group, strict=True):
        array = column.values
        row[:count] = np.frombuffer(array.buffers()[1], row.dtype, count, array.offset * size)
    return words


def _choices(
    words: npt.NDArray[np.unsignedinteger], count: int, context: EncodeContext
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each column, if its values are packed or flat, and if they are packed.

    Decides as `lance_core.encodings.v2_1.selection` does without options of the field. A column
    that may be constant, or have a dictionary or runs, is neither.
    """
    values = words[:, :count]
    size = count * words.itemsize
    widths = context.kernels.chunk_widths(words.reshape(-1)).reshape(len(words), -1)
    packed = widths.sum(axis=1) * packed_bytes(1) + widths.shape[1] * words.itemsize
    packed = np.minimum(packed, size)
    runs = 1 + np.count_nonzero(values[:, 1:] != values[:, :-1], axis=1)
    is_plain = runs > np.minimum(packed, size - 1) // (words.itemsize + 1)
    if context.version >= FileVersion.V2_2:
        is_plain &= runs > 1
        if words.itemsize == 8:
            is_plain &= never_has_dictionary(values)
    return is_plain, packed < size


def _stored(
    group: Sequence[_Waiting],
    words: npt.NDArray[np.unsignedinteger],
    key: str,
    context: EncodeContext,
) -> dict[int, EncodedPage]:
    """The pages of ``group``, whose values are ``words``, encoded by the codec ``key``."""
    count = len(group[0].values)
    large = context.version >= FileVersion.V2_2
    values = words[:, :count]
    target = Target(Place.MINI_BLOCK, context.registry, (key,))
    one = encode(FixedWidth.of(values[0]), target)
    if key == "flat":
        data = pa.py_buffer(np.ascontiguousarray(values))
        sizes = np.tile(one.sizes[0], len(words))
    else:
        packed, sizes = context.kernels.pack_inline(words.reshape(-1))
        data = pa.py_buffer(packed)
    chunks = Chunks(np.zeros(len(sizes), np.int64), (), [ChunkPart(data, sizes)])
    joined, totals = chunk_bytes(ChunkForm(False, False, 1, large), chunks, context.kernels)
    totals = totals.reshape(len(words), -1)
    table = chunk_words(totals, one.counts, large)
    stops = totals.sum(axis=1).cumsum().tolist()
    message = _message(one, count, large, context)
    width = table.size // len(words)
    pages, start = {}, 0
    for place, (column, stop) in enumerate(zip(group, stops, strict=True)):
        buffers = [table.slice(place * width, width), joined.slice(start, stop - start)]
        pages[column.number] = EncodedPage(0, buffers, message, count, column.row)
        start = stop
    return pages


def _message(one: Encoded, count: int, large: bool, context: EncodeContext) -> bytes:
    """The serialized layout, which is the same for all columns of a group."""
    levels = ravel((ItemLayer(count, None),))
    page = mini_block_page(
        levels,
        one,
        lambda some, edges: encode_levels(some, edges, context),
        large,
        context.kernels,
    )
    assert page is not None
    return page.layout.SerializeToString()
