"""Reads: scans, counts, rows by position and by id, other versions."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from hypothesis import strategies as st

from tests.histories.history import Copy, History
from tests.histories.model import KEY, Place, Row, State
from tests.histories.values import INTS, TEXTS, VECTOR, Draw, Expression, draw_condition, values
from tests.histories.verbs.base import Read, Table
from tests.histories.verbs.references import draw_version

WORDS = ("a", "bb", "it", "ä", "A")
"""Of the texts that rows have, and of their upper case."""


def rows_of(copy: Copy, state: State, columns: list[str] | None = None) -> list[Row]:
    """The rows in the order of a scan, or some of their columns."""
    rows = [state.rows[key] for key in copy.order[state.place]]
    return [{name: row[name] for name in columns or state.names} for row in rows]


def draw_columns(draw: Draw, state: State) -> list[str]:
    return draw(st.lists(st.sampled_from(state.names), min_size=1, max_size=3, unique=True))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Scan(Read):
    """Rows that pass a condition, some of their columns, a range of them."""

    columns: list[str]
    condition: Expression | None
    offset: int
    limit: int | None
    batch_size: int

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        state = history.state
        condition = draw_condition(draw, state) if draw(st.booleans()) else None
        limit = draw(st.none() | st.integers(0, 6))
        offset = draw(st.integers(0, 4)) if draw(st.booleans()) else 0
        return cls(draw_columns(draw, state), condition, offset, limit, draw(st.integers(1, 5)))

    def apply(self, table: Table) -> Any:
        return (
            table.open()
            .to_table(
                self.columns,
                filter=None if self.condition is None else self.condition.sql,
                offset=self.offset or None,
                limit=self.limit,
                batch_size=self.batch_size,
            )
            .to_pylist()
        )

    def expected(self, copy: Copy, state: State) -> Any:
        condition = self.condition
        rows = [row for row in rows_of(copy, state) if condition is None or condition.of(row)]
        stop = None if self.limit is None else self.offset + self.limit
        return [{name: row[name] for name in self.columns} for row in rows[self.offset : stop]]


@dataclass(frozen=True)
class Sort(Read):
    """The first rows in the order of a column, nulls last, and of the key."""

    column: str
    limit: int | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        names = [each.name for each in history.state.schema if each.type in (*INTS, *TEXTS)]
        return cls(draw(st.sampled_from(names)), draw(st.none() | st.integers(1, 4)))

    def apply(self, table: Table) -> Any:
        columns = list(dict.fromkeys([self.column, KEY]))
        scanner = table.open().scanner(columns, order_by=columns, limit=self.limit)
        return scanner.to_table().to_pylist()

    def expected(self, copy: Copy, state: State) -> Any:
        columns = list(dict.fromkeys([self.column, KEY]))
        rows = rows_of(copy, state, columns)

        def place(row: Row) -> Any:
            value = row[self.column]
            value = value.encode() if isinstance(value, str) else value
            return (True, 0, row[KEY]) if value is None else (False, value, row[KEY])

        return sorted(rows, key=place)[: self.limit]


@dataclass(frozen=True)
class Nearest(Read):
    """The rows whose vectors are nearest to a query, of those that pass a condition.

    Of equally near rows, each library may return any.
    """

    column: str
    query: list[float]
    k: int
    condition: Expression | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        names = [each.name for each in history.state.schema if each.type == VECTOR]
        if not names:
            return None
        condition = draw_condition(draw, history.state) if draw(st.booleans()) else None
        query = draw(values(VECTOR, nullable=False))
        return cls(draw(st.sampled_from(names)), query, draw(st.integers(1, 5)), condition)

    def apply(self, table: Table) -> Any:
        nearest = {"column": self.column, "q": self.query, "k": self.k, "metric": "l2"}
        found = table.open().to_table(
            [self.column, "_distance"],
            filter=None if self.condition is None else self.condition.sql,
            nearest=nearest | {"nprobes": 100, "refine_factor": 100},
            prefilter=True,
        )
        distances = found["_distance"].to_pylist()
        assert distances == [self.distance(vector) for vector in found[self.column].to_pylist()]
        return distances

    def distance(self, vector: list[float]) -> float:
        """The squared distance from the query."""
        return sum((a - b) ** 2 for a, b in zip(vector, self.query, strict=True))

    def expected(self, copy: Copy, state: State) -> Any:
        condition = self.condition
        rows = [row for row in state.rows.values() if condition is None or condition.of(row)]
        vectors = [row[self.column] for row in rows if row[self.column] is not None]
        return sorted(map(self.distance, vectors))[: self.k]


@dataclass(frozen=True)
class Search(Read):
    """The keys of the rows whose texts have a word, of those that pass a condition."""

    column: str
    word: str
    condition: Expression | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        names = [each.name for each in history.state.schema if each.type in TEXTS]
        if not names:
            return None
        condition = draw_condition(draw, history.state) if draw(st.booleans()) else None
        return cls(draw(st.sampled_from(names)), draw(st.sampled_from(WORDS)), condition)

    def apply(self, table: Table) -> Any:
        query = import_module(f"{table.library.__name__}.query").MatchQuery(self.word, self.column)
        with warnings.catch_warnings(action="ignore"):  # of a column without an index
            found = table.open().to_table(
                [KEY, "_score"],
                filter=None if self.condition is None else self.condition.sql,
                full_text_query=query,
                prefilter=True,
            )
        return sorted(found[KEY].to_pylist())

    def expected(self, copy: Copy, state: State) -> Any:
        condition = self.condition
        rows = [row for row in state.rows.values() if condition is None or condition.of(row)]
        return sorted(
            row[KEY] for row in rows if self.word in re.findall(r"[^\W_]+", row[self.column] or "")
        )


@dataclass(frozen=True)
class Count(Read):
    """How many rows pass a condition."""

    condition: Expression | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        return cls(draw_condition(draw, history.state) if draw(st.booleans()) else None)

    def apply(self, table: Table) -> Any:
        return table.open().count_rows(self.condition and self.condition.sql)

    def expected(self, copy: Copy, state: State) -> Any:
        condition = self.condition
        return len(state.rows if condition is None else state.where(condition.of))


@dataclass(frozen=True)
class Take(Read):
    """Rows by their positions."""

    positions: list[int]
    columns: list[str] | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        state = history.state
        if not state.rows:
            return None
        positions = draw(st.lists(st.integers(0, len(state.rows) - 1), min_size=1, max_size=4))
        return cls(positions, draw(st.none() | st.just(draw_columns(draw, state))))

    def apply(self, table: Table) -> Any:
        return table.open().take(self.positions, self.columns).to_pylist()

    def expected(self, copy: Copy, state: State) -> Any:
        rows = rows_of(copy, state, self.columns)
        return [rows[position] for position in self.positions]


@dataclass(frozen=True)
class TakeById(Read):
    """Rows by their ids, found by reading them."""

    places: list[int]

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        count = len(history.state.rows)
        if not count:
            return None
        return cls(draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4, unique=True)))

    def apply(self, table: Table) -> Any:
        dataset = table.open()
        ids = dataset.to_table([], with_row_id=True)["_rowid"].to_pylist()
        return dataset._take_rows([ids[place] for place in self.places]).to_pylist()

    def expected(self, copy: Copy, state: State) -> Any:
        rows = rows_of(copy, state)
        return [rows[place] for place in self.places]


@dataclass(frozen=True)
class Travel(Read):
    """Another version, by number or by tag."""

    place: Place
    tag: str | None
    state: State

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        if history.tags and draw(st.booleans()):
            tag = draw(st.sampled_from(sorted(history.tags)))
            place = history.tags[tag]
        else:
            tag, place = None, (history.state.branch, draw_version(draw, history))
        return cls(place, tag, history.states[place])

    def apply(self, table: Table) -> Any:
        dataset = table.open()
        dataset = dataset.checkout_version(self.place if self.tag is None else self.tag)
        return dataset.version, dataset.to_table().to_pylist()

    def expected(self, copy: Copy, state: State) -> Any:
        return self.state.version, rows_of(copy, self.state)


@dataclass(frozen=True)
class Changes(Read):
    """The keys of rows that were inserted, and of those that were updated, since a version."""

    since: int

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        return cls(draw_version(draw, history)) if history.stable else None

    def apply(self, table: Table) -> Any:
        delta = table.open().delta(self.since)
        readers = delta.get_inserted_rows(), delta.get_updated_rows()
        return [sorted(reader.read_all()[KEY].to_pylist()) for reader in readers]

    def expected(self, copy: Copy, state: State) -> Any:
        new = sorted(key for key, version in state.created.items() if version > self.since)
        changed = {key for key, version in state.updated.items() if version > self.since}
        return [new, sorted(changed.difference(new))]


VERBS = (Scan, Sort, Nearest, Search, Count, Take, TakeById, Travel, Changes)
