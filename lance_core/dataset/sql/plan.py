"""Syntax trees to nodes.

Import this module inside functions only: it loads sqlglot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lance_core.dataset.sql import arithmetic, casts, compare, functions, lists, literals, logic
from lance_core.dataset.sql.grammar import parse
from lance_core.dataset.sql.like import like
from lance_core.dataset.sql.names import Name, child, resolve
from lance_core.dataset.sql.node import Column, Constant, Node, constant, null
from lance_core.errors import InvalidInputError, UnsupportedFeatureError


def plan_filter(text: str, schema: pa.Schema) -> Node:
    """A boolean node.

    Raises `InvalidInputError` for text that is no boolean expression over ``schema``, and
    `UnsupportedFeatureError` naming a construct that is not known here.
    """
    with _bounded_depth(text):
        node = logic.condition(_Planner(schema).plan(parse(text, schema.names)))
    if not pa.types.is_boolean(node.type):
        raise InvalidInputError(f"the filter {text!r} is not true or false but {node.type}")
    return node


def plan_value(text: str, schema: pa.Schema) -> Node:
    """A node of any type; text that is exactly a column's name is that column. Raises as above."""
    if schema.names.count(text) == 1:
        return resolve(schema, Name(text, quoted=True))
    tree = parse(text, schema.names)
    planner = _Planner(schema)
    with _bounded_depth(text):
        if type(tree) in _ARITHMETIC:
            return planner.arithmetic(tree, outermost=True)
        return planner.plan(tree)


@contextmanager
def _bounded_depth(text: str) -> Iterator[None]:
    """A chain of a thousand operators is a thousand levels deep."""
    try:
        yield
    except RecursionError:
        raise InvalidInputError(f"the expression {text[:100]!r}… is nested too deeply") from None


MANY = 100
"""From so many values on, the literals of an IN are read in one go."""

Tree = Any
"""A node of sqlglot's tree; its base class has another name in each release."""


class _Planner:
    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def plan(self, tree: Tree) -> Node:
        rule = _RULES.get(type(tree))
        # An argument that no rule looks at would change the meaning unnoticed.
        more = {name for name, value in tree.args.items() if value} - _KNOWN_ARGUMENTS
        if rule is None or more:
            raise UnsupportedFeatureError(f"{_shown(tree)} is not supported in an expression")
        node = rule(self, tree)
        return logic.negated(node) if tree.args.get("negate") else node

    def column(self, tree: Tree) -> Node:
        names = [_name(part) for part in tree.parts]
        column = resolve(self._schema, names[0])
        for name in names[1:]:
            column = child(column, name.text)
        return column

    def dot(self, tree: Tree) -> Node:
        return self._field(tree.this, _name(tree.expression).text, tree)

    def _field(self, parent: Tree, name: str, tree: Tree) -> Node:
        node = self.plan(parent)
        if not isinstance(node, Column):
            raise UnsupportedFeatureError(f"{_shown(tree)}: only columns have fields")
        return child(node, name)

    def bracket(self, tree: Tree) -> Node:
        if len(tree.expressions) != 1:
            raise UnsupportedFeatureError(f"{_shown(tree)}: one index, please")
        index = self.plan(tree.expressions[0])
        if not isinstance(index, Constant):
            raise UnsupportedFeatureError(f"{_shown(tree)}: an index that is not a literal")
        if isinstance(index.value.as_py(), str):
            return self._field(tree.this, index.value.as_py(), tree)
        return lists.element(self.plan(tree.this), index)

    def literal(self, tree: Tree) -> Node:
        return constant(str(tree.this)) if tree.is_string else literals.number(str(tree.this))

    def hexadecimal(self, tree: Tree) -> Node:
        return literals.hexadecimal(str(tree.this))

    def boolean(self, tree: Tree) -> Node:
        return constant(bool(tree.this))

    def null(self, tree: Tree) -> Node:
        return null(pa.null())

    def parenthesis(self, tree: Tree) -> Node:
        return self.plan(tree.this)

    def array(self, tree: Tree) -> Node:
        return lists.literal([self.plan(item) for item in tree.expressions])

    def conjunction(self, tree: Tree) -> Node:
        return logic.all_of([self.plan(part) for part in tree.flatten()])

    def disjunction(self, tree: Tree) -> Node:
        return logic.any_of([self.plan(part) for part in tree.flatten()])

    def negation(self, tree: Tree) -> Node:
        return logic.negated(self.plan(tree.this))

    def comparison(self, tree: Tree) -> Node:
        return compare.compare(_COMPARISONS[type(tree)], *self._sides(tree))

    def _sides(self, tree: Tree) -> tuple[Node, Node]:
        return self.plan(tree.this), self.plan(tree.expression)

    def is_in(self, tree: Tree) -> Node:
        if not tree.expressions:
            raise UnsupportedFeatureError(f"{_shown(tree)}: IN needs a list of values")
        node = self.plan(tree.this)
        plain = _plain_literals(tree.expressions)
        among = compare.is_among(node, plain) if plain else None
        return among or compare.is_in(node, [self.plan(choice) for choice in tree.expressions])

    def between(self, tree: Tree) -> Node:
        low, high = self.plan(tree.args["low"]), self.plan(tree.args["high"])
        return compare.between(self.plan(tree.this), low, high)

    def is_(self, tree: Tree) -> Node:
        node, what = self.plan(tree.this), tree.expression
        if isinstance(what, exp.Null):
            return logic.is_null(node)
        if isinstance(what, exp.Boolean):
            return logic.is_true(node) if what.this else logic.is_false(node)
        raise UnsupportedFeatureError(f"{_shown(tree)} is not supported in an expression")

    def same(self, tree: Tree) -> Node:
        """IS [NOT] DISTINCT FROM: NULL equals NULL."""
        same = compare.same(*self._sides(tree))
        return same if isinstance(tree, exp.NullSafeEQ) else logic.negated(same)

    def like(self, tree: Tree) -> Node:
        return self._like(tree, "\\")

    def _like(self, tree: Tree, escape: str) -> Node:
        subject, pattern = self._sides(tree)
        return like(subject, pattern, escape, isinstance(tree, exp.ILike))

    def escape(self, tree: Tree) -> Node:
        if not isinstance(tree.this, exp.Like | exp.ILike):
            raise UnsupportedFeatureError(f"{_shown(tree)} is not supported in an expression")
        character = self.plan(tree.expression)
        text = character.value.as_py() if isinstance(character, Constant) else None
        if not isinstance(text, str) or len(text) != 1:
            raise InvalidInputError(f"{_shown(tree)}: ESCAPE needs one character")
        node = self._like(tree.this, text)
        return logic.negated(node) if tree.this.args.get("negate") else node

    def arithmetic(self, tree: Tree, outermost: bool = False) -> Node:
        """``outermost``: a literal takes the type of the column beside it, as in pylance."""
        operator = _ARITHMETIC[type(tree)]
        left, right = self._sides(tree)
        if outermost:
            left, right = arithmetic.with_column_type(left, right)
        return arithmetic.binary(operator, left, right)

    def negative(self, tree: Tree) -> Node:
        if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
            return literals.number(f"-{tree.this.this}")
        return arithmetic.negative(self.plan(tree.this))

    def concatenation(self, tree: Tree) -> Node:
        return functions.call_function("||", list(self._sides(tree)))

    def cast(self, tree: Tree) -> Node:
        return casts.cast(self.plan(tree.this), casts.arrow_type(tree.to))

    def case(self, tree: Tree) -> Node:
        subject = None if tree.this is None else self.plan(tree.this)
        branches = []
        for branch in tree.args["ifs"]:
            test = self.plan(branch.this)
            if subject is not None:
                test = compare.compare("=", subject, test)
            branches.append((test, self.plan(branch.args["true"])))
        default = tree.args.get("default")
        return functions.case(branches, null(pa.null()) if default is None else self.plan(default))

    def function(self, tree: Tree) -> Node:
        return functions.call_function(tree.name.strip(), [self.plan(a) for a in tree.expressions])


def _plain_literals(trees: list[Tree]) -> list[int] | list[str]:
    """The values of a long list of nothing but digits or nothing but texts, else nothing."""
    if len(trees) <= MANY or any(type(tree) is not exp.Literal for tree in trees):
        return []
    if all(tree.is_string for tree in trees):
        return [str(tree.this) for tree in trees]
    texts = [str(tree.this) for tree in trees if not tree.is_string]
    if len(texts) < len(trees) or not all(len(t) < 20 and t.isdecimal() for t in texts):
        return []
    return [int(text) for text in texts]


def _name(part: Tree) -> Name:
    if not isinstance(part, exp.Identifier):
        raise InvalidInputError(f"{_shown(part)} is not the name of a field")
    return Name(part.name, bool(part.args.get("quoted")))


def _shown(tree: Tree) -> str:
    text = tree.sql()
    kind = type(tree).__name__
    return f"{kind} ({text if len(text) <= 100 else text[:100] + '…'})"


_COMPARISONS: Mapping[type[Tree], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}

_ARITHMETIC: Mapping[type[Tree], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}

_KNOWN_ARGUMENTS = {
    *("this", "expression", "expressions", "negate"),
    *("table", "db", "catalog", "is_string", "quoted", "safe"),
    *("low", "high", "ifs", "default", "to"),
}

_Rule = Callable[[_Planner, Any], Node]

_RULES: Mapping[type[Tree], _Rule] = {
    exp.Column: _Planner.column,
    exp.Dot: _Planner.dot,
    exp.Bracket: _Planner.bracket,
    exp.Literal: _Planner.literal,
    exp.HexString: _Planner.hexadecimal,
    exp.Boolean: _Planner.boolean,
    exp.Null: _Planner.null,
    exp.Paren: _Planner.parenthesis,
    exp.Array: _Planner.array,
    exp.And: _Planner.conjunction,
    exp.Or: _Planner.disjunction,
    exp.Not: _Planner.negation,
    exp.In: _Planner.is_in,
    exp.Between: _Planner.between,
    exp.Is: _Planner.is_,
    exp.NullSafeEQ: _Planner.same,
    exp.NullSafeNEQ: _Planner.same,
    exp.Like: _Planner.like,
    exp.ILike: _Planner.like,
    exp.Escape: _Planner.escape,
    exp.Neg: _Planner.negative,
    exp.DPipe: _Planner.concatenation,
    exp.Cast: _Planner.cast,
    exp.Case: _Planner.case,
    exp.Anonymous: _Planner.function,
    **dict.fromkeys(_COMPARISONS, _Planner.comparison),
    **dict.fromkeys(_ARITHMETIC, _Planner.arithmetic),
}
