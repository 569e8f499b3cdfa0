"""Planner: syntax trees to typed nodes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.names import child, resolve
from lance_core.dataset.expressions.sql.nodes.node import (
    ColumnNode,
    Constant,
    Node,
    constant,
    null,
)
from lance_core.dataset.expressions.sql.operators import arithmetic, compare, logic, membership
from lance_core.dataset.expressions.sql.parser import syntax
from lance_core.dataset.expressions.sql.parser.grammar import parse
from lance_core.dataset.expressions.sql.parser.lexer import excerpt
from lance_core.dataset.expressions.sql.parser.long_chains import shortened
from lance_core.dataset.expressions.sql.parser.syntax import Name
from lance_core.dataset.expressions.sql.values import casts, literals
from lance_core.errors import InvalidInputError
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.dataset.expressions.sql import functions
    from lance_core.dataset.expressions.sql.operators import (
        concatenation,
        conditional,
        like,
        lists,
        regexp,
        similar,
        structs,
    )
else:
    # Most filters need none of these.
    functions = lazy_module("lance_core.dataset.expressions.sql.functions")
    concatenation = lazy_module("lance_core.dataset.expressions.sql.operators.concatenation")
    conditional = lazy_module("lance_core.dataset.expressions.sql.operators.conditional")
    like = lazy_module("lance_core.dataset.expressions.sql.operators.like")
    lists = lazy_module("lance_core.dataset.expressions.sql.operators.lists")
    regexp = lazy_module("lance_core.dataset.expressions.sql.operators.regexp")
    similar = lazy_module("lance_core.dataset.expressions.sql.operators.similar")
    structs = lazy_module("lance_core.dataset.expressions.sql.operators.structs")


def plan_filter(text: str, schema: pa.Schema) -> Node:
    """The boolean node of the condition ``text``.

    Raises `InvalidInputError` for text that is not a boolean expression over ``schema``, and
    `UnsupportedFeatureError` for constructs that are not supported.
    """
    with bounded_depth(text):
        node = logic.condition(_Planner(schema).plan(parse(text, schema.names)))
    if not pa.types.is_boolean(node.type):
        raise InvalidInputError(
            f"the filter {excerpt(text)} does not return a boolean but {node.type}"
        )
    return node


def plan_trees(trees: Sequence[syntax.Tree], schema: pa.Schema) -> list[Node]:
    """The node of each of ``trees``; a column that several of them name is one node."""
    planner = _Planner(schema)
    return [planner.plan(tree) for tree in trees]


def plan_value(text: str, schema: pa.Schema) -> Node:
    """The node of the expression ``text``, of any type.

    Text that equals a column's name is that column. Raises the errors of `plan_filter`, except for
    values that are not boolean.
    """
    if schema.names.count(text) == 1:
        return resolve(schema, Name(text, quoted=True))
    with bounded_depth(text):
        tree = parse(text, schema.names)
        planner = _Planner(schema)
        if isinstance(tree, syntax.Arithmetic):
            return planner.arithmetic(tree, outermost=True)
        return planner.plan(tree)


@contextmanager
def bounded_depth(text: str) -> Iterator[None]:
    """Translate a RecursionError: the parser limits nesting, but callers also use the stack."""
    try:
        yield
    except RecursionError:
        raise InvalidInputError(f"the expression {excerpt(text)} is nested too deeply") from None


class _Planner:
    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns: dict[tuple[Name, ...], ColumnNode] = {}

    def plan(self, tree: syntax.Tree) -> Node:
        return _RULES[type(tree)](self, tree)

    def reference(self, tree: syntax.NameReference) -> Node:
        if tree.parts not in self._columns:
            self._columns[tree.parts] = self._resolved(tree)
        return self._columns[tree.parts]

    def _resolved(self, tree: syntax.NameReference) -> ColumnNode:
        column = resolve(self._schema, tree.parts[0])
        for name in tree.parts[1:]:
            column = child(column, name.text)
        return column

    def member(self, tree: syntax.Member) -> Node:
        return self._field(tree.subject, tree.name)

    def _field(self, parent: syntax.Tree, name: str) -> Node:
        return structs.field(self.plan(parent), name)

    def index(self, tree: syntax.Subscript) -> Node:
        index = self.plan(tree.index)
        if isinstance(index, Constant) and isinstance(index.value.as_py(), str):
            return self._field(tree.subject, index.value.as_py())
        return lists.element(self.plan(tree.subject), index)

    def number(self, tree: syntax.Number) -> Node:
        return literals.number(tree.digits)

    def text(self, tree: syntax.Text) -> Node:
        return constant(tree.value)

    def bytes(self, tree: syntax.Bytes) -> Node:
        return literals.hexadecimal(tree.digits)

    def boolean(self, tree: syntax.Boolean) -> Node:
        return constant(tree.value)

    def null(self, tree: syntax.Null) -> Node:
        return null(pa.null())

    def list(self, tree: syntax.ListLiteral) -> Node:
        return lists.literal([self.plan(item) for item in tree.items])

    def logic(self, tree: syntax.Logic) -> Node:
        operands = [self.plan(operand) for operand in shortened(tree)]
        return logic.all_of(operands) if tree.is_and else logic.any_of(operands)

    def negation(self, tree: syntax.Not) -> Node:
        return logic.negated(self.plan(tree.operand))

    def comparison(self, tree: syntax.Comparison) -> Node:
        return compare.compare(tree.operator, self.plan(tree.left), self.plan(tree.right))

    def is_in(self, tree: syntax.In) -> Node:
        node = self.plan(tree.subject)
        if isinstance(tree.choices, syntax.Literals):
            condition = membership.is_among(node, tree.choices)
        else:
            condition = membership.is_in(node, [self.plan(choice) for choice in tree.choices])
        return _negated_if(tree.negated, condition)

    def between(self, tree: syntax.Between) -> Node:
        low, high = self.plan(tree.low), self.plan(tree.high)
        return _negated_if(tree.negated, compare.between(self.plan(tree.subject), low, high))

    def is_(self, tree: syntax.Is) -> Node:
        node = self.plan(tree.subject)
        if tree.value is None:
            condition = logic.is_null(node)
        else:
            condition = logic.is_true(node) if tree.value else logic.is_false(node)
        return _negated_if(tree.negated, condition)

    def distinct(self, tree: syntax.Distinct) -> Node:
        same = compare.same(self.plan(tree.left), self.plan(tree.right))
        return _negated_if(not tree.negated, same)

    def like(self, tree: syntax.Like) -> Node:
        subject, pattern = self.plan(tree.subject), self.plan(tree.pattern)
        condition = like.like(subject, pattern, tree.escape, tree.ignore_case)
        return _negated_if(tree.negated, condition)

    def similar_to(self, tree: syntax.SimilarTo) -> Node:
        subject, pattern = self.plan(tree.subject), self.plan(tree.pattern)
        return _negated_if(tree.negated, similar.similar_to(subject, pattern, tree.escape))

    def regexp(self, tree: syntax.Regexp) -> Node:
        subject, pattern = self.plan(tree.subject), self.plan(tree.pattern)
        return _negated_if(tree.negated, regexp.matches(subject, pattern, tree.ignore_case))

    def arithmetic(self, tree: syntax.Arithmetic, outermost: bool = False) -> Node:
        """The node of a chain of operators.

        ``outermost``: a literal gets the type of the column beside it, as in pylance.
        """
        left = self.plan(tree.first)
        rest = itertools.groupby(tree.rest, key=lambda part: part[0])
        runs = [(operator, [self.plan(right) for _, right in run]) for operator, run in rest]
        for number, (operator, operands) in enumerate(runs, start=1):
            if operator == "||":
                # One call for the whole chain of ||: a call for each would copy all previous text.
                left = concatenation.joined([left, *operands])
                continue
            for right in operands[:-1]:
                left = arithmetic.binary(operator, left, right)
            right = operands[-1]
            if outermost and number == len(runs):
                left, right = arithmetic.with_column_type(left, right)
            left = arithmetic.binary(operator, left, right)
        return left

    def negative(self, tree: syntax.Negative) -> Node:
        return arithmetic.negative(self.plan(tree.operand))

    def cast(self, tree: syntax.Cast) -> Node:
        type_ = casts.arrow_type(tree.type)
        return casts.cast(self.plan(tree.operand), type_, tree.strict)

    def case(self, tree: syntax.Case) -> Node:
        subject = None if tree.subject is None else self.plan(tree.subject)
        branches = []
        for when, then in tree.branches:
            test = self.plan(when)
            if subject is not None:
                test = compare.compare("=", subject, test)
            branches.append((test, self.plan(then)))
        default = null(pa.null()) if tree.default is None else self.plan(tree.default)
        return conditional.case(branches, default)

    def function(self, tree: syntax.FunctionCall) -> Node:
        arguments = [self.plan(argument) for argument in tree.arguments]
        return functions.call_function(tree.name, arguments)


def _negated_if(negated: bool, node: Node) -> Node:
    return logic.negated(node) if negated else node


_RULES: Mapping[type, Callable[[_Planner, Any], Node]] = {
    syntax.NameReference: _Planner.reference,
    syntax.Member: _Planner.member,
    syntax.Subscript: _Planner.index,
    syntax.Number: _Planner.number,
    syntax.Text: _Planner.text,
    syntax.Bytes: _Planner.bytes,
    syntax.Boolean: _Planner.boolean,
    syntax.Null: _Planner.null,
    syntax.ListLiteral: _Planner.list,
    syntax.Logic: _Planner.logic,
    syntax.Not: _Planner.negation,
    syntax.Comparison: _Planner.comparison,
    syntax.In: _Planner.is_in,
    syntax.Between: _Planner.between,
    syntax.Is: _Planner.is_,
    syntax.Distinct: _Planner.distinct,
    syntax.Like: _Planner.like,
    syntax.SimilarTo: _Planner.similar_to,
    syntax.Regexp: _Planner.regexp,
    syntax.Arithmetic: _Planner.arithmetic,
    syntax.Negative: _Planner.negative,
    syntax.Cast: _Planner.cast,
    syntax.Case: _Planner.case,
    syntax.FunctionCall: _Planner.function,
}
