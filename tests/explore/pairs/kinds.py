"""The kinds of operations, each with its meaning beside what would be stored for it.

`Prepared.effect` is the meaning: what becomes of the rows and settings of whatever version the
operation lands on. `Prepared.operation` is what the API, or another writer, would commit for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lance_core.table.transactions.operations import Operation, OperationKind
from tests.explore.pairs.base import Base, Desk
from tests.explore.pairs.footprint import Footprint
from tests.explore.pairs.model import Effect, Model


@dataclass(frozen=True, slots=True)
class Target:
    """What an operation is aimed at.

    ``fragment``, with ``partner`` if it takes two; rows at ``offsets`` of it; a ``column``; ``key``
    is the name of what is named, ``number`` tells the versions and ids that the writers take.
    """

    fragment: int
    partner: int
    offsets: tuple[int, ...]
    column: int
    key: str
    number: int


@dataclass(frozen=True, slots=True)
class Site:
    """A writer about to prepare an operation."""

    base: Base
    desk: Desk
    target: Target


@dataclass(frozen=True, slots=True)
class Parts:
    """An operation, its meaning, and what it touches.

    ``fits``: whether it can be applied to a version at all. ``all_updated``: all rows of the
    fragments it touches count as updated. ``is_blind``: it replaces whatever is there.
    """

    operation: Operation
    effect: Effect
    footprint: Footprint
    fits: Callable[[Model], bool] = lambda _: True
    all_updated: bool = False
    is_blind: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of operation: what the conflict table calls it, and how one is prepared."""

    name: str
    kind: OperationKind
    prepare: Callable[[Site], Parts]
