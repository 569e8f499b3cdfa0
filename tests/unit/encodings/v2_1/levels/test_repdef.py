"""Levels and layers: there and back for any nesting, and what damage is found."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_ALL_VALID_LIST,
    REPDEF_EMPTYABLE_LIST,
    REPDEF_NULL_AND_EMPTY_LIST,
    REPDEF_NULLABLE_ITEM,
    REPDEF_NULLABLE_LIST,
)
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.v2_1.levels.repdef import Levels, check_levels, layer_kinds, ravel
from lance_core.encodings.v2_1.levels.shred import joined, shred
from lance_core.encodings.v2_1.levels.tree import Node, check_kinds
from lance_core.encodings.v2_1.levels.unravel import unravel
from lance_core.encodings.v2_1.pages.base import LeafPart
from lance_core.encodings.v2_1.read.assemble import assemble
from lance_core.errors import CorruptFileError
from tests.each_case import each_case
from tests.examples import examples
from tests.strategies import nullable_arrays, nullable_types


def tree(type_: pa.DataType) -> Node:
    if pa.types.is_struct(type_):
        return Node(type_, tuple(tree(member.type) for member in type_))
    if pa.types.is_map(type_):
        entries = pa.struct([type_.key_field, type_.item_field])
        return Node(type_, (tree(entries),))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return Node(type_, (tree(type_.value_type),))
    return Node(type_, is_leaf=True)


def stored(array: pa.Array) -> list[LeafPart]:
    """Levels and visible values of each leaf."""
    return [LeafPart(ravel(leaf.layers), leaf.values) for leaf in shred(array, tree(array.type))]


def unmasked(part: LeafPart) -> LeafPart:
    if not part.values.null_count or not len(part.values):
        return part
    values = part.values
    if values.offset:
        values = pa.concat_arrays([values, values.slice(0, 0)])
    children = [values.values] if pa.types.is_fixed_size_list(values.type) else None
    buffers = [None, *values.buffers()[1 : values.type.num_buffers]]
    plain = pa.Array.from_buffers(values.type, len(values), buffers, 0, values.offset, children)
    return LeafPart(part.levels, plain)


@settings(max_examples=examples(25))
@given(st.data())
def test_arrays_of_any_nesting_come_back_from_their_levels(data: st.DataObject) -> None:
    type_ = data.draw(nullable_types())
    array = data.draw(nullable_arrays(type_))
    node, parts = tree(type_), [unmasked(part) for part in stored(array)]
    for path, part in zip(node.paths(), parts, strict=True):
        check_kinds(path, part.levels.kinds)
        check_levels(part.levels, NUMPY)
        visible = part.levels.visible()
        count = part.levels.count if visible is None else int(visible.sum())
        assert count == len(part.values)
    back = assemble(node, parts, [1] * len(parts), NUMPY)
    back.validate(full=True)
    assert back.to_pylist() == array.to_pylist()


@settings(max_examples=examples(10))
@given(st.data())
def test_levels_cut_at_rows_give_the_rows(data: st.DataObject) -> None:
    array = data.draw(nullable_arrays(pa.list_(pa.list_(pa.int32()))).filter(len))
    (part,) = stored(array)
    starts = part.levels.row_starts()
    assert starts is not None
    assert len(starts) == len(array)
    row = data.draw(st.integers(0, len(array) - 1))
    stop = part.levels.count if row + 1 == len(starts) else int(starts[row + 1])
    cut = part.levels.part(int(starts[row]), stop)
    outer = unravel(cut, NUMPY)[0]
    assert outer.count == 1
    assert (outer.validity is None) == array[row].is_valid


def test_levels_of_a_struct_around_a_list_are_as_the_format_says() -> None:
    inner = pa.list_(pa.int32())
    rows = [{"a": [1, 2]}, {"a": None}, {"a": []}, None]
    (part,) = stored(pa.array(rows, pa.struct({"a": inner})))
    assert part.levels.kinds.kinds == (
        REPDEF_ALL_VALID_ITEM,
        REPDEF_NULL_AND_EMPTY_LIST,
        REPDEF_NULLABLE_ITEM,
    )
    assert part.levels.definition is not None
    assert part.levels.rep is not None
    assert part.levels.definition.tolist() == [0, 0, 1, 2, 3]
    assert part.levels.rep.tolist() == [1, 0, 1, 1, 1]


def levels(kinds: list[int], rep: list[int] | None, definition: list[int] | None) -> Levels:
    count = len(rep or definition or ())
    return Levels(
        layer_kinds(tuple(kinds)),
        None if rep is None else np.array(rep, np.uint16),
        None if definition is None else np.array(definition, np.uint16),
        count,
    )


@each_case(
    ("kinds", "rep", "definition"),
    [
        ([REPDEF_NULLABLE_ITEM], None, [0, 2]),
        ([REPDEF_ALL_VALID_ITEM, REPDEF_EMPTYABLE_LIST], [1, 2], [0, 0]),
        ([REPDEF_ALL_VALID_ITEM, REPDEF_EMPTYABLE_LIST], [0, 1], [0, 0]),
        ([REPDEF_ALL_VALID_ITEM, REPDEF_EMPTYABLE_LIST], [1, 0], [0, 1]),
        ([REPDEF_ALL_VALID_ITEM, REPDEF_EMPTYABLE_LIST], None, [0, 1]),
    ],
    ids=["definition", "repetition", "start", "items of an empty list", "no repetition"],
)
def test_levels_that_contradict_their_layers_are_damage(
    kinds: list[int], rep: list[int] | None, definition: list[int] | None
) -> None:
    with pytest.raises(CorruptFileError):
        check_levels(levels(kinds, rep, definition), NUMPY)


@each_case("kinds", [(), (0,), (7,), (1,) * 300])
def test_kinds_of_layers_that_do_not_exist_are_damage(kinds: tuple[int, ...]) -> None:
    with pytest.raises(CorruptFileError):
        layer_kinds(kinds)


@each_case("hidden", [[7, 8], [], None])
def test_lists_that_a_null_struct_hides_are_of_a_layer_with_nulls(hidden: list[int] | None) -> None:
    """pylance cannot read them otherwise. The level still says that it is the struct."""
    lists = pa.array([[1, 2], hidden, [3]], pa.list_(pa.int32()))
    struct = pa.StructArray.from_arrays([lists], ["l"], mask=pa.array([False, True, False]))
    (leaf,) = shred(struct, tree(struct.type))
    levels = ravel(leaf.layers)
    nullable = (REPDEF_ALL_VALID_ITEM, REPDEF_NULLABLE_LIST, REPDEF_NULLABLE_ITEM)
    assert levels.kinds.kinds == nullable
    assert levels.definition is not None
    assert levels.definition.tolist() == [0, 0, 2, 0]
    assert leaf.values.to_pylist() == [1, 2, 3]


@each_case("own", [None, [False, False, False], [False, True, False]])
def test_members_that_a_null_struct_hides_are_of_a_layer_with_nulls(own: list[bool] | None) -> None:
    """pylance returns what their slots hold otherwise. The level says that it is the struct."""
    numbers = pa.array([1, 2, 3], mask=None if own is None else np.array(own))
    struct = pa.StructArray.from_arrays([numbers], ["x"])
    outer = pa.StructArray.from_arrays([struct], ["s"], mask=pa.array([False, True, False]))
    (leaf,) = shred(outer, tree(outer.type))
    levels = ravel(leaf.layers)
    assert levels.kinds.kinds == (REPDEF_NULLABLE_ITEM,) * 3
    assert levels.definition is not None
    assert levels.definition.tolist() == [0, 3, 0]


def test_items_of_lists_below_a_null_struct_are_of_a_layer_without_nulls() -> None:
    lists = pa.array([[{"x": 1}], None, [{"x": 2}]])
    struct = pa.StructArray.from_arrays([lists], ["l"], mask=pa.array([False, True, False]))
    (leaf,) = shred(struct, tree(struct.type))
    kinds = (REPDEF_ALL_VALID_ITEM, REPDEF_ALL_VALID_ITEM)
    nullable = (REPDEF_NULLABLE_LIST, REPDEF_NULLABLE_ITEM)
    assert ravel(leaf.layers).kinds.kinds == kinds + nullable


@settings(max_examples=examples(10))
@given(st.data())
def test_leaves_can_be_cut_and_joined(data: st.DataObject) -> None:
    array = data.draw(nullable_arrays(data.draw(nullable_types())))
    cut = sorted(data.draw(st.integers(0, len(array))) for _ in range(2))
    edges = [0, *cut, len(array)]
    for leaf in shred(array, tree(array.type)):
        whole = joined([leaf.rows(start, stop) for start, stop in pairwise(edges)])
        assert whole.values.equals(leaf.values)
        expected, found = ravel(leaf.layers), ravel(whole.layers)
        assert expected.kinds == found.kinds
        assert np.array_equal(expected.rep, found.rep)
        assert np.array_equal(expected.definition, found.definition)


def test_structs_around_lists_are_always_nullable() -> None:
    struct, item = REPDEF_NULLABLE_ITEM, REPDEF_ALL_VALID_ITEM
    cases = {
        (item, REPDEF_NULLABLE_LIST, struct): [{"x": [1], "y": 2}],
        (item, REPDEF_NULL_AND_EMPTY_LIST, struct): [{"x": [1], "y": 2}, {"x": [], "y": 3}],
        (struct, REPDEF_NULLABLE_LIST, struct): [{"x": [None], "y": 2}],
    }
    for kinds, values in cases.items():
        lists, numbers = stored(pa.array(values))
        assert lists.levels.kinds.kinds == kinds
        assert numbers.levels.kinds.kinds == (item, item)
    (inner,) = stored(pa.array([[{"x": [1]}]]))
    assert inner.levels.kinds.kinds == (item, REPDEF_NULLABLE_LIST, struct, REPDEF_ALL_VALID_LIST)
