"""Read the fields of 2.1 and 2.2 files: each leaf column page by page, then the arrays above them.

Only leaves have columns. Their levels encode the structs, lists and maps around them. So a field is
read by decoding all its leaves and assembling them, one page at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.decoding import RowIndices, RowRange, run_interleaved
from lance_core.encodings.page_rows import check_within
from lance_core.encodings.v2_1.levels.tree import Node, rows_per_slot
from lance_core.encodings.v2_1.read.assemble import DecodedLeaf, aligned, assemble
from lance_core.encodings.v2_1.read.leaf_column import ColumnCache, LeafColumn
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.field import MAX_NESTING

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column
    from lance_core.schema import Field


@dataclass(frozen=True, slots=True, eq=False)
class FieldLeaf:
    """A leaf of a field: its column, and the rows of the column per row of the field."""

    column: LeafColumn
    scale: int

    def rows_of(self, rows: Rows) -> Rows:
        """The rows of the column for ``rows`` of the field; `CorruptFileError` if it has fewer."""
        column_rows = rows if self.scale == 1 else _scaled(rows, self.scale)
        check_within(self.column.column, column_rows, self.column.path)
        return column_rows


@dataclass(frozen=True, slots=True, eq=False)
class FieldTree:
    """The cached structure of a field: its root and leaves, and the columns of all ``ids``.

    ``paths`` are the nodes above each leaf, outermost first. ``has_only_lists``: all leaves are in
    lists, and none is in a fixed-size list.
    """

    field: Field
    ids: tuple[int, ...]
    numbers: tuple[int, ...]
    root: Node
    paths: tuple[tuple[Node, ...], ...]
    leaves: tuple[FieldLeaf, ...]
    scales: tuple[int, ...]
    has_only_lists: bool

    def is_of(self, field: Field, column_of: Mapping[int, int]) -> bool:
        """True if this is the tree of ``field`` with these columns."""
        if self.field is not field:
            return False
        return tuple([column_of.get(id_, -1) for id_ in self.ids]) == self.numbers

    def expect(self) -> None:
        """Set the enclosing fields of all leaves; another field may have used the same columns."""
        for path, leaf in zip(self.paths, self.leaves, strict=True):
            leaf.column.expect(path)

    def shared(self, context: DecodeContext) -> DecodeContext:
        """``context`` with a memo, if several leaves may share levels."""
        return replace(context, memo={}) if len(self.leaves) > 1 else context

    def arrays(self, decoded: Sequence[DecodedLeaf], context: DecodeContext) -> list[pa.Array]:
        """The arrays of the field from the same rows of all leaves."""
        kernels = context.kernels
        return [assemble(self.root, parts, self.scales, kernels) for parts in aligned(decoded)]


def decode_rows(tree: FieldTree, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
    """Some ``rows`` of a field, at least one; an array for the rows of each page."""
    leaves = [leaf.column.decode(leaf.rows_of(rows), context, leaf.scale) for leaf in tree.leaves]
    return tree.arrays((yield from run_interleaved(leaves)), context)


def column_of_leaf(
    field: Field, column_of: Mapping[int, int], columns: Sequence[Column]
) -> LeafColumn | None:
    """The column of a field that is a leaf, as nearly all are; None for other fields."""
    number = column_of.get(field.id, -1)
    if number < 0:
        return None
    try:
        column = columns[number]
    except IndexError:
        return None
    cache: ColumnCache | None = column.decoder_cache
    if cache is not None and cache.field is field:  # the field of the last read
        leaf = cache.leaf
    else:
        leaf = LeafColumn.of(column, field.storage_type, field.name)
        cache = column.decoder_cache
        if cache.leaf is leaf:  # or another thread has read the column as another type
            cache.field = field
    if len(leaf.nodes) != 1:
        leaf.as_field()
    return leaf


def field_tree(field: Field, column_of: Mapping[int, int], columns: Sequence[Column]) -> FieldTree:
    """The tree of a field. The first column of a field caches the last tree.

    Raises `CorruptFileError` if the leaves have different numbers of rows of the field.
    """
    first = field
    # Only leaves have columns.
    while column_of.get(first.id, -1) < 0 and first.children:
        first = first.children[0]
    number = column_of.get(first.id, -1)
    cache = columns[number].decoder_cache if 0 <= number < len(columns) else None
    known = cache.tree if isinstance(cache, ColumnCache) else None
    if isinstance(known, FieldTree) and known.is_of(field, column_of):
        known.expect()
        return known
    columns_of_leaves: list[LeafColumn] = []
    root = _node(field, column_of, columns, field.name, columns_of_leaves, 0)
    paths = tuple(root.paths())
    scales = tuple(map(rows_per_slot, paths))
    leaves = tuple(map(FieldLeaf, columns_of_leaves, scales))
    if len({leaf.column.column.num_rows / leaf.scale for leaf in leaves}) > 1:
        raise CorruptFileError("the columns of a field differ in their rows", field=field.name)
    ids = tuple(part.id for part in field.walk())
    numbers = tuple(column_of.get(id_, -1) for id_ in ids)
    in_lists = all(any(node.is_list for node in path) for path in paths)
    has_only_lists = in_lists and set(scales) == {1}
    tree = FieldTree(field, ids, numbers, root, paths, leaves, scales, has_only_lists)
    tree.expect()
    columns[number].decoder_cache.tree = tree
    return tree


def _node(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    path: str,
    leaves: list[LeafColumn],
    depth: int,
) -> Node:
    """The node of a field; appends its leaves to ``leaves`` in pre-order."""
    if depth >= MAX_NESTING:
        raise CorruptFileError(f"a field is nested more than {MAX_NESTING} levels deep", field=path)
    type_ = field.storage_type
    number = column_of.get(field.id, -1)
    if 0 <= number < len(columns):
        leaves.append(LeafColumn.of(columns[number], type_, path))
        return Node(type_, is_leaf=True)
    if number >= len(columns) or not field.children:
        raise CorruptFileError(
            f"column {number} of a file that has {len(columns)} columns", field=path
        )
    children = [
        _node(child, column_of, columns, f"{path}.{child.name}", leaves, depth + 1)
        for child in field.children
    ]
    return Node(type_, tuple(children))


def _scaled(rows: Rows, scale: int) -> Rows:
    if isinstance(rows, RowRange):
        return RowRange(rows.start * scale, rows.stop * scale)
    return RowIndices(spans_index(rows.values * scale, (rows.values + 1) * scale))
