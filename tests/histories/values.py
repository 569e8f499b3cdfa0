"""Random values, rows, conditions and expressions of a table's columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.histories.history import History
from tests.histories.model import KEY, Row, State

INTS = (pa.int32(), pa.int64())
TEXTS = (pa.string(), pa.large_string())
FLOATS = (pa.float32(), pa.float64())
LIST = pa.list_(pa.int16())
VECTOR = pa.list_(pa.float32(), 8)
STRUCT = pa.struct({"x": pa.float64(), "y": pa.string()})
JSON = pa.json_()
JSON_OF_ONE = '{"a":1}'
"""The only JSON document here whose field ``a`` is a number."""
TYPES = (pa.int32(), pa.int64(), pa.string(), pa.float64(), pa.bool_(), LIST, STRUCT, JSON)

Draw = Callable[[st.SearchStrategy[Any]], Any]


@functools.cache
def values(type_: pa.DataType, nullable: bool = True) -> st.SearchStrategy[Any]:
    """Values of a type, few different ones."""
    made: st.SearchStrategy[Any]
    if pa.types.is_integer(type_):
        made = st.integers(-3, 3)
    elif type_ in TEXTS:
        made = st.sampled_from(["", "a", "bb", "it's", "ä€"])
    elif pa.types.is_floating(type_):
        made = st.sampled_from([0.5, -1.0, 2.0])
    elif pa.types.is_boolean(type_):
        made = st.booleans()
    elif type_ == JSON:
        made = st.sampled_from([JSON_OF_ONE, "[1,2]", '"text"'])
    elif pa.types.is_struct(type_):
        made = st.fixed_dictionaries({each.name: values(each.type) for each in type_})
    elif pa.types.is_fixed_size_list(type_):
        numbers = st.lists(values(type_.value_type, nullable=False), min_size=2, max_size=2)
        made = numbers.map(lambda two: two * (type_.list_size // 2))
    else:
        made = st.lists(values(type_.value_type), max_size=2)
    return st.none() | made if nullable else made


@functools.lru_cache(maxsize=256)
def _rows(schema: pa.Schema, most: int, structs: bool) -> st.SearchStrategy[list[Row]]:
    columns = {}
    for each in schema:
        nullable = each.nullable and (structs or not pa.types.is_struct(each.type))
        columns[each.name] = values(each.type, nullable)
    del columns[KEY]
    return st.lists(st.fixed_dictionaries(columns), max_size=most)


def draw_rows(draw: Draw, history: History, schema: pa.Schema, most: int = 5) -> list[Row]:
    """Rows with new keys. Files of 2.0 store no null structs."""
    rows = draw(_rows(schema.remove_metadata(), most, history.file_version != "2.0"))
    return history.keyed(rows)


@dataclass(frozen=True)
class Expression:
    """SQL, and what it gives for a row."""

    sql: str
    of: Callable[[Row], Any] = field(repr=False)
    nullable: bool = True


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return f"`{name}`" if not name.isidentifier() or name != name.lower() else name


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def draw_merge_condition(draw: Draw, state: State, prefix: str = "") -> Expression:
    """A condition of a merge. pylance cannot read JSON columns for it."""
    fields = [each for each in state.schema if each.type != JSON]
    return draw_condition(draw, replace(state, schema=pa.schema(fields)), prefix)


def draw_condition(draw: Draw, state: State, prefix: str = "") -> Expression:
    """A condition on one or two columns; ``prefix`` stands before their names."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return Expression("true", lambda row: True)
    if kind <= 3:
        keys = draw(st.lists(st.sampled_from([-1, *state.rows]), min_size=1, max_size=3))
        listed = ", ".join(map(str, keys))
        return Expression(f"{prefix}{KEY} IN ({listed})", lambda row: row[KEY] in keys)
    first = _comparison(draw, state, prefix)
    if kind <= 7:
        return first
    second = _comparison(draw, state, prefix)
    if kind == 8:
        return Expression(f"{first.sql} AND {second.sql}", lambda row: _and(first, second, row))
    return Expression(f"{first.sql} OR {second.sql}", lambda row: _or(first, second, row))


def _and(first: Expression, second: Expression, row: Row) -> bool:
    return bool(first.of(row)) and bool(second.of(row))


def _or(first: Expression, second: Expression, row: Row) -> bool:
    return bool(first.of(row)) or bool(second.of(row))


def _comparison(draw: Draw, state: State, prefix: str) -> Expression:
    comparable = (*INTS, *TEXTS, *FLOATS, pa.bool_())
    name = draw(st.sampled_from(state.names))
    column, type_ = prefix + quoted(name), state.schema.field(name).type
    kind = draw(st.integers(0, 3))
    if kind > 1 and type_ == JSON:
        return Expression(f"json_get_int({column}, 'a') = 1", lambda row: row[name] == JSON_OF_ONE)
    if kind == 0 or type_ not in comparable:
        word, is_null = draw(st.sampled_from([("IS NULL", True), ("IS NOT NULL", False)]))
        return Expression(f"{column} {word}", lambda row: (row[name] is None) is is_null)
    value = draw(values(type_, nullable=False))
    if kind == 1 or pa.types.is_boolean(type_):
        return Expression(f"{column} = {_literal(value)}", lambda row: row[name] == value)
    if kind == 2:
        return Expression(
            f"{column} >= {_literal(value)}",
            lambda row: None if row[name] is None else row[name] >= value,
        )
    return Expression(
        f"NOT ({column} < {_literal(value)})",
        lambda row: None if row[name] is None else not row[name] < value,
    )


def draw_expression(
    draw: Draw, state: State, types: tuple[pa.DataType, ...], unread: Collection[str] = ()
) -> Expression:
    """An expression of one of the types, made of literals and columns that are not ``unread``."""
    sources = [each.name for each in state.schema if each.type in types and each.name not in unread]
    name = draw(st.none() | st.sampled_from(sources)) if sources else None
    if name is None:
        value = draw(values(types[0], nullable=False))
        return Expression(_literal(value), lambda row: value, nullable=False)
    column, nullable = quoted(name), types == TEXTS or state.schema.field(name).nullable
    kinds: dict[tuple[pa.DataType, ...], tuple[str, Callable[[Any], Any]]] = {
        TEXTS: (f"upper({column})", lambda value: value.upper()),
        FLOATS: (f"{column} + 0.5", lambda value: value + 0.5),
        INTS: (f"{column} + 1", lambda value: value + 1),
    }
    sql, function = kinds.get(types, (f"NOT {column}", lambda value: not value))
    if draw(st.booleans()):
        sql, function, nullable = column, lambda value: value, state.schema.field(name).nullable

    def of(row: Row) -> Any:
        return None if row[name] is None else function(row[name])

    return Expression(sql, of, nullable)


GROUPS = (INTS, TEXTS, FLOATS, (pa.bool_(),))
"""Types of which expressions are made."""


def group_of(type_: pa.DataType) -> tuple[pa.DataType, ...] | None:
    return next((group for group in GROUPS if type_ in group), None)
