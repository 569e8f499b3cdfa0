"""`Clause`: a part of a query of a column, and whether documents must, should or must not match."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from lance_core_text.queries.words import TextMatch, Word

ALL_ROWS = 1 << 62
"""The number of rows of queries without a limit."""


class Role(enum.IntEnum):
    """What a match of a clause means. The compiled loops have the same numbers."""

    MUST = 0
    SHOULD = 1
    MUST_NOT = 2


RoleCounts: TypeAlias = tuple[int, int, int]
"""How many parts of a query must match, should match, and must not."""


def role_counts(roles: Sequence[Role]) -> RoleCounts:
    """The parts with each role."""
    return roles.count(Role.MUST), roles.count(Role.SHOULD), roles.count(Role.MUST_NOT)


class Clause(NamedTuple):
    """What is searched, and its words.

    A query has first the clauses that must match, then those that should, then the others.
    """

    match: TextMatch
    role: Role
    words: tuple[Word, ...]

    @property
    def is_phrase(self) -> bool:
        """True if positions decide."""
        return self.match.slop is not None and len(self.words) > 1

    @property
    def needs_all(self) -> bool:
        """True if documents match that have all words."""
        return self.match.needs_all or self.match.slop is not None
