"""All SQL functions, by group and by name.

A function is added in the module of its group, to the constant ``FUNCTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lance_core.dataset.expressions.sql.functions import (
    conditional,
    engine_functions,
    integers,
    json_functions,
    letter_case,
    list_extremes,
    list_search,
    lists,
    numbers,
    padding,
    regexp,
    rounding,
    structs,
    temporal,
    text,
    text_parts,
)
from lance_core.dataset.expressions.sql.functions.function import Function
from lance_core.dataset.expressions.sql.nodes.node import Node, with_nullable
from lance_core.dataset.expressions.sql.values.coerce import plain
from lance_core.errors import UnsupportedFeatureError
from lance_core.suggestions import did_you_mean

GROUPS: Mapping[str, tuple[Function, ...]] = {
    "any type": conditional.FUNCTIONS,
    "numbers": (*numbers.FUNCTIONS, *rounding.FUNCTIONS, *integers.FUNCTIONS),
    "text": (
        *text.FUNCTIONS,
        *letter_case.FUNCTIONS,
        *text_parts.FUNCTIONS,
        *padding.FUNCTIONS,
        *regexp.FUNCTIONS,
        *engine_functions.TEXT,
    ),
    "time": (*temporal.FUNCTIONS, *engine_functions.TIME),
    "lists, structs": (
        *lists.FUNCTIONS,
        *list_extremes.FUNCTIONS,
        *list_search.FUNCTIONS,
        *structs.FUNCTIONS,
        *engine_functions.LISTS,
    ),
    "JSON": json_functions.FUNCTIONS,
}
"""The functions as the reference page shows them."""

FUNCTIONS: Mapping[str, Function] = {
    name: function
    for group in GROUPS.values()
    for function in group
    for name in (function.name, *function.aliases)
}
"""The functions by name and by alias, in lower case."""


def call_function(name: str, arguments: Sequence[Node]) -> Node:
    """The node of ``name(arguments)``; names are case-insensitive.

    Raises `UnsupportedFeatureError` for an unknown name and `InvalidInputError` for a wrong number
    or wrong types of arguments.
    """
    function = FUNCTIONS.get(name.lower())
    if function is None:
        known = did_you_mean(name, FUNCTIONS)
        raise UnsupportedFeatureError(
            f"the function {name} is not supported in an expression{known}"
        )
    node = function.node(name, [plain(argument) for argument in arguments])
    return node if function.infers_nullable else with_nullable(node, True)
