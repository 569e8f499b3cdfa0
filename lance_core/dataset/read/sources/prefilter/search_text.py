"""The searches of indices, and the conditions that are left, as text for explanations of plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.node import (
    And,
    AnswerUnlessNull,
    Apply,
    CallNode,
    CaseWhen,
    CastTo,
    Coerce,
    ColumnNode,
    Compare,
    Constant,
    HasItem,
    HasPrefix,
    HasSubstring,
    HasSuffix,
    Infix,
    InList,
    LikePattern,
    Negation,
    NullTest,
    Opaque,
    Or,
    PerEntry,
    RegexMatch,
    TruthTest,
)
from lance_core.dataset.read.sources.prefilter.conditions import ColumnLookup, Truth
from lance_core.dataset.read.sources.prefilter.searches import Search
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
    from lance_core.dataset.expressions.sql.nodes.node import Node, Operator
    from lance_core.dataset.read.sources.prefilter.searches import SearchTree

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
        search = f"[{text}]@{tree.index.name}({tree.index.spec.label})"
        return _FORMS[tree.lookup.truth].format(search)
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


def conditions_text(nodes: Sequence[Node]) -> str:
    """The AND of ``nodes`` in the words of SQL."""
    return " AND ".join(dict.fromkeys(map(_node_text, nodes))) or "--"


def _node_text(node: Node, entry: str = "") -> str:
    """``entry``: the text of the only column of a test of elements or dictionary entries."""
    if isinstance(node, ColumnNode):
        return entry or format_path(node.path)
    if isinstance(node, Constant):
        value = node.value.as_py()
        return "NULL" if value is None else _option_text(value)
    return _call_text(node.operator, [_node_text(part, entry) for part in node.arguments])


def _option_text(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value)


def _call_text(operator: Operator, parts: list[str]) -> str:
    match operator:
        case And() | Infix() if len(parts) > 1:
            return f" {operator.name} ".join(parts)
        case Or():
            return f"({' OR '.join(parts)})"
        case Compare(sign):
            return f" {'!=' if sign == '<>' else sign} ".join(parts)
        case Infix(sign):
            return f"({sign} {parts[0]})"
        case Coerce(kind) | CastTo(kind):
            is_try = isinstance(operator, CastTo) and not operator.strict
            return f"{'TRY_CAST' if is_try else 'CAST'}({parts[0]} AS {kind})"
        case PerEntry(result):
            return _node_text(result, parts[0])
        case Opaque(text):
            return text
    return _test_text(operator, parts)


def _test_text(operator: Operator, parts: list[str]) -> str:
    match operator:
        case Negation():
            return f"NOT ({parts[0]})"
        case NullTest() | TruthTest():
            return f"{parts[0]} {operator.name}"
        case CaseWhen():
            return f"CASE WHEN {parts[0]} THEN {parts[1]} ELSE {parts[2]} END"
        case AnswerUnlessNull(True):
            return f"({parts[0]} IS NOT NULL OR NULL)"
        case AnswerUnlessNull(False):
            return f"({parts[0]} IS NULL AND NULL)"
        case InList(values, has_null):
            shown = [*map(_option_text, values[:MAX_VALUES].to_pylist())]
            shown += ["…"] * (len(values) > MAX_VALUES) + ["NULL"] * has_null
            return f"{parts[0]} IN ({', '.join(shown)})"
        case LikePattern(pattern):
            return f"{parts[0]} {operator.name} {pattern!r}"
    return _function_text(operator, parts)


def _function_text(operator: Operator, parts: list[str]) -> str:
    match operator:
        case HasPrefix(text) | HasSuffix(text) | HasSubstring(text):
            parts = [*parts, repr(text)]
        case RegexMatch(pattern, flags):
            parts = [*parts, repr(pattern), *([repr(flags)] if flags else [])]
        case HasItem(CallNode(operator=Compare(), arguments=(_, item))):
            parts = [*parts, _node_text(item)]
        case HasItem(test):
            return f"any({_node_text(test, 'element')} of {parts[0]})"
        case Apply(options=options, leading=leading):
            parts = [*map(_option_text, leading), *parts, *map(_option_text, options)]
    if not operator.name.isidentifier():  # SIMILAR TO, or + with an interval
        return f" {operator.name} ".join(parts)
    return f"{operator.name}({', '.join(parts)})"
