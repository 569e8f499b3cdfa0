"""CASE, and coalesce and nullif, which SQL defines by it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    CaseWhen,
    Node,
    call,
    null,
    with_metadata,
    with_nullable,
)
from lance_core.dataset.expressions.sql.operators import compare, logic
from lance_core.dataset.expressions.sql.values import decimals
from lance_core.dataset.expressions.sql.values.coerce import (
    common_type,
    converted,
    literals_beside_floats,
)
from lance_core.errors import InvalidInputError


def case(branches: Sequence[tuple[Node, Node]], default: Node) -> Node:
    """CASE: the value of the first branch (condition, value) with a true condition, or default."""
    values = one_type("CASE", [value for _, value in branches] + [default])
    result = values.pop()
    for (test, _), value in zip(reversed(branches), reversed(values), strict=True):
        nullable = value.nullable or result.nullable
        result = call(CaseWhen(), pc.if_else, logic.is_true(test), value, result)
        result = with_nullable(result, nullable)
    return result


def one_type(what: str, nodes: Sequence[Node]) -> list[Node]:
    """The nodes converted to their common type; raises `InvalidInputError` if there is none."""
    type_ = pa.null()
    nodes = decimals.with_exact_literals(literals_beside_floats(nodes))
    for node in nodes:
        wider = common_type(type_, node.type)
        if wider is None:
            raise InvalidInputError(f"{what}: no type holds both {type_} and {node.type}")
        type_ = wider
    return [converted(node, type_) if not _untyped(node) else null(type_) for node in nodes]


def _untyped(node: Node) -> bool:
    return bool(pa.types.is_null(node.type))


def coalesce(*nodes: Node) -> Node:
    """The first value that is not NULL."""
    node = call("coalesce", pc.coalesce, *one_type("coalesce", nodes))
    node = with_nullable(node, all(argument.nullable for argument in nodes))
    # A first argument that is NOT NULL is the result, so the result has its metadata.
    return node if nodes[0].nullable else with_metadata(node, nodes[0].metadata)


def nullif(node: Node, other: Node) -> Node:
    """NULL where both values are equal, else the first."""
    node, other = one_type("nullif", [node, other])
    return case([(compare.compare("=", node, other), null(node.type))], node)
