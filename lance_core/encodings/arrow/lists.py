"""Build Arrow list arrays from list ends and arrays of items.

An item array may end in the middle of a list. The result slices the item arrays without a copy;
only the items of a list that spans several arrays are copied into one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.decoding import Int64Array
from lance_core.errors import ResultTooLargeError
from lance_core.schema.empty_arrays import empty_array


class Lists(NamedTuple):
    """Adjacent lists: each list starts where the one before it ends.

    ``begin`` (the first item of the first list) and the ascending ``ends`` count items from the
    same origin. ``valid`` is None if no list is null.
    """

    begin: int
    ends: Int64Array
    valid: npt.NDArray[np.bool_] | None

    def part(self, start: int, stop: int) -> Lists:
        """The lists ``start`` to ``stop`` (exclusive)."""
        begin = int(self.ends[start - 1]) if start else self.begin
        valid = None if self.valid is None else self.valid[start:stop]
        return Lists(begin, self.ends[start:stop], valid)


def list_arrays(
    type_: pa.DataType, lists: Lists, items: list[pa.Array], edges: list[int]
) -> list[pa.Array]:
    """Arrays of ``type_`` (list or large_list) with the ``lists``, of which there is at least one.

    ``items[i]`` holds the items ``edges[i]`` to ``edges[i + 1]`` and is not empty. Together the
    arrays hold all items of the lists.
    """
    if lists.begin == int(lists.ends[-1]):
        return [_array(type_, lists, empty_array(type_.value_type))]
    limit = MAX_OFFSET if pa.types.is_list(type_) else 1 << 62
    arrays, row = [], 0
    while row < len(lists.ends):
        rest = lists.part(row, len(lists.ends))
        number = min(bisect_right(edges, rest.begin), len(items)) - 1
        reach = min(edges[number + 1], rest.begin + limit)
        count = int(np.searchsorted(rest.ends, reach, side="right"))
        if count:  # these lists lie within one item array
            part = rest.part(0, count)
            start = min(part.begin, edges[number + 1]) - edges[number]
            size = int(part.ends[-1]) - part.begin
            arrays.append(_array(type_, part, items[number].slice(start, size)))
        else:  # this list continues in the next item array
            count, part = 1, rest.part(0, 1)
            if int(part.ends[0]) - part.begin > limit:
                raise ResultTooLargeError(f"{type_} cannot hold a list of 2^31 items or more")
            arrays.append(_array(type_, part, _joined(part, items, edges, number)))
        row += count
    return arrays


def _joined(single: Lists, items: list[pa.Array], edges: list[int], number: int) -> pa.Array:
    """An array of a single list, whose items start in ``items[number]``."""
    position, end, pieces = single.begin, int(single.ends[0]), []
    while position < end:
        stop = min(end, edges[number + 1])
        pieces.append(items[number].slice(position - edges[number], stop - position))
        position, number = stop, number + 1
    return concat_arrays(pieces)


def _array(type_: pa.DataType, lists: Lists, values: pa.Array) -> pa.Array:
    offsets = np.empty(len(lists.ends) + 1, np.int32 if pa.types.is_list(type_) else np.int64)
    offsets[0] = 0
    np.subtract(lists.ends, lists.begin, out=offsets[1:], casting="unsafe")
    bitmap = None
    if lists.valid is not None:
        bitmap = pa.py_buffer(np.packbits(lists.valid, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(offsets)]
    nulls = 0 if bitmap is None else -1
    return pa.Array.from_buffers(type_, len(lists.ends), buffers, nulls, 0, [values])
