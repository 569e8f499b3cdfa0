"""Calls of SQL functions: their descriptors are looked up, and plan the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lance_core.dataset.expressions.sql.nodes.node import (
    Constant,
    Node,
    constant,
    null,
    with_nullable,
)
from lance_core.dataset.expressions.sql.operators.distinct_options import call_for_distinct
from lance_core.dataset.expressions.sql.values.coerce import plain
from lance_core.errors import InvalidInputError, PluginLoadError
from lance_core.function_spec import SqlFunctionSpec
from lance_core.plugin_calls import wrong_result
from lance_core.plugins.manager import get_manager
from lance_core.store.spec import resolve_factory

_SAMPLES: Mapping[bool, Constant] = {True: constant(1), False: constant("i")}
"""A valid value of an option, by whether it is an integer."""


def call_function(name: str, arguments: Sequence[Node]) -> Node:
    """The node of ``name(arguments)``; names are case-insensitive.

    Raises the errors of `PluginManager.sql_function`, and `InvalidInputError` for a wrong number or
    wrong types of arguments.
    """
    return call_planned(get_manager().sql_function(name), name, arguments)


def call_planned(spec: SqlFunctionSpec, name: str, arguments: Sequence[Node]) -> Node:
    """The node of a call of ``spec`` by ``name``, which is its name or an alias.

    Raises `InvalidInputError` for a wrong number or wrong types of arguments, and `PluginLoadError`
    if the planner cannot be imported or returns no node.
    """
    node = _planned(spec, name, [plain(argument) for argument in arguments])
    return node if spec.infers_nullable else with_nullable(node, True)


def _planned(spec: SqlFunctionSpec, name: str, arguments: Sequence[Node]) -> Node:
    least, most, options = spec.shape
    count = len(arguments)
    if count < least or (most is not None and count > most):
        raise InvalidInputError(f"{name} does not take {count} arguments; it is {spec.signature}")
    plan = spec.plan if callable(spec.plan) else resolve_factory(spec.plan, f"function {name!r}")
    values = [arguments[i] for i in options if i < count]
    if all(isinstance(value, Constant) and not value.is_null for value in values):
        node: object = plan(*arguments)
        if not isinstance(node, Node):
            what = f"function {name!r} of {get_manager().provider_of(spec)}"
            raise PluginLoadError(wrong_result(what, "plan", node, "a node"))
        return node
    samples = {i: _SAMPLES[is_integer] for i, is_integer in options.items()}
    result = call_for_distinct(name, plan, arguments, samples)
    if any(isinstance(value, Constant) and value.is_null for value in values):
        return null(result.type)
    return result
