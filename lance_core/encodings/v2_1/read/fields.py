"""Decode the fields of 2.1 and 2.2 files from leaf columns to Arrow arrays.

Only leaves have columns. Their levels encode the structs, lists and maps around them. So a field is
read by decoding all its leaves and assembling them, a few pages at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import spans_index
from lance_core.encodings.arrow.ordered_rows import OrderedRows, reorder
from lance_core.encodings.decoding import RowIndices, RowRange, packed_rows, run_interleaved
from lance_core.encodings.page_rows import check_within
from lance_core.encodings.v2_1.levels.tree import Node, rows_per_slot
from lance_core.encodings.v2_1.read.assemble import DecodedLeaf, aligned, assemble
from lance_core.encodings.v2_1.read.leaf_column import ColumnCache, LeafColumn
from lance_core.encodings.v2_1.read.page_classes import decode_by_class
from lance_core.errors import CorruptFileError, PluginError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.field import MAX_NESTING

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows, ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
    from lance_core.encodings.page import Column
    from lance_core.schema import Field


_FEW = 8
"""Maximum rows of a leaf to read one by one, each by its fastest path."""


def decode_field(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """The 2.1 and 2.2 implementation of `lance_core.encodings.dispatch.decode_field`."""
    if isinstance(rows, RowIndices):
        rows = packed_rows(rows.values)
    num_rows = len(rows)
    if not num_rows:
        return []
    number = column_of.get(field.id, -1)
    if 0 <= number < len(columns):  # the field is a leaf, as nearly all are
        leaf = LeafColumn.of(columns[number], field.storage_type, field.name)
        node = leaf.as_field()
        if num_rows <= _FEW:
            values = yield from _scalars(leaf, rows, context)
            if values is not None:
                return values
        array = yield from _leaf(leaf, node, rows, context)
        if array is not None:
            return [array]
    if isinstance(rows, OrderedRows):
        distinct = decode_field(field, column_of, columns, rows.distinct, context)
        return (yield from reorder(distinct, rows))
    return (yield from _assembled(_tree(field, column_of, columns), rows, context))


def find_integers(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: RowRange,
    index: IntegerIndex,
    context: DecodeContext,
) -> Decoding[ValueMatches | None]:
    """The 2.1 and 2.2 implementation of `lance_core.encodings.dispatch.find_integers`."""
    number = column_of.get(field.id, -1)
    if not 0 <= number < len(columns):
        return None
    leaf = LeafColumn.of(columns[number], field.storage_type, field.name)
    leaf.as_field()
    return (yield from leaf.find(rows, index, context))


def _leaf(
    leaf: LeafColumn, root: Node, rows: AnyRows, context: DecodeContext
) -> Decoding[pa.Array | None]:
    """The rows of a column that is the whole field ``root``; None if there is no fast path."""
    array = yield from leaf.in_page(root, rows, context)
    if array is not None or isinstance(rows, OrderedRows):
        return array
    return (yield from decode_by_class([leaf], root, rows, context))


def _assembled(tree: _Tree, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
    """The rows of a field from all its leaves."""
    root, plan = tree.root, tree.plan
    if len(plan) > 1:
        context = replace(context, memo={})
    try:
        array = None
        if len(rows) == 1 and tree.has_only_lists and isinstance(rows, RowRange):
            array = yield from _list_at(tree, rows.start, context)
        elif not root.is_leaf and max(tree.scales) == 1:  # all leaves have the rows of the field
            array = yield from decode_by_class([leaf.column for leaf in plan], root, rows, context)
        if array is not None:
            return [array]
        decoded = yield from run_interleaved([leaf.decode(rows, context) for leaf in plan])
        return [assemble(root, parts, tree.scales, context.kernels) for parts in aligned(decoded)]
    except (CorruptFileError, PluginError) as error:
        raise error.at(field=tree.field.name) from error


def _scalars(
    leaf: LeafColumn, rows: AnyRows, context: DecodeContext
) -> Decoding[list[pa.Array] | None]:
    """Read a few rows one by one; None if this field has no fast path for it."""
    numbers = range(rows.start, rows.stop) if isinstance(rows, RowRange) else rows.numbers.tolist()
    found = yield from run_interleaved([leaf.scalar_at(number, context) for number in numbers])
    values = [value for value in found if value is not None]
    return values if len(values) == len(numbers) else None


def _list_at(tree: _Tree, row: int, context: DecodeContext) -> Decoding[pa.Array | None]:
    """One row of a field all of whose leaves are in lists; None if a leaf has no fast path."""
    found = yield from run_interleaved([leaf.column.list_at(row, context) for leaf in tree.plan])
    parts = [part for part in found if part is not None]
    if len(parts) < len(tree.plan):
        return None
    return assemble(tree.root, parts, tree.scales, context.kernels)


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    """A leaf of a field: its column, and the rows of the column per row of the field."""

    column: LeafColumn
    scale: int

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[DecodedLeaf]:
        """The parts of ``rows``, one per group of pages, and the row edges of the parts."""
        wanted = rows if self.scale == 1 else _scaled(rows, self.scale)
        check_within(self.column.column, wanted, self.column.path)
        stretches = self.column.stretches(wanted)
        if any(len(stretch.rows) % self.scale for stretch in stretches):
            raise CorruptFileError(
                "a page ends within a list of fixed size", field=self.column.path
            )
        return (yield from self.column.decode_stretches(stretches, context, self.scale))


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """The cached structure of a field: its root and leaves, and the columns of all ``ids``.

    ``has_only_lists``: all leaves are in lists, and none is in a fixed-size list.
    """

    field: Field
    ids: tuple[int, ...]
    numbers: tuple[int, ...]
    root: Node
    paths: tuple[tuple[Node, ...], ...]
    plan: tuple[_Leaf, ...]
    scales: tuple[int, ...]
    has_only_lists: bool

    def is_of(self, field: Field, column_of: Mapping[int, int]) -> bool:
        """True if this is the tree of ``field`` with these columns."""
        if self.field is not field:
            return False
        return tuple([column_of.get(id_, -1) for id_ in self.ids]) == self.numbers

    def expect(self) -> None:
        """Set the enclosing fields of all leaves; another field may have used the same columns."""
        for path, leaf in zip(self.paths, self.plan, strict=True):
            leaf.column.expect(path)


def _tree(field: Field, column_of: Mapping[int, int], columns: Sequence[Column]) -> _Tree:
    """The tree of a field. The first column of a field caches the last tree.

    Raises `CorruptFileError` if the leaves have different numbers of rows of the field.
    """
    first = field
    while column_of.get(first.id, -1) < 0 and first.children:
        first = first.children[0]
    number = column_of.get(first.id, -1)
    kept = columns[number].decoder_cache if 0 <= number < len(columns) else None
    known = kept.tree if isinstance(kept, ColumnCache) else None
    if isinstance(known, _Tree) and known.is_of(field, column_of):
        known.expect()
        return known
    if first is field and 0 <= number < len(columns):  # nearly all fields: needs no walk
        column = LeafColumn.of(columns[number], field.storage_type, field.name)
        root = Node(field.storage_type, is_leaf=True)
        leaf = _Leaf(column, 1)
        tree = _Tree(field, (field.id,), (number,), root, ((root,),), (leaf,), (1,), False)
        tree.expect()
        columns[number].decoder_cache.tree = tree
        return tree
    leaves: list[LeafColumn] = []
    root = _node(field, column_of, columns, field.name, leaves, 0)
    paths = tuple(root.paths())
    scales = tuple(map(rows_per_slot, paths))
    plan = tuple(map(_Leaf, leaves, scales))
    if len({leaf.column.column.num_rows / leaf.scale for leaf in plan}) > 1:
        raise CorruptFileError("the columns of a field differ in their rows", field=field.name)
    ids = tuple(part.id for part in field.walk())
    numbers = tuple(column_of.get(id_, -1) for id_ in ids)
    in_lists = all(any(node.is_list for node in path) for path in paths)
    tree = _Tree(field, ids, numbers, root, paths, plan, scales, in_lists and set(scales) == {1})
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
