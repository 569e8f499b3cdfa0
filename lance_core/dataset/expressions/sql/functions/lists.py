"""List columns: elements by position, membership, length."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.combine_chunks import combine_chunks
from lance_core.dataset.expressions.sql.functions.function import Function
from lance_core.dataset.expressions.sql.nodes.chunks import by_chunk
from lance_core.dataset.expressions.sql.nodes.evaluate import evaluate
from lance_core.dataset.expressions.sql.nodes.node import (
    Apply,
    ColumnNode,
    Constant,
    Datum,
    HasItem,
    Node,
    call,
    constant,
    null,
    with_nullable,
)
from lance_core.dataset.expressions.sql.operators import compare
from lance_core.dataset.expressions.sql.values.coerce import common_type, converted
from lance_core.errors import InvalidInputError, UnsupportedFeatureError


def is_list(kind: pa.DataType) -> bool:
    """True for lists of variable or fixed length."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def literal(items: Sequence[Node]) -> Node:
    """``[1, 2]``: a constant list of literals of one type."""
    kind = pa.null()
    for item in items:
        if not isinstance(item, Constant):
            raise UnsupportedFeatureError(
                "a list literal may contain only literals, for example [1, 2]"
            )
        wider = common_type(kind, item.type)
        if wider is None:
            raise InvalidInputError(f"a list literal cannot hold both {kind} and {item.type}")
        kind = wider
    values = [converted(item, kind) for item in items]
    return constant([v.value.as_py() for v in values if isinstance(v, Constant)], pa.list_(kind))


def element(node: Node, index: Node) -> Node:
    """``list[i]``: 1 is the first element, -1 the last; NULL if the list has no such element."""
    if pa.types.is_null(index.type):
        index = null(pa.int64())
    if not is_list(node.type) or not pa.types.is_integer(index.type):
        shown = index.value if isinstance(index, Constant) else index.type
        raise InvalidInputError(f"{node.type} has no element [{shown}]")
    if not isinstance(index, Constant):
        kind = node.type.value_type
        return with_nullable(call("array_element", _each_element, node, index, kind=kind), True)
    if index.is_null:
        return null(node.type.value_type)
    position = index.value.as_py()
    kernel = by_chunk(functools.partial(_element, index=position))
    return with_nullable(call(Apply("array_element", (position,)), kernel, node), True)


def length(node: Node) -> Node:
    """The number of elements of each list, as uint64."""
    _need_list("array_length", node)
    return converted(call("array_length", pc.list_value_length, node), pa.uint64())


def has(node: Node, item: Node) -> Node:
    """True if the list contains ``item``, which must be a literal; NULL only for a NULL list."""
    _need_list("array_has", node)
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


def _need_list(what: str, node: Node) -> None:
    if not is_list(node.type):
        raise InvalidInputError(f"{what} needs a list, not {node.type}")


def _each_element(lists: Datum, index: Datum) -> Datum:
    if isinstance(lists, pa.Scalar):
        lists = pa.repeat(lists, len(index))
    positions = np.asarray(pc.fill_null(index, 0)).astype(np.int64)
    return _element(lists, positions)


def _element(lists: pa.Array, index: int | npt.NDArray[np.int64]) -> pa.Array:
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
    if pa.types.is_fixed_size_list(lists.type):
        starts = (np.arange(len(lists)) + lists.offset) * lists.type.list_size
    else:
        starts = np.asarray(lists.offsets)[:-1].astype(np.int64)
    positions = np.broadcast_to(np.clip(index, -(1 << 40), 1 << 40), len(lists))
    indices = starts + np.where(positions > 0, positions - 1, lengths + positions)
    missing = (np.abs(positions) > lengths) | (positions == 0)
    return lists.values.take(pa.array(indices, mask=missing))


def has_item(lists: pa.Array, test: Node) -> pa.Array:
    """The kernel of `has`: true where ``test`` is true for some item."""
    hits = combine_chunks(evaluate(test, pa.table({"": lists.flatten()})))
    has_hit = np.zeros(len(lists), bool)
    has_hit[np.asarray(pc.list_parent_indices(lists).filter(hits))] = True
    return pa.array(has_hit, mask=np.asarray(lists.is_null()))


def _is_empty(node: Node) -> Node:
    return compare.compare("=", length(node), constant(0))


FUNCTIONS = (
    Function(
        "array_length", length, "list", "The number of elements.", ("list_length", "cardinality")
    ),
    Function("empty", _is_empty, "list", "True for a list without elements."),
    Function(
        *("array_element", element, "list, integer"),
        "The element at a position: 1 is the first, -1 the last; NULL if there is none.",
        ("list_element",),
    ),
)
