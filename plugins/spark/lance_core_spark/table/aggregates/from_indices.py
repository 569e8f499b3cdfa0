"""Aggregates of a whole table that the manifest and its indices answer: at most one row is read.

The manifest has the number of rows, a BTREE index the number of nulls and the bounds of its values.
Values at the bounds may be deleted, so a bound only tells which value the index is asked for: if it
has no such row, the tasks compute the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

import lance_core
from lance_core.engines import as_filter
from lance_core.errors import LanceError
from lance_core_spark.table.aggregates.states import State
from lance_core_spark.types.convert import convert

ORDERED = "BTree"
"""The label of an index whose statistics have the bounds of its values."""

_HAVE_TEXTS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_date32,
    pa.types.is_timestamp,
)
"""Types whose bounds can be read from the text that the statistics have."""


def states_from_indices(
    dataset: lance_core.LanceDataset,
    states: Sequence[State],
    texts: Sequence[str],
    scanned: pa.Schema,
) -> list[pa.Array] | None:
    """Arrays of one value for ``states`` of all rows, None if one of them needs the rows.

    ``texts``: the SQL of the columns that the states are of; ``scanned``: their types.
    """
    values = []
    for state in states:
        value = _state(dataset, state, texts, scanned)
        if value is None:
            return None
        values.append(value)
    return values


def _state(
    dataset: lance_core.LanceDataset, state: State, texts: Sequence[str], scanned: pa.Schema
) -> pa.Array | None:
    if state.column is None:
        return pa.array([dataset.count_rows()], state.type)
    field = _column(dataset, texts[state.column])
    if field is None or state.function == "sum":
        return None
    if state.function == "count":
        return _count(dataset, field, state.type)
    bound = _bound(dataset, field, state.function)
    if bound is None:
        return None
    value = convert(bound, scanned.types[state.column], (field.name,))
    return state.finish(state.prepare(value))


def _column(dataset: lance_core.LanceDataset, text: str) -> pa.Field | None:
    """The column that ``text`` names, None if it is another expression."""
    name = text[1:-1].replace("``", "`") if text.startswith("`") else text
    schema = dataset.schema
    if name not in schema.names:
        return None
    try:
        named = as_filter(f"{text} IS NULL", schema).columns
    except LanceError:
        return None
    return schema.field(name) if list(named) == [(name,)] else None


def _count(
    dataset: lance_core.LanceDataset, field: pa.Field, type_: pa.DataType
) -> pa.Array | None:
    """The number of values that are not null."""
    if not field.nullable:
        return pa.array([dataset.count_rows()], type_)
    if _segments(dataset, field.name) is None:
        return None
    return pa.array([dataset.count_rows(pc.field(field.name).is_valid())], type_)


def _bound(dataset: lance_core.LanceDataset, field: pa.Field, function: str) -> pa.Array | None:
    """An array of the least or the greatest value; ``function``: ``min`` or ``max``."""
    segments = _segments(dataset, field.name)
    if segments is None or not any(check(field.type) for check in _HAVE_TEXTS):
        return None
    bounds = [_scalar(str(segment.get(function)), field.type) for segment in segments]
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds):
        return None
    bound = pc.min_max(pa.array([each.as_py() for each in known], field.type))[function]
    column = pc.field(field.name)
    at_bound = column <= bound if function == "min" else column >= bound
    rows = dataset.to_table([field.name], filter=at_bound, limit=1)
    return rows.column(0).combine_chunks() if rows.num_rows else None


def _segments(dataset: lance_core.LanceDataset, name: str) -> Sequence[Mapping[str, object]] | None:
    """The statistics of the segments of an ordered index of all rows; None without one."""
    for index in dataset.describe_indices():
        if index.field_names == [name] and index.index_type == ORDERED:
            statistics = dataset.stats.index_stats(index.name)
            if not statistics["num_unindexed_rows"]:
                segments: Sequence[Mapping[str, object]] = statistics["segments"]
                return segments
    return None


def _scalar(text: str, type_: pa.DataType) -> pa.Scalar | None:
    """The value of a text of statistics; None for nulls, NaN, and texts of other values."""
    if text in ("NULL", "NaN") and not pa.types.is_string(type_):
        return None
    try:
        if pa.types.is_timestamp(type_):
            return pa.scalar(int(text), pa.int64()).cast(type_)
        return pa.scalar(text).cast(type_)
    except (pa.ArrowException, ValueError):
        return None
