"""Arrow arrays from the levels and values of the leaf columns below a field.

All leaves are given for the same rows. What they say of a struct or list that they share must
agree, which is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.gather import MAX_OFFSET
from lance_core.encodings.layouts.layout import LeafPart
from lance_core.encodings.repdef import BoolArray, ItemLayer, Layer, LayerKinds, unravel
from lance_core.encodings.v2_1.masked import bitmap_of, masked
from lance_core.errors import CorruptFileError, UnsupportedFeatureError


@dataclass(frozen=True, slots=True)
class Node:
    """A field of the tree to assemble: a leaf, a struct, a list, a map or a list of fixed size.

    ``children``: none for a leaf, else the members, or the one item (for a map its entries).
    """

    type: pa.DataType
    children: tuple[Node, ...] = ()
    is_leaf: bool = False

    @property
    def num_leaves(self) -> int:
        return 1 if self.is_leaf else sum(child.num_leaves for child in self.children)

    @property
    def is_list(self) -> bool:
        """Whether the layer of this field is one of lists."""
        return not (self.is_leaf or pa.types.is_struct(self.type) or self.is_fixed)

    @property
    def is_fixed(self) -> bool:
        """Whether these are lists of fixed size whose items have columns of their own."""
        return not self.is_leaf and pa.types.is_fixed_size_list(self.type)

    def paths(self) -> Iterator[tuple[Node, ...]]:
        """The way to each leaf, outermost first."""
        if self.is_leaf:
            yield (self,)
        for child in self.children:
            for path in child.paths():
                yield (self, *path)


def check_kinds(path: Sequence[Node], kinds: LayerKinds) -> None:
    """Raise `CorruptFileError` unless a leaf's layers are those of the fields around it."""
    expected = [node.is_list for node in reversed(path)]
    if expected != [kinds.is_list(layer) for layer in range(len(kinds.kinds))]:
        raise CorruptFileError("the layers of a page are not those of its field", field="layers")


def rows_per_slot(path: Sequence[Node]) -> int:
    """How many rows of the leaf's column there are for one row of the field."""
    scale = 1
    for number, node in enumerate(path):
        if node.is_fixed:
            if any(outer.is_list for outer in path[:number]):
                raise UnsupportedFeatureError(f"lists of {node.type}")
            scale *= node.type.list_size
    return scale


@dataclass(frozen=True, slots=True, eq=False)
class _Unravelled:
    layers: list[Layer]
    values: pa.Array
    scale: int  # rows of the leaf for one slot of the field looked at


def assemble(root: Node, parts: Sequence[LeafPart]) -> pa.Array:
    """The array of ``root`` from its leaves. Raises `CorruptFileError` if they disagree."""
    leaves = [
        _Unravelled(unravel(part.levels), part.values, rows_per_slot(path))
        for path, part in zip(root.paths(), parts, strict=True)
    ]
    return _assemble(root, leaves, 0)


def _assemble(node: Node, leaves: Sequence[_Unravelled], depth: int) -> pa.Array:
    if node.is_leaf:
        return _leaf(leaves[0], depth)
    if node.is_list:
        return _lists(node, leaves, depth)
    count, valid = _shared_items(leaves, depth)
    bitmap = bitmap_of(valid)
    nulls = 0 if bitmap is None else -1
    if node.is_fixed:
        size = node.type.list_size
        inner = [_Unravelled(leaf.layers, leaf.values, leaf.scale // size) for leaf in leaves]
        children = [_assemble(node.children[0], inner, depth + 1)]
    else:
        edges = np.cumsum([0, *(child.num_leaves for child in node.children)]).tolist()
        children = [
            _assemble(child, leaves[a:b], depth + 1)
            for child, (a, b) in zip(node.children, pairwise(edges), strict=True)
        ]
    return pa.Array.from_buffers(node.type, count, [bitmap], nulls, 0, children)


def _leaf(leaf: _Unravelled, depth: int) -> pa.Array:
    layer = leaf.layers[depth]
    if layer.count != len(leaf.values):
        raise CorruptFileError(f"{len(leaf.values)} values for {layer.count} visible levels")
    return leaf.values if layer.valid is None else masked(leaf.values, layer.valid)


def _lists(node: Node, leaves: Sequence[_Unravelled], depth: int) -> pa.Array:
    layer = leaves[0].layers[depth]
    assert not isinstance(layer, ItemLayer)
    for leaf in leaves[1:]:
        other = leaf.layers[depth]
        assert not isinstance(other, ItemLayer)
        if not np.array_equal(layer.offsets, other.offsets):
            raise CorruptFileError("columns of the same lists differ in their lengths")
        _check_same(layer.valid, other.valid)
    items = _assemble(node.children[0], leaves, depth + 1)
    if pa.types.is_map(node.type) and items.null_count:
        raise CorruptFileError("an entry of a map is null")
    offsets: npt.NDArray[Any] = layer.offsets
    if not pa.types.is_large_list(node.type):
        if int(offsets[-1]) > MAX_OFFSET:
            raise UnsupportedFeatureError(f"2^31 items or more in lists of type {node.type}")
        offsets = offsets.astype(np.int32)
    bitmap = bitmap_of(layer.valid)
    nulls = 0 if bitmap is None else -1
    buffers = [bitmap, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(node.type, layer.count, buffers, nulls, 0, [items])


def _shared_items(leaves: Sequence[_Unravelled], depth: int) -> tuple[int, BoolArray | None]:
    """Slots and validity of a struct, or list of fixed size, that the leaves are below of."""
    count, valid = _unscaled(leaves[0], depth)
    for leaf in leaves[1:]:
        other_count, other = _unscaled(leaf, depth)
        if other_count != count:
            raise CorruptFileError(f"columns of the same struct have {count} and {other_count}")
        _check_same(valid, other)
    return count, valid


def _unscaled(leaf: _Unravelled, depth: int) -> tuple[int, BoolArray | None]:
    layer = leaf.layers[depth]
    if leaf.scale == 1:
        return layer.count, layer.valid
    count, rest = divmod(layer.count, leaf.scale)
    if rest:
        raise CorruptFileError(f"{layer.count} items in lists of {leaf.scale}")
    if layer.valid is None:
        return count, None
    each = layer.valid.reshape(count, leaf.scale)
    if (each != each[:, :1]).any():
        raise CorruptFileError("a list of fixed size is null for some of its items only")
    return count, np.ascontiguousarray(each[:, 0])


def _check_same(one: BoolArray | None, other: BoolArray | None) -> None:
    same = one is other or (one is not None and other is not None and np.array_equal(one, other))
    if not same:
        raise CorruptFileError("columns of the same field differ in what is null")
