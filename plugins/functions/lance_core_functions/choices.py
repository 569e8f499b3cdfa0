"""Functions of values of any type that choose among their arguments."""

from __future__ import annotations

import functools

from lance_core.sql_functions import (
    Node,
    compare,
    conditional,
    logic,
)


def nvl2(node: Node, present: Node, missing: Node) -> Node:
    """The second value where the first is not NULL, else the third."""
    return conditional.case([(logic.is_null(node), missing)], present)


def greatest(*nodes: Node) -> Node:
    """The largest value that is not NULL."""
    return functools.reduce(
        functools.partial(_farther, ">="), conditional.one_type("greatest", nodes)
    )


def least(*nodes: Node) -> Node:
    """The smallest value that is not NULL."""
    return functools.reduce(functools.partial(_farther, "<="), conditional.one_type("least", nodes))


def _farther(operator: str, node: Node, other: Node) -> Node:
    """The node where ``node operator other``, else the other; one that is NULL does not count."""
    is_first = logic.any_of([logic.is_null(other), compare.compare(operator, node, other)])
    return conditional.case([(is_first, node)], other)


def is_valid(node: Node) -> Node:
    """False where the value is NULL."""
    return logic.negated(logic.is_null(node))
