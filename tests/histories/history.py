"""All versions of a table, its tags and branches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.histories.model import KEY, Place, Row, State


@dataclass
class History:
    """Every version so far; ``state`` is the one that the next step begins with."""

    file_version: str
    stable: bool
    state: State
    states: dict[Place, State] = field(default_factory=dict)
    tags: dict[str, Place] = field(default_factory=dict)
    counter: Iterator[int] = field(default_factory=itertools.count)

    def keyed(self, rows: list[Row]) -> list[Row]:
        """The rows with keys that no other row has or had."""
        return [{KEY: next(self.counter), **row} for row in rows]

    def fresh_name(self) -> str:
        """The name of a column that never was."""
        return f"c{next(self.counter)}"

    def newest(self, branch: str | None) -> State:
        return max(
            (state for (name, _), state in self.states.items() if name == branch),
            key=lambda state: state.version,
        )


@dataclass
class Copy:
    """A copy of the table: the keys in the order of a scan and the row ids, by version."""

    uri: str
    order: dict[Place, list[int]] = field(default_factory=dict)
    ids: dict[Place, dict[int, int]] = field(default_factory=dict)

    def expected_order(self, state: State) -> list[int]:
        """The keys of a version; those of moved and added rows last."""
        before = [] if state.origin is None else self.order[state.origin]
        new = set(state.added)
        kept = [key for key in before if key in state.rows and key not in new]
        moved = [key for key in kept if key in state.moved]
        return [key for key in kept if key not in state.moved] + moved + state.added
