"""Three-valued logic: TRUE, FALSE and NULL."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    And,
    AnswerUnlessNull,
    CallNode,
    Constant,
    Datum,
    Kernel,
    Negation,
    Node,
    NullTest,
    Or,
    TruthTest,
    call,
    constant,
    null,
    with_metadata,
    with_nullable,
)
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.errors import InvalidInputError

_FALSE = to_scalar(False)
"""Made without `pa.scalar`, which imports pandas where that is installed: a second."""

AND, OR, NOT = And(), Or(), Negation()
IS_NULL, IS_TRUE, IS_FALSE = NullTest(), TruthTest(True), TruthTest(False)


def truth(node: Node, what: str) -> Node:
    """``node`` or its `CallNode.condition` as a boolean node; an untyped NULL becomes boolean.

    Raises `InvalidInputError` for other nodes; ``what`` names the operator in the message.
    """
    node = condition(node)
    if pa.types.is_null(node.type):
        return null(pa.bool_())
    if not pa.types.is_boolean(node.type):
        raise InvalidInputError(f"{what} needs true or false, not {node.type}")
    return node


def condition(node: Node) -> Node:
    """The `CallNode.condition` of the node, or the node itself if it has none."""
    return node.condition if isinstance(node, CallNode) and node.condition is not None else node


def both(left: Node, right: Node) -> Node:
    """AND: false if one side is false, even if the other is NULL."""
    return _combined(AND, pc.and_kleene, False, left, right)


def either(left: Node, right: Node) -> Node:
    """OR: true if one side is true, even if the other is NULL."""
    return _combined(OR, pc.or_kleene, True, left, right)


def _combined(operator: And | Or, kernel: Kernel, decisive: bool, left: Node, right: Node) -> Node:
    """``kernel`` of both sides; one side with the value ``decisive`` alone decides the result."""
    left, right = truth(left, operator.name), truth(right, operator.name)
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Constant) and side.value.is_valid:
            return side if side.value.as_py() is decisive else other
    return call(operator, kernel, left, right, kind=pa.bool_())


def negated(node: Node) -> Node:
    """NOT."""
    node = truth(node, "NOT")
    return with_metadata(call(NOT, pc.invert, node, kind=pa.bool_()), node.metadata)


def all_of(nodes: Sequence[Node]) -> Node:
    """AND of any number of nodes."""
    return _joined(nodes, both, constant(True))


def any_of(nodes: Sequence[Node]) -> Node:
    """OR of any number of nodes."""
    return _joined(nodes, either, constant(False))


def _joined(nodes: Sequence[Node], join: Callable[[Node, Node], Node], none: Node) -> Node:
    """Join ``nodes`` as a balanced tree, whose depth is logarithmic in the number of nodes."""
    level = list(nodes) or [none]
    while len(level) > 1:
        pairs = [join(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(level) & ~1 :]
    return level[0]


def is_true(node: Node) -> Node:
    """IS TRUE: never NULL."""
    return call(IS_TRUE, known_true, truth(node, "IS TRUE"))


def is_false(node: Node) -> Node:
    """IS FALSE: never NULL."""
    return call(IS_FALSE, known_false, truth(node, "IS FALSE"))


def is_null(node: Node) -> Node:
    """IS NULL. NaN is a value."""
    if isinstance(node, CallNode) and node.condition is not None:
        return negated(node)
    return with_nullable(call(IS_NULL, pc.is_null, node), False)


def known_true(value: Datum) -> Datum:
    """IS TRUE of evaluated booleans: NULL becomes false."""
    return pc.fill_null(value, _FALSE)


def known_false(value: Datum) -> Datum:
    """The kernel of IS FALSE."""
    return pc.fill_null(pc.invert(value), _FALSE)


def same_for_all(node: Node, answer: bool) -> Node:
    """``answer``, or NULL where ``node`` is NULL."""
    kernel = functools.partial(where_valid, answer=answer)
    return call(AnswerUnlessNull(answer), kernel, node)


def where_valid(value: Datum, answer: bool) -> Datum:
    """``answer``, or NULL where the value is NULL."""
    return pc.if_else(pc.is_valid(value), to_scalar(answer), to_scalar(None, pa.bool_()))
