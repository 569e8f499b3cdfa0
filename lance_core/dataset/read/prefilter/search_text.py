"""The searches of indices, and the conditions that are left, as text for explanations of plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import arithmetic, compare, logic
from lance_core.dataset.expressions.sql.interval_analysis import function_of
from lance_core.dataset.expressions.sql.node import ColumnNode, Constant
from lance_core.dataset.read.prefilter.conditions import ColumnLookup, Truth
from lance_core.dataset.read.prefilter.searches import Search
from lance_core.index.queries import (
    Contains,
    HasAll,
    HasAny,
    InRange,
    IsIn,
    IsNull,
    MatchesRegex,
    StartsWith,
)
from lance_core.schema import format_path

if TYPE_CHECKING:
    from lance_core.dataset.expressions.sql.node import Kernel, Node
    from lance_core.dataset.read.prefilter.searches import SearchTree

MAX_VALUES = 20
"""Maximum values of a list that are shown."""

MAX_BYTES = 10
"""Maximum bytes of a binary value that are shown, as in pylance."""

_FORMS = {
    Truth.TRUE: "{}",
    Truth.FALSE: "NOT({})",
    Truth.NOT_TRUE: "IS_NOT_TRUE({})",
    Truth.NOT_FALSE: "IS_NOT_FALSE({})",
}


def tree_text(tree: SearchTree) -> str:
    """The searches as pylance shows them, such as ``AND([x = 5]@x_idx(BTree),[…]@…)``."""
    if isinstance(tree, Search):
        text = _lookup_text(tree.lookup)
        if tree.lookup.keys:
            text = f"Json({text}->{'.'.join(tree.lookup.keys)})"
        one = f"[{text}]@{tree.index.name}({tree.index.spec.label})"
        return _FORMS[tree.lookup.truth].format(one)
    if len(tree.parts) == 1:
        return tree_text(tree.parts[0])
    parts = ",".join(map(tree_text, tree.parts))
    return f"{'AND' if tree.is_all else 'OR'}({parts})"


def _lookup_text(lookup: ColumnLookup) -> str:
    column = format_path(lookup.path)
    match lookup.query:
        case IsIn(values) if len(values) == 1:
            return f"{column} = {_value_text(values[0])}"
        case IsIn(values):
            return f"{column} IN [{_values_text(values)}]"
        case InRange(lower, upper, has_lower, has_upper):
            bounds = (">=" if has_lower else ">", lower), ("<=" if has_upper else "<", upper)
            return " && ".join(
                f"{column} {operator} {_value_text(bound)}"
                for operator, bound in bounds
                if bound is not None
            )
        case IsNull():
            return f"{column} IS NULL"
        case StartsWith(prefix):
            return f"{column} LIKE '{prefix}%'"
        case Contains(text):
            return f"contains({column}, '{text}')"
        case MatchesRegex(pattern):
            return f"regexp_like({column}, '{pattern}')"
        case HasAny(values):
            return f"array_has_any({column}, [{_values_text(values)}])"
        case HasAll(values):
            return f"array_has_all({column}, [{_values_text(values)}])"


def _value_text(scalar: pa.Scalar) -> str:
    """A value; bytes are hexadecimal digits, of which only the first are shown."""
    value = scalar.as_py()
    if not isinstance(value, bytes):
        return str(scalar)
    return value.hex() if len(value) <= MAX_BYTES else f"{value[:MAX_BYTES].hex()}..."


def _values_text(values: pa.Array) -> str:
    shown = ",".join(map(_value_text, values[:MAX_VALUES]))
    return shown if len(values) <= MAX_VALUES else f"{shown},… ({len(values)} values)"


_OPERATORS: Mapping[Kernel, str] = {
    pc.equal: "=",
    pc.not_equal: "!=",
    pc.less: "<",
    pc.less_equal: "<=",
    pc.greater: ">",
    pc.greater_equal: ">=",
    **dict.fromkeys((pc.add, pc.add_checked), "+"),
    **dict.fromkeys((pc.subtract, pc.subtract_checked), "-"),
    **dict.fromkeys((pc.multiply, pc.multiply_checked), "*"),
    **dict.fromkeys((pc.divide, pc.divide_checked), "/"),
    arithmetic.remainder: "%",
    pc.and_kleene: "AND",
    pc.or_kleene: "OR",
}

_SUFFIXES: Mapping[Kernel, str] = {
    pc.is_null: "IS NULL",
    logic.known_true: "IS TRUE",
    logic.known_false: "IS FALSE",
}


def conditions_text(nodes: Sequence[Node]) -> str:
    """The AND of ``nodes``; functions have the names of their kernels."""
    return " AND ".join(dict.fromkeys(map(_node_text, nodes))) or "--"


def _node_text(node: Node) -> str:
    if isinstance(node, ColumnNode):
        return format_path(node.path)
    if isinstance(node, Constant):
        value = node.value.as_py()
        return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
    function, options = function_of(node.kernel)
    if not node.arguments:
        return str(options["text"])  # an unknown condition
    parts = [_node_text(part) for part in node.arguments]
    if "name" in options:
        return f"{options['name']}({', '.join(parts)})"
    if function is compare.compare_with_float:
        return f" {options['operator'].replace('<>', '!=')} ".join(parts)
    if function in _OPERATORS:
        text = f" {_OPERATORS[function]} ".join(parts)
        return f"({text})" if function is pc.or_kleene else text
    if function in _SUFFIXES:
        return f"{parts[0]} {_SUFFIXES[function]}"
    if function is pc.invert:
        return f"NOT ({parts[0]})"
    parts += [repr(value) for value in options.values() if isinstance(value, str | int)]
    return f"{_name(function)}({', '.join(parts)})"


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", "function")).strip("_")
