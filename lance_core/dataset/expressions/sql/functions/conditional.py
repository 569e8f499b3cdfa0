"""CASE, and functions of values of any type that choose among their arguments."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.functions.function import Function
from lance_core.dataset.expressions.sql.nodes.node import (
    CaseWhen,
    Node,
    call,
    null,
    with_metadata,
    with_nullable,
)
from lance_core.dataset.expressions.sql.operators import compare, logic
from lance_core.dataset.expressions.sql.values import casts, decimals
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
    kind = pa.null()
    nodes = decimals.with_exact_literals(literals_beside_floats(nodes))
    for node in nodes:
        wider = common_type(kind, node.type)
        if wider is None:
            raise InvalidInputError(f"{what}: no type holds both {kind} and {node.type}")
        kind = wider
    return [converted(node, kind) if not _untyped(node) else null(kind) for node in nodes]


def _untyped(node: Node) -> bool:
    return bool(pa.types.is_null(node.type))


def _coalesce(*nodes: Node) -> Node:
    node = call("coalesce", pc.coalesce, *one_type("coalesce", nodes))
    node = with_nullable(node, all(argument.nullable for argument in nodes))
    # A first argument that is NOT NULL is the result, so the result has its metadata.
    return node if nodes[0].nullable else with_metadata(node, nodes[0].metadata)


def _nullif(node: Node, other: Node) -> Node:
    node, other = one_type("nullif", [node, other])
    return case([(compare.compare("=", node, other), null(node.type))], node)


def _nvl2(node: Node, present: Node, missing: Node) -> Node:
    return case([(logic.is_null(node), missing)], present)


def _greatest(*nodes: Node) -> Node:
    return functools.reduce(functools.partial(_farther, ">="), one_type("greatest", nodes))


def _least(*nodes: Node) -> Node:
    return functools.reduce(functools.partial(_farther, "<="), one_type("least", nodes))


def _farther(operator: str, node: Node, other: Node) -> Node:
    """The node where ``node operator other``, else the other; one that is NULL does not count."""
    is_first = logic.any_of([logic.is_null(other), compare.compare(operator, node, other)])
    return case([(is_first, node)], other)


def _is_valid(node: Node) -> Node:
    return logic.negated(logic.is_null(node))


FUNCTIONS = (
    Function(
        *("coalesce", _coalesce, "any, ..."),
        "The first value that is not NULL.",
        infers_nullable=True,
    ),
    Function(
        *("ifnull", _coalesce, "any, any"),
        "The first value, or the second where the first is NULL.",
        ("nvl",),
        infers_nullable=True,
    ),
    Function(
        *("nvl2", _nvl2, "any, any, any"),
        "The second value where the first is not NULL, else the third.",
        infers_nullable=True,
    ),
    Function("nullif", _nullif, "any, any", "NULL where both values are equal, else the first."),
    Function("greatest", _greatest, "any, ...", "The largest value that is not NULL."),
    Function("least", _least, "any, ...", "The smallest value that is not NULL."),
    Function(
        *("is_valid", _is_valid, "any"),
        "False where the value is NULL.",
        infers_nullable=True,
    ),
    Function(
        *("arrow_cast", casts.arrow_cast, "any, text*"),
        "The value as an Arrow type, such as `'Timestamp(Second, None)'`.",
    ),
    Function(
        *("arrow_try_cast", casts.arrow_try_cast, "any, text*"),
        "`arrow_cast` with NULL for values that do not fit.",
    ),
)
