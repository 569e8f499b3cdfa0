"""Calls of SQL functions: their descriptors are looked up, and plan the nodes.

What the planners and kernels of other people's plugins return and raise is checked.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.node import (
    CallNode,
    Constant,
    Datum,
    Kernel,
    Node,
    constant,
    null,
    with_nullable,
)
from lance_core.dataset.expressions.sql.operators.distinct_options import call_for_distinct
from lance_core.dataset.expressions.sql.values.coerce import plain
from lance_core.error_texts.plugin_calls import failed_call, wrong_result
from lance_core.errors import InvalidInputError, LanceError, PluginError
from lance_core.function_spec import PlanFunction, SqlFunctionSpec
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

    Raises `InvalidInputError` for a wrong number or wrong types of arguments, `PluginLoadError` if
    the planner cannot be imported, and `PluginError` if it returns no node.
    """
    node = _planned(spec, name, [plain(argument) for argument in arguments])
    return node if spec.infers_nullable else with_nullable(node, True)


@functools.lru_cache(maxsize=1024)
def _imported(path: str, name: str) -> PlanFunction:
    return resolve_factory(path, f"function {name!r}")


def _planned(spec: SqlFunctionSpec, name: str, arguments: Sequence[Node]) -> Node:
    least, most, options = spec.shape
    count = len(arguments)
    if count < least or (most is not None and count > most):
        raise InvalidInputError(f"{name} does not take {count} arguments; it is {spec.signature}")
    plan = _imported(spec.plan, spec.name) if isinstance(spec.plan, str) else spec.plan
    values = [arguments[i] for i in options if i < count]
    if not get_manager().is_of_this_project(spec):  # ours are tested against the contract
        plan = functools.partial(_checked_plan, plan=plan, spec=spec)
    if all(isinstance(value, Constant) and not value.is_null for value in values):
        node: Node = plan(*arguments)
        return node
    samples = {i: _SAMPLES[is_integer] for i, is_integer in options.items()}
    result = call_for_distinct(name, plan, arguments, samples)
    if any(isinstance(value, Constant) and value.is_null for value in values):
        return null(result.type)
    return result


def _checked_plan(*arguments: Node, plan: PlanFunction, spec: SqlFunctionSpec) -> Node:
    """The node that a plugin's ``plan`` returns, with checked kernels."""
    what = f"function {spec.name!r} of {get_manager().provider_of(spec)}"
    try:
        node: object = plan(*arguments)
    except (LanceError, MemoryError, RecursionError):  # RecursionError: the expression is deep
        raise
    except Exception as error:
        raise PluginError(failed_call(what, "plan", error)) from error
    if not isinstance(node, Node):
        raise PluginError(wrong_result(what, "plan", node, "a node"))
    return _checked_calls(node, {id(argument): argument for argument in arguments}, what)


def _checked_calls(node: Node, done: dict[int, Node], what: str) -> Node:
    """``node``, in which the kernels of all calls but those in ``done`` are checked."""
    if not isinstance(node, CallNode):
        return node
    if id(node) not in done:
        done[id(node)] = replace(
            node,
            kernel=functools.partial(
                _checked_kernel, kernel=node.kernel, type_=node.type, what=what
            ),
            arguments=tuple(_checked_calls(inner, done, what) for inner in node.arguments),
        )
    return done[id(node)]


def _checked_kernel(*values: Datum, kernel: Kernel, type_: pa.DataType, what: str) -> Datum:
    """The result of a plugin's kernel; raises `PluginError` if it does not fit ``values``."""
    try:
        result = kernel(*values)
    except (LanceError, MemoryError, pa.ArrowException):  # `evaluate` translates those of Arrow
        raise
    except Exception as error:
        raise PluginError(failed_call(what, "a kernel", error)) from error
    counts = [len(value) for value in values if not isinstance(value, pa.Scalar)]
    if not isinstance(result, pa.Scalar):
        if not isinstance(result, pa.Array):
            raise PluginError(wrong_result(what, "a kernel", result, "an Arrow array or scalar"))
        if [len(result)] != counts[:1]:
            rows = f"{counts[0]} rows" if counts else "constants"
            raise PluginError(f"{what}: a kernel returned {len(result)} values for {rows}")
    if result.type != type_:
        raise PluginError(f"{what}: a kernel returned {result.type}, but {type_} was planned")
    return result
