"""One row of a full-zip page without lists, with plain integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.v2_1.codecs.points import ZippedPoint
from lance_core.encodings.v2_1.levels.control_words import ControlWords
from lance_core.encodings.v2_1.pages.mini_block.single_value import array_of
from lance_core.errors import CorruptFileError
from lance_core.store.base import ByteRange

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.v2_1.pages.base import PageScope


def zipped_row(
    number: int, scope: PageScope, words: ControlWords, point: ZippedPoint, context: DecodeContext
) -> Decoding[pa.Array]:
    """Row ``number`` of a page whose values ``point`` decodes."""
    values = scope.buffers[0]
    if words.value_width:
        stride = words.width + words.value_width
        first, last = number * stride, (number + 1) * stride
    else:
        index = scope.buffers[1]
        width = index.length // (scope.num_rows + 1)
        at = index.start + number * width
        (edges,) = yield [ByteRange(at, at + 2 * width)]
        stored = edges.to_pybytes()
        first = int.from_bytes(stored[:width], "little")
        last = int.from_bytes(stored[width:], "little")
        if not first + words.width <= last <= values.length:
            raise CorruptFileError("the repetition index does not fit to the values")
    (buffer,) = yield [ByteRange(values.start + first, values.start + last)]
    view = memoryview(buffer)
    level = int.from_bytes(view[: words.width], "little")
    if level > words.kinds.max_def:
        raise CorruptFileError(f"level {level} where {words.kinds.max_def} is the highest")
    if words.value_width:
        octets = view[words.width :]
    elif level:
        octets = view[words.width :]
        if len(octets):
            raise CorruptFileError("the values of a row do not end where the row does")
    else:
        head = words.width + words.length_width
        octets = view[head:]
        if head > len(view) or int.from_bytes(view[words.width : head], "little") != len(octets):
            raise CorruptFileError("the values of a row do not end where the row does")
    if level:
        return all_null(scope.type, 1)
    return array_of(scope.type, point(octets), context.validate_utf8)
