"""Strings of many pages with the same shape of encodings, as one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core._pb.encodings_v2_0_pb2 import Binary
from lance_core.byte_ranges import BufferSlices
from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.decode_budget import spend, spend_at_most
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.strings import Spans, offset_dtype, value_sizes, variable_arrays
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.v2_0.fast.page_shapes import ShapedPages, Wanted, plain_place
from lance_core.encodings.v2_0.offsets import not_ascending
from lance_core.errors import CorruptFileError, ResultTooLargeError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext


def strings_wanted(
    pages: ShapedPages, counts: Int64Array, binary: Callable[[Any], Binary]
) -> tuple[Wanted, Wanted]:
    """The ends and the bytes of the ``counts[p]`` strings of page p."""
    ends = pages.values(lambda encoding: plain_place(binary(encoding).indices))
    texts = pages.values(lambda encoding: plain_place(binary(encoding).bytes))
    return Wanted(ends, 8 * counts), Wanted(texts)


def joined_strings(
    ends: BufferSlices,
    texts: BufferSlices,
    counts: Int64Array,
    adjustments: npt.NDArray[np.uint64],
    type_: pa.DataType,
    context: DecodeContext,
) -> list[pa.Array]:
    """The ``counts[p]`` strings of each page p, whose ends grow by ``adjustments[p]`` for nulls."""
    join = context.kernels.join_slices
    stored = ends.joined(join).view(np.uint64)
    filled = np.flatnonzero(counts)
    stops = np.cumsum(counts)
    firsts = (stops - counts)[filled]
    valid = None
    if len(filled) and (np.maximum.reduceat(stored, firsts) >= adjustments[filled]).any():
        repeated = np.repeat(adjustments, counts)
        valid = stored < repeated
        stored = np.where(valid, stored, stored - repeated)
    real = stored.view(np.int64)
    descends = real[1:] < real[:-1]
    descends[firsts[1:] - 1] = False
    lasts = np.zeros(len(counts), np.int64)
    lasts[filled] = real[stops[filled] - 1]
    if descends.any() or (real[firsts] < 0).any() or (lasts > texts.sizes).any():
        raise not_ascending()
    spend(int(lasts.sum()))
    text = pa.py_buffer(texts.first(lasts).joined(join))
    spans = Spans(0, plus_of_page(real, np.cumsum(lasts) - lasts, counts), valid)
    return variable_arrays(type_, spans, text, context.validate_utf8)


def plus_of_page(
    values: npt.NDArray[Any], addends: npt.NDArray[Any], counts: Int64Array
) -> npt.NDArray[Any]:
    """The next ``counts[p]`` of ``values`` plus ``addends[p]``, for each page p."""
    if len(counts) and (counts == counts[0]).all():
        values, addends = values.reshape(len(counts), -1), addends[:, None]
    else:
        addends = np.repeat(addends, counts)
    sums: npt.NDArray[Any] = np.add(values, addends).ravel()
    return sums


def looked_up_items(
    items: Sequence[pa.Array],
    stored: npt.NDArray[np.unsignedinteger[Any]],
    num_rows: Int64Array,
    counts: Int64Array,
) -> pa.Array:
    """The items at the ``stored`` indices of pages of which each has so many rows and items.

    Index 0 of a page stands for null, the others count from 1.
    """
    filled = np.flatnonzero(num_rows)
    firsts = (np.cumsum(num_rows) - num_rows)[filled]
    if len(filled) and (np.maximum.reduceat(stored, firsts) > counts[filled]).any():
        raise CorruptFileError("an index is beyond the items of its dictionary")
    # A null before the items of each page, so that index 0 needs no case of its own.
    bases = (np.cumsum(counts + 1) - (counts + 1)).astype(np.int32)
    order = np.arange(1, counts.sum() + 1)
    chosen = np.insert(order, np.cumsum(counts) - counts, 0)
    with_nulls = concat_arrays([pa.nulls(1, items[0].type), *items]).take(from_numpy(chosen))
    indices = plus_of_page(stored, bases, num_rows)
    _check_size(with_nulls, indices)
    return pc.take(with_nulls, from_numpy(indices))


def _check_size(items: pa.Array, indices: npt.NDArray[np.int32]) -> None:
    """Raise `ResultTooLargeError` if the items at ``indices`` do not fit one array.

    Also spends their bytes.
    """
    limit = MAX_OFFSET if offset_dtype(items.type) is np.int32 else 1 << 62
    sizes = value_sizes(items)
    bound = int(sizes.max(initial=0)) * len(indices)
    if spend_at_most(bound, lambda: int(sizes.take(indices).sum()), limit):
        raise ResultTooLargeError(
            f"{len(indices)} values of type {items.type} take 2 GiB or more, too many bytes for "
            "one array"
        )
