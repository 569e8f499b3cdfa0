"""Chains of AND and OR while they are parsed, however deep their parentheses are nested."""

from __future__ import annotations

from lance_core.dataset.expressions.sql.parser import syntax
from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """``operands`` joined by AND or by OR; a group of the same operator may be among them.

    ``depth``: the levels of the tree without groups that `tree_of` merges.
    """

    is_and: bool
    operands: list[Operand]
    depth: int


@dataclass(frozen=True, slots=True)
class Nested:
    """An operand with a parenthesis of ``depth`` levels, such as ``(a OR b) IS NULL``."""

    tree: syntax.Tree
    depth: int


Operand = syntax.Tree | Group | Nested


class Chain:
    """The operands of AND and OR between two parentheses; AND binds stronger."""

    __slots__ = ("_all", "_any")

    def __init__(self) -> None:
        self._any: list[Operand] = []
        self._all: list[Operand] = []

    def accepts(self, sign: str, operand: Operand) -> bool:
        """Add the operand before ``sign``; return False if ``sign`` is neither AND nor OR."""
        if sign == "AND":
            self._all.append(operand)
            return True
        if sign == "OR":
            self._any.append(self._conjunction(operand))
            return True
        return False

    def end(self, operand: Operand) -> Operand:
        """The whole chain with its last operand."""
        operand = self._conjunction(operand)
        return _group(False, [*self._any, operand]) if self._any else operand

    def _conjunction(self, operand: Operand) -> Operand:
        if not self._all:
            return operand
        operands, self._all = [*self._all, operand], []
        return _group(True, operands)


def _group(is_and: bool, operands: list[Operand]) -> Group:
    # Most operands are plain trees; a loop over classes is faster than `depth_of` for each.
    deep = [operand for operand in operands if isinstance(operand, (Group, Nested))]
    depths = [
        operand.depth - (isinstance(operand, Group) and operand.is_and is is_and)
        for operand in deep
    ]
    return Group(is_and, operands, 1 + max(depths, default=0))


def depth_of(operand: Operand) -> int:
    """The levels of parentheses that the tree keeps."""
    return operand.depth if isinstance(operand, (Group, Nested)) else 0


def tree_of(group: Operand) -> syntax.Tree:
    """The syntax tree, in which no operand of AND is an AND, and none of OR an OR."""
    if isinstance(group, Nested):
        return group.tree
    if not isinstance(group, Group):
        return group
    operands: list[syntax.Tree] = []
    waiting: list[Operand] = [group]
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Group) and operand.is_and is group.is_and:
            waiting.extend(reversed(operand.operands))
        else:
            operands.append(tree_of(operand))
    return syntax.Logic(group.is_and, tuple(operands))
