"""The leaf columns of many fields of one type: one array of values and of levels for all fields.

Structs and lists are split once, not once for each field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.v2_1.levels.repdef import ListLayer, ravel
from lance_core.encodings.v2_1.levels.shred import shred

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.levels.repdef import BoolArray, Layer, Levels
    from lance_core.encodings.v2_1.levels.shred import Leaf
    from lance_core.encodings.v2_1.levels.tree import Node

Positions = npt.NDArray[np.intp]
"""Positions of columns of a group."""


class LeafColumns(NamedTuple):
    """The columns of one leaf of some fields, whose values and levels follow each other.

    ``numbers``: the fields, of ``rows`` rows each. Column c has the values ``edges[c]`` to
    ``edges[c + 1]``, of which those in ``valid`` are not null (None: all), and the levels
    ``level_edges[c]`` to ``level_edges[c + 1]``. The layers of all columns are of the same kinds.
    """

    numbers: Sequence[int]
    rows: int
    values: pa.Array
    edges: Int64Array
    valid: BoolArray | None
    levels: Levels
    level_edges: Int64Array

    def column(self, position: int) -> pa.Array:
        """The values of one column."""
        start, stop = self.edges[position : position + 2].tolist()
        return self.values.slice(start, stop - start)

    def levels_of(self, position: int) -> Levels:
        """The levels of one column."""
        return self.levels.part(*self.level_edges[position : position + 2].tolist())

    def select(self, positions: Positions) -> LeafColumns:
        """The columns at ``positions``, in this order; all columns are not copied."""
        chosen = positions.tolist()
        if chosen == list(range(len(self.numbers))):
            return self
        levels = self.levels
        rep = _selected(levels.rep, self.level_edges, chosen)
        definition = _selected(levels.definition, self.level_edges, chosen)
        level_edges = edges_of(np.diff(self.level_edges)[positions])
        return LeafColumns(
            [self.numbers[position] for position in chosen],
            self.rows,
            pa.concat_arrays(list(map(self.column, chosen))),
            edges_of(np.diff(self.edges)[positions]),
            _selected(self.valid, self.edges, chosen),
            type(levels)(levels.kinds, rep, definition, int(level_edges[-1])),
            level_edges,
        )


def _selected(
    values: npt.NDArray[Any] | None, edges: Int64Array, chosen: Sequence[int]
) -> npt.NDArray[Any] | None:
    if values is None:
        return None
    stops = edges.tolist()
    return np.concatenate([values[stops[column] : stops[column + 1]] for column in chosen])


def leaf_columns(
    numbers: Sequence[int], arrays: Sequence[pa.Array], root: Node
) -> Iterator[list[LeafColumns]]:
    """The columns of all leaves of fields whose layers are of the same kinds, in pre-order.

    ``arrays`` of the fields ``numbers`` have the type of ``root`` and the same number of rows, at
    least one. Fields whose layers are of kinds of their own are left out.
    """
    count = len(arrays[0])
    rows = np.arange(len(arrays) + 1) * count
    leaves = shred(pa.concat_arrays(arrays), root)
    edges = [_slot_edges(leaf, rows) for leaf in leaves]
    pairs = [
        (layer, own)
        for leaf, slots in zip(leaves, edges, strict=True)
        for layer, own in zip(leaf.layers, slots, strict=False)
    ]
    features = [feature for layer, own in pairs for feature in _features(layer, own)]
    groups: dict[tuple[bool, ...], list[int]] = {}
    for position, own in enumerate(zip(*features, strict=True) if features else ()):
        groups.setdefault(own, []).append(position)
    if len(groups) > 1:
        for positions in groups.values():
            if len(positions) > 1:
                chosen = [numbers[position] for position in positions]
                yield from leaf_columns(chosen, [arrays[at] for at in positions], root)
        return
    columns = []
    for leaf, slots in zip(leaves, edges, strict=True):
        levels = ravel(leaf.layers)
        starts = levels.row_starts()
        level_edges = rows if starts is None else np.append(starts[rows[:-1]], levels.count)
        valid = leaf.layers[-1].valid
        columns.append(
            LeafColumns(numbers, count, leaf.values, slots[-1], valid, levels, level_edges)
        )
    yield columns


def zeroes_nulls(array: pa.Array, node: Node, below_nulls: bool = False) -> bool:
    """True if `shred` may drop items, and then zeroes those that are null.

    It does so if null lists have items, so the bytes of these fields depend on their batches.
    ``below_nulls``: True within a struct that has nulls.
    """
    if node.is_leaf:
        return False
    if not node.is_list:
        below_nulls = below_nulls or array.null_count > 0
        pairs = enumerate(node.children)
        return any(zeroes_nulls(array.field(n), child, below_nulls) for n, child in pairs)
    offsets = np.asarray(array.offsets)
    items = array.values.slice(offsets[0], offsets[-1] - offsets[0])
    if not _has_nulls(items):
        return False
    may_drop = below_nulls
    if array.null_count:
        may_drop = may_drop or bool(np.diff(offsets)[np.asarray(array.is_null())].any())
    return may_drop or zeroes_nulls(items, node.children[0])


def _has_nulls(array: pa.Array) -> bool:
    """True if values are null at any depth."""
    if array.null_count:
        return True
    if pa.types.is_struct(array.type):
        return any(_has_nulls(array.field(number)) for number in range(array.type.num_fields))
    return pa.types.is_nested(array.type) and _has_nulls(array.values)


def _slot_edges(leaf: Leaf, rows: Int64Array) -> list[Int64Array]:
    """For each layer, the first slot of each field and the number of all; those of values last."""
    edges = [rows]
    for layer in leaf.layers:
        edges.append(layer.offsets[edges[-1]] if isinstance(layer, ListLayer) else edges[-1])
    return edges


def _features(layer: Layer, edges: Int64Array) -> Iterator[list[bool]]:
    """For each field, what decides of which kind a layer is (`ravel`): nulls and empty lists."""
    if layer.valid is not None:
        yield _any(~layer.valid, edges)
    if isinstance(layer, ListLayer):
        empty = np.diff(layer.offsets) == 0
        yield _any(empty if layer.valid is None else empty & layer.valid, edges)


def _any(mask: BoolArray, edges: Int64Array) -> list[bool]:
    return [bool(np.count_nonzero(mask[start:stop])) for start, stop in pairwise(edges.tolist())]
