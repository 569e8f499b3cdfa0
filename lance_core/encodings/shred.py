"""Arrow arrays taken apart into leaf values and the layers around them, as 2.1 columns hold them.

What a null hides is dropped where it would need space of its own: null lists lose their items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.repdef import BoolArray, ItemLayer, Layer, ListLayer


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The values of a leaf, one per slot of the innermost layer; ``layers`` outermost first."""

    values: pa.Array
    layers: tuple[Layer, ...]


def shred(array: pa.Array, is_leaf: Callable[[pa.DataType], bool]) -> Iterator[Leaf]:
    """The leaves of an array, in pre-order.

    Structs, lists, large lists and maps are taken apart unless ``is_leaf`` is true of their type.
    """
    return _shred(array, (), None, is_leaf)


def _shred(
    array: pa.Array,
    outer: tuple[Layer, ...],
    seen: BoolArray | None,
    is_leaf: Callable[[pa.DataType], bool],
) -> Iterator[Leaf]:
    """``seen``: the slots that no struct right around the array makes null; None: all."""
    type_ = array.type
    valid = _valid(array)
    here = valid if seen is None else seen if valid is None else seen & valid
    if is_leaf(type_) or not (_is_list(type_) or pa.types.is_struct(type_)):
        yield Leaf(array, (*outer, ItemLayer(len(array), here)))
    elif pa.types.is_struct(type_):
        layers = (*outer, ItemLayer(len(array), here))
        for number in range(type_.num_fields):
            yield from _shred(array.field(number), layers, here, is_leaf)
    else:
        offsets, items = _items(array, here)
        yield from _shred(items, (*outer, ListLayer(offsets, here)), None, is_leaf)


def _is_list(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_map(type_))


def _valid(array: pa.Array) -> BoolArray | None:
    if not array.null_count:
        return None
    return np.asarray(array.is_valid())


def _items(array: pa.Array, valid: BoolArray | None) -> tuple[Int64Array, pa.Array]:
    """Offsets from 0 of the lists that are ``valid``, the others empty; and just their items."""
    starts: npt.NDArray[Any]
    width = np.int64 if pa.types.is_large_list(array.type) else np.int32
    buffer = array.buffers()[1]
    count = len(array)
    if buffer is None or not count:
        stored = np.zeros(count + 1, np.int64)
    else:
        size = np.dtype(width).itemsize
        stored = np.frombuffer(buffer, width, count + 1, array.offset * size).astype(np.int64)
    items = array.values  # as they are stored, before any slicing
    lengths = np.diff(stored)
    if valid is None or not lengths[~valid].any():
        return stored - stored[0], items.slice(int(stored[0]), int(stored[-1] - stored[0]))
    lengths[~valid] = 0
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    starts = np.repeat(stored[:-1] - offsets[:-1], lengths)
    return offsets, items.take(pa.array(starts + np.arange(offsets[-1])))
