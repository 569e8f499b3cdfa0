"""Functions of lists that compare elements with each other or with a value."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import edges_of, from_numpy
from lance_core.sql_functions import (
    ColumnNode,
    Constant,
    Datum,
    Node,
    by_chunk,
    call,
    combine_chunks,
    common_type,
    compare,
    converted,
    evaluate,
    logic,
    null,
    with_nullable,
)
from lance_core_functions import engine, lists


def positions(node: Node, item: Node) -> Node:
    """The positions of all elements that are equal to ``item``, where NULL equals NULL."""
    lists.need_list("array_positions", node)
    data_type = node.type.value_type
    if pa.types.is_null(item.type):
        item = null(data_type)
    wider = common_type(data_type, item.type)
    if wider is None:
        raise InvalidInputError(f"array_positions: a list of {data_type} has no {item.type}")
    item = converted(item, wider)
    same = compare.same(ColumnNode(("element",), data_type), ColumnNode(("item",), item.type))
    kernel = functools.partial(_positions, same=same)
    list_of = pa.large_list if pa.types.is_large_list(node.type) else pa.list_
    result = call("array_positions", kernel, node, item, kind=list_of(pa.uint64()))
    return with_nullable(result, True)


def distinct(node: Node) -> Node:
    """The list without repeated elements, in the order of their first occurrence."""
    lists.need_list("array_distinct", node)
    if pa.types.is_nested(node.type.value_type):
        return engine.planned(node, name="array_distinct")
    return call("array_distinct", by_chunk(_distinct), node)


def contains(node: Node, item: Node) -> Node:
    """True if the list contains ``item``; NULL if either is NULL."""
    lists.need_list("array_has", node)
    if isinstance(item, Constant):
        return null(pa.bool_()) if item.is_null else lists.has(node, item)
    data_type = node.type.value_type
    test = compare.compare(
        "=", ColumnNode(("element",), data_type), ColumnNode(("item",), item.type)
    )
    kernel = functools.partial(_contains, test=test)
    return with_nullable(call("array_has", kernel, node, item, kind=pa.bool_()), True)


def contains_any(node: Node, other: Node) -> Node:
    """True if the list contains an element of the second list, where NULL equals NULL."""
    if isinstance(other, Constant):
        return logic.any_of([_has_literal(node, item) for item in lists.items(other)])
    return _compared("array_has_any", node, other)


def contains_all(node: Node, other: Node) -> Node:
    """True if the list contains all elements of the second list, where NULL equals NULL."""
    if isinstance(other, Constant):
        return logic.all_of([_has_literal(node, item) for item in lists.items(other)])
    return _compared("array_has_all", node, other)


def _has_literal(node: Node, item: Constant) -> Node:
    lists.need_list("array_has", node)
    if not item.is_null:
        return lists.has(node, item)
    test = logic.is_null(ColumnNode(("",), node.type.value_type))
    return lists.has_any(node, test)


def _compared(what: str, node: Node, other: Node) -> Node:
    for side in (node, other):
        lists.need_list(what, side)
    data_type = common_type(node.type.value_type, other.type.value_type)
    if data_type is None or pa.types.is_nested(data_type):
        raise UnsupportedFeatureError(f"{what} of {node.type} and {other.type}")
    sides = [converted(side, pa.large_list(data_type)) for side in (node, other)]
    kernel = functools.partial(_compare_lists, is_all=what == "array_has_all")
    return with_nullable(call(what, kernel, *sides, kind=pa.bool_()), True)


def _compare_lists(*values: Datum, is_all: bool) -> Datum:
    num_rows, first, second = _repeated(values)
    elements = [first.flatten(), second.flatten()]
    codes = _element_codes(pa.concat_arrays(elements))
    keys = np.concatenate([np.asarray(lists.parents_of(side)) for side in (first, second)])
    keys = keys * (int(codes.max(initial=0)) + 1) + codes
    count = len(elements[0])
    hits = np.isin(keys[count:], keys[:count])
    owners = np.asarray(lists.parents_of(second))
    if is_all:
        answers = np.bincount(owners[~hits], minlength=num_rows) == 0
    else:
        answers = np.bincount(owners[hits], minlength=num_rows) > 0
    is_null = np.asarray(pc.or_(first.is_null(), second.is_null()))
    result = pa.array(answers, mask=is_null)
    return result[0] if _is_constant(values) else result


def _repeated(values: Sequence[Datum]) -> tuple[int, pa.Array, pa.Array]:
    """The number of rows, and both values as arrays of that length."""
    sizes = [len(value) for value in values if not isinstance(value, pa.Scalar)]
    num_rows = sizes[0] if sizes else 1
    first, second = (
        pa.repeat(value, num_rows) if isinstance(value, pa.Scalar) else value for value in values
    )
    return num_rows, first, second


def _is_constant(values: Sequence[Datum]) -> bool:
    return all(isinstance(value, pa.Scalar) for value in values)


def _contains(*values: Datum, test: Node) -> Datum:
    num_rows, arrays, items = _repeated(values)
    parents = lists.parents_of(arrays)
    table = pa.table({"element": arrays.flatten(), "item": items.take(parents)})
    hits = np.asarray(pc.fill_null(combine_chunks(evaluate(test, table)), False))
    answers = np.bincount(np.asarray(parents)[hits], minlength=num_rows) > 0
    is_null = np.asarray(pc.or_(arrays.is_null(), items.is_null()))
    result = pa.array(answers, mask=is_null)
    return result[0] if _is_constant(values) else result


def _positions(*values: Datum, same: Node) -> Datum:
    num_rows, arrays, items = _repeated(values)
    parents = lists.parents_of(arrays)
    table = pa.table({"element": arrays.flatten(), "item": items.take(parents)})
    hits = np.asarray(combine_chunks(evaluate(same, table)))
    owners = np.asarray(parents)[hits]
    before = edges_of(_lengths(arrays))[owners]
    at = (np.flatnonzero(hits) - before + 1).astype(np.uint64)
    counts = np.bincount(owners, minlength=num_rows)
    result = _lists(from_numpy(at), counts, arrays)
    return result[0] if _is_constant(values) else result


def _distinct(arrays: pa.Array) -> pa.Array:
    values = arrays.flatten()
    codes = _element_codes(values)
    parents = np.asarray(lists.parents_of(arrays)).astype(np.int64)
    keys = parents * (int(codes.max(initial=0)) + 1) + codes
    first = np.sort(np.unique(keys, return_index=True)[1])
    counts = np.bincount(parents[first], minlength=len(arrays))
    return _lists(values.take(from_numpy(first)), counts, arrays)


def _element_codes(values: pa.Array) -> npt.NDArray[np.int64]:
    """A number for each value that is equal for equal ones; 0.0 and -0.0 are different."""
    if pa.types.is_floating(values.type):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[values.type.bit_width]
        values = values.view(bits)
    indices = values.dictionary_encode().indices
    codes: npt.NDArray[np.int64] = np.asarray(pc.fill_null(indices, -1)).astype(np.int64) + 1
    return codes


def _lengths(arrays: pa.Array) -> npt.NDArray[np.int64]:
    return np.asarray(pc.fill_null(pc.list_value_length(arrays), 0)).astype(np.int64)


def _lists(values: pa.Array, counts: npt.NDArray[np.int64], source: pa.Array) -> pa.Array:
    """Lists of ``counts`` values each; NULL where ``source`` is."""
    mask = pa.array(np.asarray(source.is_null()))
    if pa.types.is_large_list(source.type):
        return pa.LargeListArray.from_arrays(from_numpy(edges_of(counts)), values, mask=mask)
    offsets = from_numpy(edges_of(counts).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values, mask=mask)
