"""Verbs that add, change and delete rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
from hypothesis import strategies as st

from tests.histories.history import History
from tests.histories.model import KEY, RefusedError, Row, State
from tests.histories.values import (
    Draw,
    Expression,
    draw_condition,
    draw_expression,
    draw_merge_condition,
    draw_rows,
    group_of,
)
from tests.histories.verbs.base import Change, Table
from tests.histories.verbs.references import draw_version
from tests.histories.verbs.versions import Restore


@dataclass(frozen=True)
class Append(Change):
    """Rows with all columns, or some of them."""

    rows: list[Row]
    data: pa.Table
    max_rows_per_file: int

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        state = history.state
        rows = draw_rows(draw, history, state.schema)
        rows, data = _draw_part(draw, history, rows)
        return cls(rows, data, draw(st.integers(2, 5)))

    def apply(self, table: Table) -> None:
        table.library.write_dataset(
            self.data, table.open(), mode="append", max_rows_per_file=self.max_rows_per_file
        )

    def change(self, state: State) -> None:
        if not set(state.non_null).issubset(self.data.column_names):
            raise RefusedError("a column without nulls is left out")
        state.add(self.rows)


def _draw_part(draw: Draw, history: History, rows: list[Row]) -> tuple[list[Row], pa.Table]:
    """The rows, sometimes without some columns, and as a table."""
    names = history.state.names
    if draw(st.integers(0, 3)) == 0:
        gone = draw(st.sets(st.sampled_from([KEY, *_omissible(history)]))) - {KEY}
        names = [name for name in names if name not in gone]
        rows = [{name: row[name] for name in names} for row in rows]
    return rows, history.state.table(rows, names)


def _omissible(history: History) -> list[str]:
    """Columns that a sub-schema may lack. Files of 2.0 store no null structs."""
    return [
        each.name
        for each in history.state.schema
        if each.nullable and (history.file_version != "2.0" or not pa.types.is_struct(each.type))
    ]


@dataclass(frozen=True)
class LateAppend(Change):
    """Rows, through a handle of an earlier version."""

    rows: list[Row]
    data: pa.Table
    version: int
    since: tuple[type | None, ...]
    """What made the versions since then."""

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        state = history.state
        number = draw_version(draw, history)
        since = [
            other
            for (branch, version), other in history.states.items()
            if branch == state.branch and version > number
        ]
        opened = history.states[state.branch, number]
        if any(other.schema != opened.schema for other in since):
            return None
        rows = draw_rows(draw, history, state.schema)
        return cls(rows, state.table(rows), number, tuple(other.made_by for other in since))

    def apply(self, table: Table) -> None:
        table.open(self.version).insert(self.data)

    def change(self, state: State) -> None:
        if any(verb in self.since for verb in (Overwrite, Restore)):
            raise RefusedError("the table was replaced since then")
        state.add(self.rows)


@dataclass(frozen=True)
class Overwrite(Change):
    """Other rows, sometimes with another schema."""

    rows: list[Row]
    data: pa.Table

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        schema = history.state.schema.remove_metadata()
        if len(schema) > 2 and draw(st.booleans()):
            schema = schema.remove(len(schema) - 1)
        rows = draw_rows(draw, history, schema)
        return cls(rows, pa.Table.from_pylist(rows, schema))

    def apply(self, table: Table) -> None:
        table.library.write_dataset(self.data, table.open(), mode="overwrite")

    def change(self, state: State) -> None:
        state.clear()
        state.schema = self.data.schema
        state.add(self.rows)


@dataclass(frozen=True)
class Delete(Change):
    """Rows that a condition names."""

    condition: Expression

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        return cls(draw_condition(draw, history.state))

    def apply(self, table: Table) -> Any:
        return table.open().delete(self.condition.sql)

    def change(self, state: State) -> None:
        state.remove(state.where(self.condition.of))


@dataclass(frozen=True)
class Update(Change):
    """Columns get other values where a condition holds."""

    updates: dict[str, Expression]
    condition: Expression | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        state = history.state
        possible = [each.name for each in state.schema if each.name != KEY and group_of(each.type)]
        if not possible:
            return None
        names = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=2, unique=True))
        updates = {}
        for name in names:
            group = group_of(state.schema.field(name).type)
            assert group is not None
            # With pylance an expression sees what another one of the same update has set, or not.
            others = set(names) - {name}
            updates[name] = draw_expression(draw, state, group, others)
        return cls(updates, (draw(st.booleans()) and draw_condition(draw, state)) or None)

    def apply(self, table: Table) -> Any:
        updates = {name: value.sql for name, value in self.updates.items()}
        where = None if self.condition is None else self.condition.sql
        return table.open().update(updates, where)

    def change(self, state: State) -> None:
        condition = self.condition
        keys = list(state.rows) if condition is None else state.where(condition.of)
        state.move(
            {
                key: {name: value.of(state.rows[key]) for name, value in self.updates.items()}
                for key in keys
            }
        )


@dataclass(frozen=True)
class MergeInsert(Change):
    """Rows of a source meet those of the table by their keys."""

    rows: list[Row]
    data: pa.Table
    matched: str | None
    """`update`, `fail`, `delete`, or a condition of an update."""
    condition: Expression | None
    inserts: bool
    by_source: Expression | bool
    """Whether to delete rows that the source does not have, or which of them."""

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        state = history.state
        rows = draw_rows(draw, history, state.schema, most=4)
        known = list(state.rows)
        taken = draw(st.lists(st.sampled_from(known), max_size=3, unique=True)) if known else []
        rows = [
            {**row, KEY: taken[place]} if place < len(taken) else row
            for place, row in enumerate(rows)
        ]
        matched = draw(
            st.sampled_from(["update", "update", "update", "if", "fail", "delete", None])
        )
        condition = draw_merge_condition(draw, state, "target.") if matched == "if" else None
        inserts = matched is None or draw(st.booleans())
        by_source: Expression | bool = False
        # Of rows to delete only, pylance fails to read the columns that it does not need.
        if (matched != "delete" or inserts) and draw(st.integers(0, 3)) == 0:
            by_source = draw(st.booleans()) or draw_merge_condition(draw, state)
        rows, data = _draw_part(draw, history, rows)
        return cls(rows, data, matched, condition, inserts, by_source)

    def apply(self, table: Table) -> Any:
        merge = table.open().merge_insert(KEY)
        if self.matched == "update":
            merge.when_matched_update_all()
        elif self.matched == "fail":
            merge.when_matched_fail()
        elif self.matched == "delete":
            merge.when_matched_delete()
        elif self.condition is not None:
            merge.when_matched_update_all(self.condition.sql)
        if self.inserts:
            merge.when_not_matched_insert_all()
        if isinstance(self.by_source, Expression):
            merge.when_not_matched_by_source_delete(self.by_source.sql)
        elif self.by_source:
            merge.when_not_matched_by_source_delete()
        return merge.execute(self.data)

    def change(self, state: State) -> None:
        state.unordered = True
        known = set(state.rows)
        matches = {row[KEY]: row for row in self.rows if row[KEY] in known}
        if self.matched == "fail" and matches:
            raise RefusedError("a row is there")
        if self.by_source:
            others = known - matches.keys()
            if isinstance(self.by_source, Expression):
                others &= set(state.where(self.by_source.of))
            state.remove(others)
        if self.matched == "delete":
            state.remove(matches)
        elif self.matched == "update":
            state.move(matches)
        elif self.condition is not None:
            passing = set(state.where(self.condition.of))
            state.move({key: row for key, row in matches.items() if key in passing})
        if self.inserts:
            state.add(row for row in self.rows if row[KEY] not in known)


VERBS = (Append, LateAppend, Overwrite, Delete, Update, MergeInsert)
