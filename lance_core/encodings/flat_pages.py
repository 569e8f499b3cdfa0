"""Pages that only have values of equal size, of any file version.

Their only buffer has the values of all rows and nothing else, so the bytes of several such pages,
one after the other, are those of one page with all their rows.
"""

from __future__ import annotations

from google.protobuf.message import Message

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Buffer
from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from lance_core.encodings.page import ForeignEncoding


def flat_row_bytes(encoding: Message | ForeignEncoding, num_rows: int) -> int | None:
    """The bytes of each of the ``num_rows`` rows of such a page; None for other pages."""
    bits = None
    if isinstance(encoding, ArrayEncoding):
        bits = _bits_2_0(encoding)
    elif isinstance(encoding, PageLayout):
        bits = _bits_2_1(encoding, num_rows)
    return bits // 8 if bits and bits % 8 == 0 else None


def with_num_rows(encoding: Message, num_rows: int) -> bytes:
    """The serialised encoding of such a page, for another number of rows."""
    changed = type(encoding)()
    changed.CopyFrom(encoding)
    if isinstance(changed, PageLayout):
        changed.full_zip_layout.num_items = num_rows
        changed.full_zip_layout.num_visible_items = num_rows
    return changed.SerializeToString(deterministic=True)


def _bits_2_0(encoding: ArrayEncoding) -> int | None:
    bits = 1
    while True:
        kind = encoding.WhichOneof("array_encoding")
        if kind == "nullable" and encoding.nullable.HasField("no_nulls"):
            encoding = encoding.nullable.no_nulls.values
        elif kind == "fixed_size_list" and not encoding.fixed_size_list.has_validity:
            bits *= encoding.fixed_size_list.dimension
            encoding = encoding.fixed_size_list.items
        elif kind == "flat" and not encoding.flat.HasField("compression"):
            buffer = encoding.flat.buffer
            is_first = buffer.buffer_type == Buffer.page and not buffer.buffer_index
            return bits * encoding.flat.bits_per_value if is_first else None
        else:
            return None


def _bits_2_1(encoding: PageLayout, num_rows: int) -> int | None:
    """Without control words, rows have the bytes of their values."""
    page = encoding.full_zip_layout
    if page.WhichOneof("details") != "bits_per_value" or page.bits_rep or page.bits_def:
        return None
    is_whole = page.num_items == page.num_visible_items == num_rows
    return page.bits_per_value if is_whole else None
