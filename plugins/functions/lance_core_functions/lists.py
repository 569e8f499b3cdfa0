"""List columns: elements by position, membership, length."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy, to_numpy, to_scalar
from lance_core.sql_functions import (
    ColumnNode,
    Constant,
    HasItem,
    Node,
    by_chunk,
    call,
    combine_chunks,
    compare,
    constant,
    converted,
    evaluate,
    is_list,
    struct_field,
)


def length(node: Node) -> Node:
    """The number of elements of each list, as uint64."""
    need_list("array_length", node)
    return converted(call("array_length", pc.list_value_length, node), pa.uint64())


def has(node: Node, item: Node) -> Node:
    """True if the list contains ``item``, which must be a literal; NULL only for a NULL list."""
    need_list("array_has", node)
    if not isinstance(item, Constant):
        raise UnsupportedFeatureError("array_has with an item that is not a literal")
    # Compare the elements as a column.
    test = compare.compare("=", ColumnNode(("",), node.type.value_type), item)
    return has_any(node, test)


def has_any(node: Node, test: Node) -> Node:
    """True if ``test`` is true for an element of the list, which is its only column."""
    return call(HasItem(test), by_chunk(functools.partial(has_item, test=test)), node)


def items(node: Node) -> list[Constant]:
    """The elements of a list literal, as constants."""
    if not isinstance(node, Constant) or not is_list(node.type) or node.is_null:
        raise UnsupportedFeatureError("a list that is not a literal like [1, 2]")
    return [Constant(value) for value in node.value]


def need_list(what: str, node: Node) -> None:
    """Raise `InvalidInputError` unless ``node`` is a list."""
    if not is_list(node.type):
        raise InvalidInputError(f"{what} needs a list, not {node.type}")


def parents_of(lists: pa.Array) -> pa.Array:
    """The position of the list of each element that ``lists.flatten()`` returns.

    A NULL list may have elements, which ``flatten`` leaves out and Arrow's own kernel does not.
    """
    if not lists.null_count:
        return pc.list_parent_indices(lists)
    stored = pc.list_value_length(lists)
    lengths = to_numpy(pc.fill_null(stored, to_scalar(0, stored.type)))
    return from_numpy(np.repeat(np.arange(len(lists)), lengths))


def has_item(lists: pa.Array, test: Node) -> pa.Array:
    """The kernel of `has`: true where ``test`` is true for some item."""
    hits = combine_chunks(evaluate(test, pa.table({"": lists.flatten()})))
    has_hit = np.zeros(len(lists), bool)
    has_hit[to_numpy(parents_of(lists).filter(hits))] = True
    return from_numpy(has_hit, to_numpy(lists.is_null()))


def is_empty(node: Node) -> Node:
    """True for a list without elements."""
    return compare.compare("=", length(node), constant(0))


def get_field(node: Node, name: Node) -> Node:
    """Member ``name``, a string literal, of a struct; see `struct_field`."""
    literal = name.value.as_py() if isinstance(name, Constant) else None
    if not isinstance(literal, str):
        raise UnsupportedFeatureError("get_field with a name that is not a literal")
    return struct_field(node, literal)
