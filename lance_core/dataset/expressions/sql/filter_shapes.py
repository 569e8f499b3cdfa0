"""Shapes of filters: a text that differs from a planned one only in its literals is not parsed.

A service asks ``id = 1``, ``id = 2``, …: to parse and plan such a text takes as long as the answer.
The text between the literals is the shape of a condition. A shape whose conditions are an AND of
comparisons of columns with literals is planned once; a condition of this shape then gets its own
literals, each as a value of the column's type. All other conditions are planned as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.expressions.sql.nodes.node import (
    CallNode,
    ColumnNode,
    Compare,
    Constant,
    Node,
    constant,
)
from lance_core.dataset.expressions.sql.operators import logic
from lance_core.dataset.expressions.sql.parser import syntax
from lance_core.dataset.expressions.sql.parser.grammar import parse
from lance_core.dataset.expressions.sql.parser.lexer import MIN_LITERALS, Kind, words
from lance_core.dataset.expressions.sql.plan import bounded_depth, plan_filter, plan_trees
from lance_core.dataset.expressions.sql.values import literals
from lance_core.dataset.expressions.sql.values.exact import fitted
from lance_core.encodings.arrow.numpy_values import from_numpy, numpy_dtype
from lance_core.lazy_dataclass import dataclass

_MAX_CHARACTERS = 1000
"""Maximum characters of a text whose shape is looked up: longer ones take time to split."""

_MAX_SHAPES = 64

_LITERAL = re.compile(
    r"""(?<![\w.'"`])([0-9]+(?:\.[0-9]+)?)(?![\w.'"`])|(?<!')'([^']*(?:''[^']*)*)'(?!')"""
)
"""A number in the first group, or a text without its quotes in the second one.

The lexer finds the same literals in all texts of a shape: a literal ends where the next character,
which is a part of the shape, cannot continue it.
"""

_LITERAL_WORDS = frozenset({Kind.NUMBER, Kind.TEXT, Kind.BYTES, Kind.LITERALS})

Literal = Callable[[str], "Constant | None"]
"""A literal of a text as a value of a column's type; None if no value of this type equals it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """The plan of ``column operator literal``, and how its ``literal`` is read.

    ``position``: that of the literal in the result of `_LITERAL.split`.
    """

    plan: CallNode
    column: ColumnNode
    literal: Literal
    position: int


_Shape = tuple[_Comparison, ...]

_shapes: LruCache[tuple[object, ...], tuple[pa.Schema, _Shape]] = LruCache(_MAX_SHAPES)
"""By the identity of a schema and a shape. An item keeps its schema alive, so that no other one can
have the same identity."""


def prepared_filter(text: str, schema: pa.Schema) -> Node:
    """The result of `plan_filter`, with its errors."""
    if len(text) > _MAX_CHARACTERS:
        return plan_filter(text, schema)
    pieces = _LITERAL.split(text)
    # Numbers are in the pieces 1, 4, …, texts in 2, 5, …; of each literal one of both is None.
    key = id(schema), *pieces[::3], *map(type, pieces[1::3])
    _, shape = _shapes.get(key, lambda: (schema, _shape_of(text, schema)))
    nodes: list[Node] = []
    for comparison in shape:
        literal = comparison.literal(pieces[comparison.position])
        if literal is None:
            break
        plan = comparison.plan
        arguments = comparison.column, literal
        nodes.append(CallNode(plan.type, plan.operator, plan.kernel, arguments, plan.nullable))
    if not nodes or len(nodes) < len(shape):
        return plan_filter(text, schema)
    return nodes[0] if len(nodes) == 1 else logic.all_of(nodes)


def _shape_of(text: str, schema: pa.Schema) -> _Shape:
    """The comparisons of the condition ``text``; none if its shape cannot be prepared."""
    matches = list(_LITERAL.finditer(text))
    starts = [word.start for word in words(text) if word.kind in _LITERAL_WORDS]
    if [match.start() for match in matches] != starts:
        return ()
    with bounded_depth(text):
        tree = parse(text, schema.names)
        trees = tree.operands if isinstance(tree, syntax.Logic) and tree.is_and else (tree,)
        if len(trees) != len(matches) or len(trees) >= MIN_LITERALS:
            return ()
        plans = plan_trees(trees, schema)
    shape = []
    for number, match in enumerate(matches):
        comparison = _comparison(trees[number], plans[number], match, 3 * number + 1)
        if comparison is None:
            return ()
        shape.append(comparison)
    return tuple(shape)


def _comparison(
    tree: syntax.Tree, plan: Node, match: re.Match[str], position: int
) -> _Comparison | None:
    """The comparison ``tree`` with the literal ``match``; None for other conditions."""
    if not isinstance(tree, syntax.Comparison) or not isinstance(tree.left, syntax.NameReference):
        return None
    number, text = match.groups()
    if tree.right != (syntax.Text(_unquoted(text)) if number is None else syntax.Number(number)):
        return None  # such as a number after a sign
    if not isinstance(plan, CallNode) or plan.operator != Compare(tree.operator):
        return None
    column, value = plan.arguments
    if not isinstance(column, ColumnNode) or not isinstance(value, Constant):
        return None
    literal = _literal_of(column.type, is_number=number is not None)
    if literal is None or value.type != column.type:
        return None
    return _Comparison(plan, column, literal, position + (number is None))


def _literal_of(type_: pa.DataType, *, is_number: bool) -> Literal | None:
    """How a literal beside a column of type ``type_`` is read; None if it is planned as a whole."""
    if not is_number:
        return (lambda text: constant(_unquoted(text))) if pa.types.is_string(type_) else None
    if pa.types.is_floating(type_):
        return lambda digits: fitted(literals.number(digits), type_)
    if not pa.types.is_integer(type_):
        return None
    dtype = numpy_dtype(type_)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)

    def integer(digits: str) -> Constant | None:
        if not digits.isdecimal() or not low <= (value := int(digits)) <= high:
            return None
        return Constant(from_numpy(np.array([value], dtype))[0])

    return integer


def _unquoted(text: str) -> str:
    return text.replace("''", "'")
