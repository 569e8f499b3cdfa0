"""array_max and array_min."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.sql_functions import (
    Datum,
    Node,
    call,
    null,
    with_nullable,
)
from lance_core_functions.lists import need_list, parents_of


def largest(node: Node) -> Node:
    """The largest element of each list that is not NULL; NaN is above all numbers."""
    return _extreme("array_max", node, is_last=True)


def smallest(node: Node) -> Node:
    """The smallest element of each list that is not NULL; NaN is above all numbers."""
    return _extreme("array_min", node, is_last=False)


def _extreme(name: str, node: Node, is_last: bool) -> Node:
    if pa.types.is_null(node.type):
        return null(pa.null())
    need_list(name, node)
    element = node.type.value_type
    if pa.types.is_nested(element) or pa.types.is_dictionary(element):
        raise UnsupportedFeatureError(f"{name} of {node.type}")
    kernel = functools.partial(_of_lists, is_last=is_last)
    return with_nullable(call(name, kernel, node, kind=element), True)


def _of_lists(value: Datum, is_last: bool) -> Datum:
    if isinstance(value, pa.Scalar):
        return _of_lists(pa.repeat(value, 1), is_last)[0]
    elements, parents = pc.list_flatten(value), parents_of(value)
    is_present = elements.is_valid()
    elements, parents = elements.filter(is_present), parents.filter(is_present)
    keys = elements.cast(pa.float32()) if pa.types.is_float16(elements.type) else elements
    order = pc.sort_indices(
        pa.table([parents, keys], ["list", "key"]),
        sort_keys=[("list", "ascending"), ("key", "ascending")],
    )
    # In this order, the last element of each list is the largest.
    lists = np.asarray(parents)[np.asarray(order)]
    is_edge = lists[1:] != lists[:-1]
    if is_last:
        ends = np.flatnonzero(np.append(is_edge, np.ones(min(len(lists), 1), bool)))
    else:
        ends = np.flatnonzero(np.append(np.ones(min(len(lists), 1), bool), is_edge))
    positions = np.zeros(len(value), np.int64)
    has_element = np.zeros(len(value), bool)
    positions[lists[ends]], has_element[lists[ends]] = ends, True
    rows = order.take(pc.if_else(from_numpy(has_element), from_numpy(positions), None))
    return elements.take(rows)
