"""Pages that can be merged at little more than the cost of a copy, of any file version.

Most have nothing but values of one size, bitmaps, and strings with their ends. The bytes of
several, one after the other, are those of one page with all their rows; only ends must be counted
from another start. Mini-block pages are unpacked and packed again: those of numbers, and those of
FSST codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from google.protobuf.message import Message

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.stored_pages import (
    REPDEF_NULLABLE_ITEM,
    ArrayEncoding,
    Buffer,
    ForeignEncoding,
    MiniBlockLayout,
    PageLayout,
)
from lance_core_compaction.page_copy.code_pages import symbols_of
from lance_core_compaction.page_copy.number_pages import NumberCodec, number_codec

if TYPE_CHECKING:
    from lance_core.hookspecs.arrays import Int64Array

UInt64Array = npt.NDArray[np.uint64]

END_BITS = 64
"""Bits of the end of a string."""


class PageForm(NamedTuple):
    """What is in the buffers of a page; pages with the same ``key`` can be merged.

    ``bits``: for each buffer the bits of a row. None is for the bytes of strings, whose ends are in
    the buffer before; the ends of null strings are greater by ``adjustment``, else it is 0.
    """

    key: bytes
    bits: tuple[int | None, ...]
    adjustment: int = 0

    def buffer_bytes(self, num_rows: int) -> list[int]:
        """The minimum bytes of each buffer of a page of ``num_rows`` rows."""
        return [(num_rows * (bits or 0) + 7) // 8 for bits in self.bits]


class NumberForm(NamedTuple):
    """A mini-block page of numbers; those with the same ``key`` can be merged.

    Pages of both codecs occur in one column: where packing saves little, that depends on the number
    of rows. Pages with and without nulls merge, too. ``levels``: the serialised encoding of the
    definition levels, empty without nulls.
    """

    key: bytes
    codec: NumberCodec
    levels: bytes


class CodeForm(NamedTuple):
    """A mini-block page of FSST codes; those with the same ``key`` can be merged.

    ``symbols``: the stored symbol table of the page.
    """

    key: bytes
    symbols: bytes


AnyForm = PageForm | NumberForm | CodeForm
"""How the pages are stored that can be merged."""


def page_form(encoding: Message | ForeignEncoding, num_rows: int) -> AnyForm | None:
    """The form of a page of ``num_rows`` rows; None if it cannot be merged with others."""
    if isinstance(encoding, ArrayEncoding):
        return _form_2_0(encoding)
    if isinstance(encoding, PageLayout):
        return _form_2_1(encoding, num_rows)
    return None


def merged_encoding(encoding: Message, num_rows: int, adjustment: int) -> bytes:
    """The serialised encoding of such a page, for other numbers of rows and of null strings."""
    changed = type(encoding)()
    changed.CopyFrom(encoding)
    if isinstance(changed, PageLayout):
        changed.full_zip_layout.num_items = num_rows
        changed.full_zip_layout.num_visible_items = num_rows
    elif isinstance(changed, ArrayEncoding) and changed.HasField("binary"):
        changed.binary.null_adjustment = adjustment
    return changed.SerializeToString(deterministic=True)


def _form_2_0(encoding: ArrayEncoding) -> PageForm | None:
    adjustment = 0
    if encoding.HasField("binary"):
        ends, octets = _buffers(encoding.binary.indices, 1), _buffers(encoding.binary.bytes, 1)
        if ends != {0: END_BITS} or octets != {1: 8}:
            return None
        bits: tuple[int | None, ...] = (END_BITS, None)
        adjustment = encoding.binary.null_adjustment
        if not adjustment:  # all strings are null
            return None
    else:
        buffers = _buffers(encoding, 1)
        if buffers is None or [*buffers] != [*range(len(buffers))]:
            return None
        bits = tuple(buffers.values())
    return PageForm(merged_encoding(encoding, 0, 0), bits, adjustment)


def _buffers(encoding: ArrayEncoding, scale: int) -> dict[int, int] | None:
    """The bits of a row in each buffer, by number; ``scale`` values are in a row."""
    encoding_name = encoding.WhichOneof("array_encoding")
    if encoding_name == "nullable":
        form = encoding.nullable.WhichOneof("nullability")
        if form == "all_nulls":
            return {}
        if form == "no_nulls":
            return _buffers(encoding.nullable.no_nulls.values, scale)
        marks = _buffers(encoding.nullable.some_nulls.validity, scale)
        values = _buffers(encoding.nullable.some_nulls.values, scale)
        return None if marks is None or values is None else marks | values
    if encoding_name == "fixed_size_list" and not encoding.fixed_size_list.has_validity:
        scale *= encoding.fixed_size_list.dimension
        return _buffers(encoding.fixed_size_list.items, scale)
    if encoding_name != "flat" or encoding.flat.HasField("compression"):
        return None
    buffer = encoding.flat.buffer
    bits = encoding.flat.bits_per_value * scale
    return {buffer.buffer_index: bits} if buffer.buffer_type == Buffer.page and bits else None


def _form_2_1(encoding: PageLayout, num_rows: int) -> AnyForm | None:
    """Without control words, rows of full-zip pages have the bytes of their values."""
    if encoding.HasField("mini_block_layout"):
        return _mini_block_form(encoding.mini_block_layout, num_rows)
    page = encoding.full_zip_layout
    if page.WhichOneof("details") != "bits_per_value" or page.bits_rep or page.bits_def:
        return None
    is_whole = page.num_items == page.num_visible_items == num_rows
    if not is_whole or not page.bits_per_value or page.bits_per_value % 8:
        return None
    return PageForm(merged_encoding(encoding, 0, 0), (page.bits_per_value,))


def _mini_block_form(page: MiniBlockLayout, num_rows: int) -> NumberForm | CodeForm | None:
    if page.num_items != num_rows:
        return None
    same = MiniBlockLayout()
    same.CopyFrom(page)
    symbols = symbols_of(page)
    if symbols is not None:
        same.ClearField("num_items")
        same.value_compression.fsst.ClearField("symbol_table")
        return CodeForm(same.SerializeToString(deterministic=True), symbols)
    codec = number_codec(page)
    if codec is None or not codec.bits:
        return None
    levels = same.def_compression.SerializeToString(deterministic=True)
    same.num_items = codec.bits
    same.ClearField("value_compression")
    same.ClearField("def_compression")
    if len(same.layers) == 1:
        same.layers[0] = REPDEF_NULLABLE_ITEM
    return NumberForm(same.SerializeToString(deterministic=True), codec, levels)


def merge_ends(
    ends: UInt64Array, rows: Int64Array, adjustments: UInt64Array, sizes: Int64Array
) -> Int64Array:
    """Change the ends of the strings of several pages to those of one page, in place.

    Page p has ``rows[p]`` of the ``ends``, at least one, with ``adjustments[p]`` added to those of
    nulls, and ``sizes[p]`` bytes of strings. The new adjustment is one more than all bytes. Returns
    the bytes of the strings of each page. Raises `CorruptFileError` if a page does not end with its
    last string.
    """
    stops = np.cumsum(rows)
    lengths = ends[stops - 1]
    lengths -= adjustments * (lengths >= adjustments)
    bases = np.cumsum(lengths) - lengths
    adjustment = lengths.sum() + np.uint64(1)
    is_wrong = bool((lengths > sizes.astype(np.uint64)).any())
    # One page after the other fits into the processor's cache, which takes a sixth of the time.
    for page, stop in enumerate(stops.tolist()):
        own = ends[stop - int(rows[page]) : stop]
        is_null = None
        if own.max() >= adjustments[page]:
            is_null = own >= adjustments[page]
            np.subtract(own, adjustments[page], out=own, where=is_null)
        is_wrong |= bool(own.max() != lengths[page])
        own += bases[page]
        if is_null is not None:
            np.add(own, adjustment, out=own, where=is_null)
    if is_wrong:
        raise CorruptFileError("the ends of values do not ascend")
    return lengths.astype(np.int64)
