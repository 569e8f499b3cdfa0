"""Verbs that change columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
from hypothesis import strategies as st

from tests.histories.history import History
from tests.histories.model import KEY, RefusedError, State
from tests.histories.values import (
    GROUPS,
    INTS,
    TYPES,
    Draw,
    Expression,
    draw_expression,
    values,
)
from tests.histories.verbs.base import Change, Table


@dataclass(frozen=True)
class AddExpression(Change):
    """A column that SQL computes."""

    name: str
    type: pa.DataType
    value: Expression

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        group = draw(st.sampled_from(GROUPS))
        value = draw_expression(draw, history.state, group)
        type_ = draw(st.sampled_from(group))
        words = {"int32": "int", "int64": "bigint", "float": "float", "double": "double"}
        word = words.get(str(type_), "boolean" if pa.types.is_boolean(type_) else "string")
        if word == "string":
            type_ = pa.string()
        cast = Expression(f"CAST({value.sql} AS {word})", value.of, value.nullable)
        return cls(history.fresh_name(), type_, cast)

    def apply(self, table: Table) -> Any:
        return table.open().add_columns({self.name: self.value.sql})

    def change(self, state: State) -> None:
        state.add_field(pa.field(self.name, self.type, self.value.nullable), self.value.of)
        state.touch()


@dataclass(frozen=True)
class AddNulls(Change):
    """A column without values."""

    field: pa.Field

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        types = [each for each in TYPES if history.file_version != "2.0" or not _nested(each)]
        return cls(pa.field(history.fresh_name(), draw(st.sampled_from(types))))

    def apply(self, table: Table) -> Any:
        return table.open().add_columns(self.field)

    def change(self, state: State) -> None:
        state.add_field(self.field, lambda row: None)


def _nested(type_: pa.DataType) -> bool:
    return bool(pa.types.is_nested(type_))


@dataclass(frozen=True)
class AddFunction(Change):
    """A column that a Python function computes of batches."""

    name: str
    source: str
    batch_size: int

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        integers = [each.name for each in history.state.schema if each.type in INTS]
        return cls(history.fresh_name(), draw(st.sampled_from(integers)), draw(st.integers(1, 4)))

    def apply(self, table: Table) -> Any:
        schema = pa.schema({self.name: pa.int64()})

        @table.library.batch_udf(output_schema=schema)  # type: ignore[untyped-decorator]
        def double(batch: pa.RecordBatch) -> pa.RecordBatch:
            found = [None if each is None else 2 * each for each in batch[0].to_pylist()]
            return pa.RecordBatch.from_arrays([pa.array(found, pa.int64())], schema=schema)

        return table.open().add_columns(
            double, read_columns=[self.source], batch_size=self.batch_size
        )

    def change(self, state: State) -> None:
        state.add_field(
            pa.field(self.name, pa.int64()),
            lambda row: None if row[self.source] is None else 2 * row[self.source],
        )
        state.touch()


@dataclass(frozen=True)
class AddRows(Change):
    """A column of which the values are given, or one too few."""

    data: pa.Table
    is_complete: bool

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        rows, is_complete = len(history.state.rows), draw(st.integers(0, 4)) > 0
        if not rows:
            return None
        value = draw(st.none() | st.integers(0, 9))
        column = pa.array([value] * (rows - (not is_complete)), pa.int64())
        return cls(pa.table({history.fresh_name(): column}), is_complete)

    def apply(self, table: Table) -> Any:
        return table.open().add_columns(self.data.to_reader(max_chunksize=2))

    def change(self, state: State) -> None:
        if not self.is_complete:
            raise RefusedError("a value is missing")
        value = self.data[0][0].as_py()
        state.add_field(self.data.schema.field(0), lambda row: value)
        state.touch()


@dataclass(frozen=True)
class AlterMember(Change):
    """A member of a struct gets another name, or goes."""

    column: str
    member: str
    name: str | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        structs = [each for each in history.state.schema if pa.types.is_struct(each.type)]
        if not structs:
            return None
        column = draw(st.sampled_from(structs))
        members = [each.name for each in column.type]
        goes = len(members) > 1 and draw(st.booleans())
        name = None if goes else history.fresh_name()
        return cls(column.name, draw(st.sampled_from(members)), name)

    def apply(self, table: Table) -> Any:
        path = f"{self.column}.{self.member}"
        if self.name is None:
            return table.open().drop_columns([path])
        return table.open().alter_columns({"path": path, "name": self.name})

    def change(self, state: State) -> None:
        old = state.schema.field(self.column)
        names = {each.name: each.name for each in old.type} | {self.member: self.name}
        members = [(names[each.name], each) for each in old.type]
        type_ = pa.struct([each.with_name(name) for name, each in members if name])

        def value(struct: dict[str, Any] | None) -> dict[str, Any] | None:
            if struct is None:
                return None
            return {new: struct[name] for name, new in names.items() if new}

        state.replace_field(self.column, old.with_type(type_), value)


@dataclass(frozen=True)
class Alter(Change):
    """Another name, type, or nulls or none."""

    path: str
    name: str | None
    type: pa.DataType | None
    nullable: bool | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        state = history.state
        if not state.values:
            return None
        path = draw(st.sampled_from(state.values))
        group = {pa.int32(): pa.int64(), pa.string(): pa.large_string()}
        group |= {new: old for old, new in group.items()}
        kind = draw(st.integers(0, 2))
        other = group.get(state.schema.field(path).type)
        if kind == 1 and other is not None:
            return cls(path, None, other, None)
        if kind == 2:
            return cls(path, None, None, draw(st.booleans()))
        return cls(path, history.fresh_name(), None, None)

    def apply(self, table: Table) -> Any:
        given = {"name": self.name, "data_type": self.type, "nullable": self.nullable}
        named = {key: value for key, value in given.items() if value is not None}
        return table.open().alter_columns({"path": self.path, **named})

    def change(self, state: State) -> None:
        old = state.schema.field(self.path)
        nullable = old.nullable if self.nullable is None else self.nullable
        if not nullable and state.has_nulls(self.path):
            raise RefusedError("there are nulls")
        if self.type is not None and self.path == state.indexed:
            raise RefusedError("there is an index")
        new = pa.field(self.name or self.path, self.type or old.type, nullable, old.metadata)
        state.replace_field(self.path, new, lambda value: value)
        if self.type is not None:
            state.touch()


@dataclass(frozen=True)
class Drop(Change):
    """Columns go."""

    names: list[str]

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        names = history.state.values
        if not names:
            return None
        chosen = st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)
        return cls(draw(chosen))

    def apply(self, table: Table) -> Any:
        return table.open().drop_columns(self.names)

    def change(self, state: State) -> None:
        state.drop_fields(self.names)


@dataclass(frozen=True)
class Merge(Change):
    """Columns of another table, by key."""

    data: pa.Table
    right_on: str | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        state, name = history.state, history.fresh_name()
        keys = draw(st.sets(st.sampled_from([-1, *state.rows]), max_size=4))
        type_ = draw(st.sampled_from([pa.int32(), pa.string()]))
        column = [draw(values(type_)) for _ in keys]
        right_on = draw(st.sampled_from([None, "other"]))
        schema = pa.schema({right_on or KEY: pa.int64(), name: type_})
        return cls(pa.table([pa.array(sorted(keys)), column], schema), right_on)

    def apply(self, table: Table) -> Any:
        return table.open().merge(self.data, KEY, self.right_on)

    def change(self, state: State) -> None:
        if not self.data.num_rows:
            raise RefusedError("no rows to join")
        found = dict(zip(*(column.to_pylist() for column in self.data.columns), strict=True))
        state.add_field(self.data.schema.field(1), lambda row: found.get(row[KEY]))
        state.touch()


VERBS = (AddExpression, AddNulls, AddFunction, AddRows, Alter, AlterMember, Drop, Merge)
