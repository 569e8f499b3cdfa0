"""Split Arrow arrays into leaf values and the layers around them, as 2.1 columns store them.

Items of null lists are dropped. Other values below nulls stay, because they keep their slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.arrow.memory_pool import concat_arrays, memory_pool
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.v2_1.levels.repdef import BoolArray, ItemLayer, Layer, ListLayer
from lance_core.encodings.v2_1.levels.tree import Node
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

_DICTIONARY = pa.lib.Type_DICTIONARY


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The values of a leaf, one per slot of the innermost layer; ``layers`` are outermost first."""

    values: pa.Array
    layers: tuple[Layer, ...]

    def rows(self, start: int, stop: int) -> Leaf:
        """The outermost slots ``start`` to ``stop`` (exclusive) with their contents."""
        layers: list[Layer] = []
        for layer in self.layers:
            valid = None if layer.valid is None else layer.valid[start:stop]
            if isinstance(layer, ItemLayer):
                layers.append(ItemLayer(stop - start, valid))
            else:
                offsets = layer.offsets[start : stop + 1]
                layers.append(ListLayer(offsets - offsets[0], valid))
                start, stop = int(offsets[0]), int(offsets[-1])
        return Leaf(self.values.slice(start, stop - start), tuple(layers))


def joined(leaves: Sequence[Leaf]) -> Leaf:
    """Concatenate ``leaves`` of the same field into one leaf."""
    if len(leaves) == 1:
        return leaves[0]
    values = concat_arrays([leaf.values for leaf in leaves])
    layers = zip(*(leaf.layers for leaf in leaves), strict=True)
    return Leaf(values, tuple(_joined_layers(parts) for parts in layers))


def _joined_layers(parts: Sequence[Layer]) -> Layer:
    valid: BoolArray | None = None
    if any(part.valid is not None for part in parts):
        masks = [np.ones(p.count, np.bool_) if p.valid is None else p.valid for p in parts]
        valid = np.concatenate(masks)
    if isinstance(parts[0], ItemLayer):
        return ItemLayer(sum(part.count for part in parts), valid)
    lists = [part for part in parts if isinstance(part, ListLayer)]
    items = np.cumsum([0, *(int(part.offsets[-1]) for part in lists)])
    pieces = [part.offsets[:-1] + first for part, first in zip(lists, items[:-1], strict=True)]
    return ListLayer(np.concatenate([*pieces, items[-1:]]), valid)


def shred(array: pa.Array, root: Node) -> list[Leaf]:
    """The leaves of an array of the field ``root``, in pre-order.

    Raises `UnsupportedFeatureError` for fixed-size lists of structs within lists.
    """
    leaves: list[Leaf] = []
    _shred(root, array, (), None, leaves)
    return leaves


def _shred(
    node: Node,
    array: pa.Array,
    outer: tuple[Layer, ...],
    seen: BoolArray | None,
    leaves: list[Leaf],
) -> None:
    """Append the leaves of ``array`` to ``leaves``.

    ``seen``: a mask of the slots that no directly enclosing struct makes null; None: all.
    """
    valid = _valid(array)
    here = valid if seen is None else seen if valid is None else seen & valid
    layers = (*outer, ItemLayer(len(array), here))
    if node.is_leaf:
        leaves.append(Leaf(array, layers))
    elif node.is_list:
        offsets, items = _items(array, here)
        _shred(node.children[0], items, (*outer, ListLayer(offsets, here)), None, leaves)
    elif node.is_fixed:
        size = node.type.list_size
        items = array.values.slice(array.offset * size, len(array) * size)
        repeated = tuple(_repeated(layer, size) for layer in layers)
        _shred(node.children[0], items, repeated, repeated[-1].valid, leaves)
    else:
        for number, child in enumerate(node.children):
            _shred(child, array.field(number), layers, here, leaves)


def _repeated(layer: Layer, times: int) -> ItemLayer:
    """Repeat every slot ``times`` times: each item of a fixed-size list is a row of its columns."""
    if isinstance(layer, ListLayer):
        raise UnsupportedFeatureError("lists of fixed size, of structs, within lists")
    valid = None if layer.valid is None else np.repeat(layer.valid, times)
    return ItemLayer(layer.count * times, valid)


def _valid(array: pa.Array) -> BoolArray | None:
    if array.type.id == _DICTIONARY and array.dictionary.null_count:
        is_valid = array.dictionary.is_valid().take(array.indices).fill_null(False)
        return np.asarray(is_valid)
    if not array.null_count:
        return None
    valid = pc.is_valid(array, memory_pool=memory_pool())
    octets, start = np.frombuffer(valid.buffers()[1], np.uint8), valid.offset
    bits = np.unpackbits(octets, count=start + len(array), bitorder="little")
    return bits[start:].view(np.bool_)


def _items(array: pa.Array, valid: BoolArray | None) -> tuple[Int64Array, pa.Array]:
    """Offsets from 0 of the lists, with lists outside of ``valid`` empty; and the items in use."""
    starts: npt.NDArray[Any]
    width = np.int64 if pa.types.is_large_list(array.type) else np.int32
    buffer = array.buffers()[1]
    count = len(array)
    if buffer is None or not count:
        stored = np.zeros(count + 1, np.int64)
    else:
        size = np.dtype(width).itemsize
        stored = np.frombuffer(buffer, width, count + 1, array.offset * size).astype(np.int64)
    items = array.values  # all stored items, whatever part of them the array covers
    lengths = np.diff(stored)
    if valid is None or not lengths[~valid].any():
        return stored - stored[0], items.slice(int(stored[0]), int(stored[-1] - stored[0]))
    lengths[~valid] = 0
    offsets = edges_of(lengths)
    starts = np.repeat(stored[:-1] - offsets[:-1], lengths)
    return offsets, take_rows(items, pa.array(starts + np.arange(offsets[-1])))
