"""Assemble Arrow arrays from the levels and values of the leaf columns of a field.

All leaves cover the same rows. Their levels must agree on the structs and lists that they share;
the code checks this.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.nulls import with_nulls
from lance_core.encodings.decoding import Offsets, RowRange
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.v2_1.levels.repdef import LevelArray, Levels
from lance_core.encodings.v2_1.levels.tree import Node
from lance_core.encodings.v2_1.levels.unravel import ArrowLayer, unravel
from lance_core.encodings.v2_1.pages.base import LeafPart, cut_part
from lance_core.errors import CorruptFileError, ResultTooLargeError
from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class _Unravelled:
    layers: list[ArrowLayer]
    values: pa.Array
    scale: int  # rows of the leaf per slot of the current field


class DecodedLeaf(NamedTuple):
    """Some rows of a leaf column in parts, and the row edges of the parts in rows of the field.

    ``scale``: rows of the column per row of the field.
    """

    parts: list[LeafPart]
    edges: list[int]
    scale: int


def aligned(decoded: Sequence[DecodedLeaf]) -> list[list[LeafPart]]:
    """The parts of all leaves, cut at common rows; one list of parts per stretch of rows."""
    first = decoded[0].edges
    if all(leaf.edges == first for leaf in decoded):
        return [list(parts) for parts in zip(*(leaf.parts for leaf in decoded), strict=True)]
    common = np.unique(np.concatenate([leaf.edges for leaf in decoded])).tolist()
    return [list(parts) for parts in zip(*(_cut(leaf, common) for leaf in decoded), strict=True)]


def _cut(leaf: DecodedLeaf, edges: Sequence[int]) -> list[LeafPart]:
    pieces, number = [], 0
    for start, stop in pairwise(edges):
        if start == leaf.edges[number + 1]:
            number += 1
        own = leaf.edges[number]
        if (start, stop) == (own, leaf.edges[number + 1]):
            pieces.append(leaf.parts[number])
        else:
            rows = RowRange((start - own) * leaf.scale, (stop - own) * leaf.scale)
            pieces.append(cut_part(leaf.parts[number], rows))
    return pieces


def assemble(
    root: Node, parts: Sequence[LeafPart], scales: Sequence[int], kernels: Kernels
) -> pa.Array:
    """The array of ``root`` from its leaves; ``scales`` has the `rows_per_slot` of each leaf.

    Raises `CorruptFileError` if leaves disagree.
    """
    leaves: list[_Unravelled] = []
    before: Levels | None = None
    for scale, part in zip(scales, parts, strict=True):
        same = before is not None and _are_same(before, part.levels)
        layers = leaves[-1].layers if same else unravel(part.levels, kernels)
        leaves.append(_Unravelled(layers, part.values, scale))
        before = part.levels
    return _assemble(root, leaves, 0)


def _are_same(left: Levels, right: Levels) -> bool:
    """True if two leaves have equal levels, as members of a struct without nulls have."""
    return left is right or (
        left.kinds == right.kinds
        and left.count == right.count
        and _equal(left.rep, right.rep)
        and _equal(left.definition, right.definition)
    )


def _equal(left: LevelArray | None, right: LevelArray | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)


def _assemble(node: Node, leaves: Sequence[_Unravelled], depth: int) -> pa.Array:
    if node.is_leaf:
        return _leaf(leaves[0], depth)
    if node.is_list:
        return _lists(node, leaves, depth)
    layer = _shared_items(leaves, depth)
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
    return pa.Array.from_buffers(node.type, layer.count, [layer.validity], layer.nulls, 0, children)


def _leaf(leaf: _Unravelled, depth: int) -> pa.Array:
    layer = leaf.layers[depth]
    if layer.count != len(leaf.values):
        raise CorruptFileError(
            f"a column has {len(leaf.values)} values for {layer.count} visible levels"
        )
    if layer.validity is None:
        return leaf.values
    return with_nulls(leaf.values, layer.validity, layer.nulls)


def _lists(node: Node, leaves: Sequence[_Unravelled], depth: int) -> pa.Array:
    layer = leaves[0].layers[depth]
    for leaf in leaves[1:]:
        other = leaf.layers[depth]
        if other is not layer:
            if not np.array_equal(_offsets(layer), _offsets(other)):
                raise CorruptFileError("columns of the same lists differ in their lengths")
            _check_same(layer, other)
    items = _assemble(node.children[0], leaves, depth + 1)
    if pa.types.is_map(node.type) and items.null_count:
        raise CorruptFileError("an entry of a map is null")
    offsets: npt.NDArray[Any] = _offsets(layer)
    is_large = pa.types.is_large_list(node.type)
    if not is_large and int(offsets[-1]) > MAX_OFFSET:
        raise ResultTooLargeError(
            f"lists of type {node.type} cannot have 2^31 items or more in one array"
        )
    offsets = offsets.astype(np.int64 if is_large else np.int32, copy=False)
    buffers = [layer.validity, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(node.type, layer.count, buffers, layer.nulls, 0, [items])


def _offsets(layer: ArrowLayer) -> Offsets:
    assert layer.offsets is not None
    return layer.offsets


def _shared_items(leaves: Sequence[_Unravelled], depth: int) -> ArrowLayer:
    """The slots of the struct or fixed-size list that contains the leaves."""
    layer = _unscaled(leaves[0], depth)
    for leaf in leaves[1:]:
        other = _unscaled(leaf, depth)
        if other.count != layer.count:
            raise CorruptFileError(
                f"columns of the same struct have {layer.count} and {other.count}"
            )
        _check_same(layer, other)
    return layer


def _unscaled(leaf: _Unravelled, depth: int) -> ArrowLayer:
    layer = leaf.layers[depth]
    if leaf.scale == 1:
        return layer
    count, rest = divmod(layer.count, leaf.scale)
    if rest:
        raise CorruptFileError(
            f"{layer.count} items cannot be divided into fixed-size lists of {leaf.scale}"
        )
    if layer.validity is None:
        return ArrowLayer(count, 0, None, None)
    bits = np.unpackbits(
        np.frombuffer(layer.validity, np.uint8), count=layer.count, bitorder="little"
    )
    each = bits.reshape(count, leaf.scale)
    if (each != each[:, :1]).any():
        raise CorruptFileError("a list of fixed size is null for some of its items only")
    validity = pa.py_buffer(np.packbits(each[:, 0], bitorder="little"))
    return ArrowLayer(count, layer.nulls // leaf.scale, validity, None)


def _check_same(left: ArrowLayer, right: ArrowLayer) -> None:
    same = left.validity is right.validity or (
        left.validity is not None
        and right.validity is not None
        and left.validity.equals(right.validity)
    )
    if not same:
        raise CorruptFileError("columns of the same field differ in their nulls")
