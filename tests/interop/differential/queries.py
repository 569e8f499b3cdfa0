"""Reads that either library does: whole tables, columns, members, single rows, under filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tests.interop.differential.compare import member
from tests.interop.differential.fields import pick
from tests.interop.differential.filters import draw_filter

MAX_TAKEN = 80

Rows = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True)
class Query:
    """``read`` asks a dataset; ``expected`` takes the same out of the rows that it holds.

    Where ``expected`` is None, pylance's answer about its own files is what is right.
    ``loses_metadata``: pylance's answer lacks the metadata of the table's schema.
    """

    text: str
    read: Callable[[Any], Any]
    expected: Rows | None = None
    loses_metadata: bool = False


def draw_queries(chance: np.random.Generator, data: pa.Table) -> Iterator[Query]:
    """The queries of a case; ``data`` has its rows, of which some may be deleted later."""
    yield Query("to_table()", lambda table: table.to_table(), lambda rows: rows)
    names = data.column_names
    for name in names if chance.random() < 0.5 else [pick(chance, names)]:
        yield _columns([name])
    for path in _member_paths(data.schema):
        yield _columns([".".join(path)])
    yield _limited(chance, data)
    for _ in range(3):
        yield _draw_take(chance, data)
    for _ in range(5):
        yield from _draw_filtered(chance, data)


def _member_paths(schema: pa.Schema) -> Iterator[list[str]]:
    """The path of every member of a struct, also of structs in structs."""
    open_ = [[field.name] for field in schema if " " not in field.name]
    while open_:
        path = open_.pop(0)
        type_ = schema.field(path[0]).type
        for name in path[1:]:
            type_ = type_.field(name).type
        if pa.types.is_struct(type_):
            below = [[*path, field.name] for field in type_]
            yield from below
            open_ += below


def chosen(rows: pa.Table, columns: list[str] | None) -> pa.Table:
    """Columns and members of structs out of ``rows``, as a scan of ``columns`` names them."""
    if columns is None:
        return rows
    arrays = []
    for column in columns:
        name, *path = [column] if column in rows.column_names else column.split(".")
        arrays.append(member(rows[name], path))
    return pa.Table.from_arrays(arrays, names=columns)


def narrowed(rows: pa.Table, columns: list[str] | None) -> pa.Table:
    """Columns out of ``rows``, of structs only the named members, as ``take`` gives them."""
    if columns is None:
        return rows
    arrays, names = [], []
    for column in columns:
        name, *path = [column] if column in rows.column_names else column.split(".")
        names.append(name)
        chunks = [_only(chunk, path) for chunk in rows[name].chunks]
        arrays.append(pa.chunked_array(chunks) if chunks else member(rows[name], []))
    return pa.Table.from_arrays(arrays, names=names)


def _only(array: pa.Array, path: list[str]) -> pa.Array:
    """A struct with the member at ``path`` and no others."""
    if not path:
        return array
    number = array.type.get_field_index(path[0])
    below = _only(array.field(number), path[1:])
    field = array.type.field(number).with_type(below.type)
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays([below], fields=[field], mask=mask)


def _columns(columns: list[str]) -> Query:
    return Query(
        f"to_table({columns})",
        lambda table: table.to_table(columns),
        lambda rows: chosen(rows, columns),
    )


def _limited(chance: np.random.Generator, data: pa.Table) -> Query:
    offset = int(chance.integers(0, data.num_rows + 2))
    limit = int(chance.integers(0, data.num_rows + 2))
    size = pick(chance, (None, 1, 7, 1000))
    columns = _draw_columns(chance, data)
    options = {"offset": offset, "limit": limit}
    if size is not None and limit < 50 * size:
        options["batch_size"] = size
    return Query(
        f"to_table({columns}, {options})",
        lambda table: table.to_table(columns, **options),
        lambda rows: chosen(rows.slice(offset, limit), columns),
    )


def _draw_columns(chance: np.random.Generator, data: pa.Table) -> list[str] | None:
    if chance.random() < 0.4:
        return None
    paths = [[name] for name in data.column_names] + list(_member_paths(data.schema))
    return [".".join(pick(chance, paths))]


def _draw_take(chance: np.random.Generator, data: pa.Table) -> Query:
    """Rows by their positions, counted modulo the rows that are left after deletions."""
    count = pick(chance, (1, 2, 5, 5, 50, 500))
    # The places of all of them are drawn, those that are compared row by row are not too many.
    places = chance.integers(0, 1 << 30, count)[:MAX_TAKEN]
    ordered, columns = chance.random() < 0.5, _draw_columns(chance, data)

    def positions(rows: int) -> list[int]:
        found = places % max(rows, 1)
        if not rows:
            return []
        return (np.unique(found) if ordered else found).tolist()  # type: ignore[no-any-return]

    return Query(
        f"take({len(places)} {'sorted' if ordered else 'any'}, {columns})",
        lambda table: table.take(positions(table.count_rows()), columns),
        lambda rows: _taken(narrowed(rows, columns), positions(rows.num_rows)),
        loses_metadata=not ordered,
    )


def _taken(rows: pa.Table, positions: list[int]) -> pa.Table:
    """Row by row: kernels do not take from chunks of all types."""
    parts = [rows.slice(position, 1) for position in positions]
    return pa.concat_tables(parts) if parts else rows.slice(0, 0)


def _draw_filtered(chance: np.random.Generator, data: pa.Table) -> Iterator[Query]:
    condition = draw_filter(chance, data)
    if condition is None:
        return
    columns = ["key"] if "key" in data.column_names and chance.random() < 0.5 else None
    columns = columns or _draw_columns(chance, data)
    options: dict[str, Any] = {"filter": condition}
    if chance.random() < 0.2:
        options |= {"limit": int(chance.integers(0, 50)), "offset": int(chance.integers(0, 20))}
    yield Query(f"to_table({columns}, {options})", lambda table: table.to_table(columns, **options))
    if chance.random() < 0.4:
        yield Query(f"count_rows({condition!r})", lambda table: table.count_rows(condition))
