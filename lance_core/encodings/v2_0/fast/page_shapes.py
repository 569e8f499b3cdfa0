"""What pages with the same shape of encodings have in common, and the buffers of such pages.

Pages of one shape are read together: many small pages of a column (`page_run`), or the pages of
many small columns (`column_group`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Binary, Buffer, Flat
from lance_core.byte_ranges import BufferSlices, RangeArrays, concatenated
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.page_arrays import PageArrays

Shape = tuple[str, int]
"""What the pages of a run share: the kind of encoding and the bits of a value or index."""


def shape_of(encoding: Any, type_: pa.DataType) -> Shape | None:
    """The shape of the encoding of a page; None for a page that is read alone."""
    if not isinstance(encoding, ArrayEncoding):
        return None
    encoding_name = encoding.WhichOneof("array_encoding")
    if encoding_name == "nullable" and (pa.types.is_primitive(type_) or pa.types.is_decimal(type_)):
        return _flat_shape(encoding, type_)
    if not is_variable(type_):
        return None
    if encoding_name == "binary":
        return ("binary", 0) if _is_plain(encoding.binary) else None
    if encoding_name == "dictionary":
        items = encoding.dictionary.items
        indices = _plain_flat(encoding.dictionary.indices)
        is_plain = items.WhichOneof("array_encoding") == "binary" and _is_plain(items.binary)
        if is_plain and indices is not None and indices.bits_per_value in (8, 16, 32):
            return "dictionary", indices.bits_per_value
    return None


def _flat_shape(encoding: ArrayEncoding, type_: pa.DataType) -> Shape | None:
    form = encoding.nullable.WhichOneof("nullability")
    bits = int(type_.bit_width)
    if form == "all_nulls":
        return "flat", bits
    if form == "some_nulls":
        validity = encoding.nullable.some_nulls.validity
        if not _is_flat(validity) or validity.flat.bits_per_value != 1:
            return None
        values = encoding.nullable.some_nulls.values
    else:
        values = encoding.nullable.no_nulls.values
    return ("flat", bits) if _is_flat(values) and values.flat.bits_per_value == bits else None


def _is_flat(encoding: ArrayEncoding) -> bool:
    """True for uncompressed values in a buffer of the page."""
    if encoding.WhichOneof("array_encoding") != "flat" or encoding.flat.HasField("compression"):
        return False
    return encoding.flat.buffer.buffer_type == Buffer.page


def _plain_flat(encoding: ArrayEncoding) -> Flat | None:
    """The values of an encoding without nulls, if they are flat."""
    if encoding.WhichOneof("array_encoding") == "nullable":
        encoding = encoding.nullable.no_nulls.values
    return encoding.flat if _is_flat(encoding) else None


def plain_place(encoding: ArrayEncoding) -> int:
    """The number of the buffer of values of which `_plain_flat` knows that they are flat."""
    flat = _plain_flat(encoding)
    assert flat is not None
    return flat.buffer.buffer_index


def _is_plain(binary: Binary) -> bool:
    """True for values whose ends and bytes are flat."""
    ends, octets = _plain_flat(binary.indices), _plain_flat(binary.bytes)
    if ends is None or octets is None:
        return False
    return ends.bits_per_value == 64 and octets.bits_per_value == 8


NONE = -1
"""In place of the number of a buffer that a page does not have."""


class Wanted(NamedTuple):
    """The bytes ``start`` to ``stops[p]`` of buffer ``buffers[p]`` of each page p.

    All bytes from ``start`` on if ``stops`` is None.
    """

    buffers: Int64Array
    stops: Int64Array | None = None
    start: int = 0


class ShapedPages(NamedTuple):
    """Pages of one shape; page p has the encoding ``encodings[kinds[p]]``."""

    table: PageArrays
    numbers: Int64Array
    encodings: Sequence[Any]
    kinds: Int64Array

    @classmethod
    def of(cls, table: PageArrays, numbers: Int64Array) -> ShapedPages:
        used, kinds = np.unique(table.kinds[numbers], return_inverse=True)
        return cls(table, numbers, [table.encodings[kind] for kind in used.tolist()], kinds)

    @property
    def num_rows(self) -> Int64Array:
        rows: Int64Array = self.table.num_rows[self.numbers]
        return rows

    def values(self, value: Callable[[Any], int]) -> Int64Array:
        """A value of the encoding of each page."""
        return np.array([value(encoding) for encoding in self.encodings], np.int64)[self.kinds]

    def adjustments(self, binary: Callable[[Any], Binary]) -> npt.NDArray[np.uint64]:
        """What is added to the ends of null strings of each page."""
        values = [binary(encoding).null_adjustment for encoding in self.encodings]
        return np.array(values, np.uint64)[self.kinds]

    def fetch(self, *parts: Wanted) -> Decoding[list[BufferSlices]]:
        """The bytes of one or more buffers of each page; none for `NONE`.

        Raises `CorruptFileError` if a page does not have the buffer, or if it is too short.
        """
        requests = list(map(self.ranges, parts))
        slices = BufferSlices.of((yield concatenated(requests)))
        edges = np.cumsum([0, *map(len, requests)]).tolist()
        return [slices[first:stop] for first, stop in pairwise(edges)]

    def ranges(self, part: Wanted) -> RangeArrays:
        """The byte range of a buffer of each page; raises as `fetch` does."""
        has = part.buffers != NONE
        edges, pages = self.table.edges, self.numbers[has]
        buffers = edges[pages] + part.buffers[has]
        if (buffers >= edges[pages + 1]).any():
            raise CorruptFileError("a buffer is used that its page does not have")
        begins, stops = self.table.starts[buffers], self.table.stops[buffers]
        if part.stops is not None:
            if (stops - begins < part.stops[has]).any():
                raise CorruptFileError("a buffer of a page has fewer bytes than its values")
            stops = begins + part.stops[has]
        return RangeArrays(begins + part.start, stops)


def values_place(encoding: ArrayEncoding) -> int:
    """The number of the buffer of values; `NONE` if all are null."""
    form = encoding.nullable.WhichOneof("nullability")
    if form == "all_nulls":
        return NONE
    form_message = (
        encoding.nullable.no_nulls if form == "no_nulls" else encoding.nullable.some_nulls
    )
    return int(form_message.values.flat.buffer.buffer_index)


def validity_place(encoding: ArrayEncoding) -> int:
    """The number of the buffer of validity; `NONE` if all values are null, or none."""
    if encoding.nullable.WhichOneof("nullability") != "some_nulls":
        return NONE
    return int(encoding.nullable.some_nulls.validity.flat.buffer.buffer_index)
