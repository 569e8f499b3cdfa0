"""Choose the indices that answer a condition: a tree of searches.

The parts of an AND without an index are left to the scan. An OR is answered if all its parts are.
An index that answers exactly is preferred, then one that covers more fragments, then the order of
the table's indices. If no index answers a lookup exactly, the results of all that cover as many
fragments are intersected.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeAlias

from lance_core.concurrency.fork_safe import cached_property
from lance_core.dataset.expressions.filters import Filter
from lance_core.dataset.expressions.sql.expression import SqlExpression
from lance_core.dataset.expressions.sql.nodes.evaluate import paths
from lance_core.dataset.expressions.sql.operators import logic
from lance_core.dataset.read.sources.prefilter.conditions import (
    AllOf,
    AnyOf,
    ColumnLookup,
    Condition,
    Conjunct,
    Truth,
)
from lance_core.index.base import Precision
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.expressions.sql.nodes.node import Node
    from lance_core.dataset.read.sources.prefilter.usable_indices import UsableIndex


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The search of one index. ``is_exact``: True if no row of the result must be tested again."""

    index: UsableIndex
    lookup: ColumnLookup
    is_exact: bool

    @property
    def fragments(self) -> BitMap:
        """The ids of the fragments that the index covers."""
        return self.index.fragments


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """The intersection (``is_all``) or union of the results of several searches."""

    parts: tuple[SearchTree, ...]
    is_all: bool
    is_exact: bool

    @property
    def fragments(self) -> BitMap:
        """The fragments that all parts cover."""
        return functools.reduce(operator.and_, [part.fragments for part in self.parts])


SearchTree: TypeAlias = Search | Combination

IndicesOf: TypeAlias = "Callable[[ColumnLookup], Sequence[UsableIndex]]"
"""A function that returns the indices of the column of a lookup."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The searches for a condition.

    ``rest``: the operands of the AND that the scan must test for the rows of the searches.
    ``unanswered``: those of them for which there is no index.
    """

    tree: SearchTree
    rest: tuple[Node, ...]
    unanswered: tuple[Node, ...]

    @cached_property
    def rest_filter(self) -> Filter:
        """The AND of ``rest``, which has at least one operand."""
        node = logic.all_of(self.rest)
        return Filter(paths([node]), SqlExpression("", node))


def choose(parts: Sequence[Conjunct], indices_of: IndicesOf) -> Choice | None:
    """The searches for the AND of ``parts``; None if there is no index for any of them."""
    trees: list[SearchTree] = []
    rest: list[Node] = []
    unanswered: list[Node] = []
    for part in parts:
        tree = _tree(part.condition, indices_of)
        if tree is None:
            unanswered += part.nodes
        else:
            trees.append(tree)
        if tree is None or not tree.is_exact:
            rest += part.nodes
    if not trees:
        return None
    tree = trees[0] if len(trees) == 1 else Combination(tuple(trees), True, not rest)
    return Choice(tree, tuple(rest), tuple(unanswered)) if tree.fragments else None


def _tree(condition: Condition, indices_of: IndicesOf) -> SearchTree | None:
    if isinstance(condition, ColumnLookup):
        return _search(condition, indices_of(condition))
    if not isinstance(condition, AllOf | AnyOf):
        return None
    parts = [_tree(part, indices_of) for part in condition.parts]
    trees = [part for part in parts if part is not None]
    is_all = isinstance(condition, AllOf)
    if not trees or not (is_all or len(trees) == len(parts)):
        return None
    is_exact = len(trees) == len(parts) and all(part.is_exact for part in trees)
    if len(trees) == 1 and len(parts) == 1:
        return trees[0]
    return Combination(tuple(trees), is_all, is_exact)


def _search(lookup: ColumnLookup, indices: Collection[UsableIndex]) -> SearchTree | None:
    """The search of the best index, or of several inexact ones."""
    exact, inexact = [], []
    for index in indices:
        precision = index.precision(lookup)
        if precision is Precision.EXACT and not lookup.implied:
            exact.append(Search(index, lookup, True))
        elif precision is not None and lookup.truth is Truth.TRUE:
            inexact.append(Search(index, lookup, False))
    searches = exact or inexact
    if not searches:
        return None
    if len(searches) == 1:
        return searches[0]
    most = max(len(search.index.fragments) for search in searches)
    best = [search for search in searches if len(search.index.fragments) == most]
    if exact or len(best) == 1:
        return best[0]
    return Combination(tuple(best), True, False)
