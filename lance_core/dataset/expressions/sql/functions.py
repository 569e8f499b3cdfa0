"""SQL functions by name, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import (
    casts,
    compare,
    json_functions,
    lists,
    logic,
    numbers,
    padding,
    regexp,
    structs,
    temporal,
    text,
)
from lance_core.dataset.expressions.sql.coerce import common_type, converted, plain
from lance_core.dataset.expressions.sql.node import (
    Constant,
    Node,
    call,
    constant,
    null,
    with_metadata,
    with_nullable,
)
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class Function:
    """An SQL function: ``plan`` builds its node from ``least`` to ``most`` arguments (None: any).

    ``infers_nullable``: True if the result has the nullability of the node; the results of all
    other functions are nullable. pylance has the same rules.
    """

    plan: Callable[..., Node]
    least: int
    most: int | None
    infers_nullable: bool = False


def call_function(name: str, arguments: Sequence[Node]) -> Node:
    """The node of ``name(arguments)``; names are case-insensitive.

    Raises `UnsupportedFeatureError` for an unknown name and `InvalidInputError` for a wrong number
    or wrong types of arguments.
    """
    function = _FUNCTIONS.get(name.lower())
    if function is None:
        raise UnsupportedFeatureError(
            f"the function {name} is not supported in an expression{did_you_mean(name, NAMES)}"
        )
    count = len(arguments)
    if count < function.least or (function.most is not None and count > function.most):
        raise InvalidInputError(f"{name} does not take {count} arguments")
    node = function.plan(*[plain(argument) for argument in arguments])
    return node if function.infers_nullable else with_nullable(node, True)


def case(branches: Sequence[tuple[Node, Node]], default: Node) -> Node:
    """CASE: the value of the first branch (condition, value) with a true condition, or default."""
    values = one_type("CASE", [value for _, value in branches] + [default])
    result = values.pop()
    for (test, _), value in zip(reversed(branches), reversed(values), strict=True):
        nullable = value.nullable or result.nullable
        result = call("CASE", pc.if_else, logic.is_true(test), value, result)
        result = with_nullable(result, nullable)
    return result


def one_type(what: str, nodes: Sequence[Node]) -> list[Node]:
    """The nodes converted to their common type; raises `InvalidInputError` if there is none."""
    kind = pa.null()
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
    return call("greatest", pc.max_element_wise, *one_type("greatest", nodes))


def _least(*nodes: Node) -> Node:
    return call("least", pc.min_element_wise, *one_type("least", nodes))


def _is_valid(node: Node) -> Node:
    return logic.negated(logic.is_null(node))


def _has_any(node: Node, wanted: Node) -> Node:
    return logic.any_of([lists.has(node, item) for item in lists.items(wanted)])


def _has_all(node: Node, wanted: Node) -> Node:
    return logic.all_of([lists.has(node, item) for item in lists.items(wanted)])


def _element(node: Node, index: Node) -> Node:
    if not isinstance(index, Constant):
        raise UnsupportedFeatureError("an index that is not a literal")
    return lists.element(node, index)


def _is_empty(node: Node) -> Node:
    return compare.compare("=", lists.length(node), constant(0))


_FUNCTIONS: Mapping[str, Function] = {
    "coalesce": Function(_coalesce, 1, None, infers_nullable=True),
    "ifnull": Function(_coalesce, 2, 2, infers_nullable=True),
    "nvl": Function(_coalesce, 2, 2, infers_nullable=True),
    "nvl2": Function(_nvl2, 3, 3, infers_nullable=True),
    "arrow_cast": Function(casts.arrow_cast, 2, 2),
    "nullif": Function(_nullif, 2, 2),
    "greatest": Function(_greatest, 1, None),
    "least": Function(_least, 1, None),
    "is_valid": Function(_is_valid, 1, 1, infers_nullable=True),
    "get_field": Function(structs.get_field, 2, 2),
    "date_part": Function(temporal.date_part, 2, 2, infers_nullable=True),
    "datepart": Function(temporal.date_part, 2, 2, infers_nullable=True),
    "date_trunc": Function(temporal.date_trunc, 2, 2, infers_nullable=True),
    "datetrunc": Function(temporal.date_trunc, 2, 2, infers_nullable=True),
    "now": Function(temporal.now, 0, 0),
    "current_timestamp": Function(temporal.now, 0, 0),
    "current_date": Function(temporal.today, 0, 0),
    "today": Function(temporal.today, 0, 0),
    "to_unixtime": Function(temporal.to_unixtime, 1, 1),
    "from_unixtime": Function(temporal.from_seconds, 1, 1),
    "to_timestamp_seconds": Function(temporal.from_seconds, 1, 1),
    "to_timestamp_millis": Function(temporal.from_millis, 1, 1),
    "array_element": Function(_element, 2, 2),
    "list_element": Function(_element, 2, 2),
    "empty": Function(_is_empty, 1, 1),
    "array_length": Function(lists.length, 1, 1),
    "list_length": Function(lists.length, 1, 1),
    "cardinality": Function(lists.length, 1, 1),
    "array_has": Function(lists.has, 2, 2),
    "list_has": Function(lists.has, 2, 2),
    "array_contains": Function(lists.has, 2, 2),
    "list_contains": Function(lists.has, 2, 2),
    "array_has_any": Function(_has_any, 2, 2),
    "list_has_any": Function(_has_any, 2, 2),
    "array_has_all": Function(_has_all, 2, 2),
    "list_has_all": Function(_has_all, 2, 2),
    "abs": Function(numbers.absolute, 1, 1),
    "round": Function(numbers.rounded, 1, 2, infers_nullable=True),
    "ceiling": Function(numbers.kernel("ceil"), 1, 1),
    "signum": Function(numbers.kernel("sign"), 1, 1),
    "power": Function(numbers.power, 2, 2),
    "pow": Function(numbers.power, 2, 2),
    "log": Function(numbers.log, 1, 2),
    **{name: Function(numbers.kernel(name), 1, 1) for name in numbers.KERNELS},
    "atan2": Function(numbers.atan2, 2, 2),
    "isnan": Function(numbers.is_nan, 1, 1),
    "iszero": Function(numbers.is_zero, 1, 1),
    "nanvl": Function(numbers.instead_of_nan, 2, 2),
    "||": Function(text.joined, 2, None, infers_nullable=True),
    "concat": Function(text.concat, 1, None),
    "concat_ws": Function(text.concat_ws, 2, None),
    "lpad": Function(padding.lpad, 2, 3),
    "rpad": Function(padding.rpad, 2, 3),
    "repeat": Function(text.repeat, 2, 2),
    "initcap": Function(text.initcap, 1, 1),
    "lower": Function(text.lower, 1, 1),
    "upper": Function(text.upper, 1, 1),
    "length": Function(text.length, 1, 1),
    "char_length": Function(text.length, 1, 1),
    "character_length": Function(text.length, 1, 1),
    "octet_length": Function(text.octet_length, 1, 1),
    "bit_length": Function(text.bit_length, 1, 1),
    "starts_with": Function(text.starts_with, 2, 2, infers_nullable=True),
    "ends_with": Function(text.ends_with, 2, 2),
    "contains": Function(text.contains, 2, 2),
    "strpos": Function(text.position, 2, 2, infers_nullable=True),
    "instr": Function(text.position, 2, 2, infers_nullable=True),
    "regexp_like": Function(regexp.regexp_like, 2, 3, infers_nullable=True),
    "regexp_match": Function(regexp.regexp_match, 2, 3),
    "regexp_replace": Function(regexp.regexp_replace, 3, 4),
    "replace": Function(text.replace, 3, 3),
    "reverse": Function(text.reverse, 1, 1),
    "left": Function(text.left, 2, 2),
    "right": Function(text.right, 2, 2),
    "substr": Function(text.substring, 2, 3),
    "substring": Function(text.substring, 2, 3),
    "trim": Function(text.trim, 1, 2),
    "btrim": Function(text.trim, 1, 2),
    "ltrim": Function(text.ltrim, 1, 2),
    "rtrim": Function(text.rtrim, 1, 2),
    **{
        name: Function(plan, count, count)
        for name, (plan, count) in json_functions.FUNCTIONS.items()
    },
}

NAMES = frozenset(_FUNCTIONS)
"""The names of all functions, in lower case."""
