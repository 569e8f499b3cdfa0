"""Projections: the columns that a read returns, and the stored fields that they need.

A column is a stored field (``"a"``), a field inside structs (``"s.x"``, returned as a flat column
of that name), a meta column, or an SQL expression (``{"b": "a + 1"}``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.blobs import type as _registers  # noqa: F401 (the Arrow type of blobs)
from lance_core.dataset.expressions.filters import Value, as_value
from lance_core.dataset.read.columns.prune_struct_fields import prune_fields
from lance_core.dataset.values.to_stored import check_text
from lance_core.encodings.arrow.zero_column_tables import zero_column_table
from lance_core.error_texts.suggestions import no_field
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, Schema, binary_json, format_path, wrap_chunks
from lance_core.schema.blobs.views import result_field
from lance_core.schema.project import project_lineages

if TYPE_CHECKING:
    from lance_core.schema.json.loops import JsonLoops

ROW_ID = "_rowid"
ROW_ADDRESS = "_rowaddr"
ROW_OFFSET = "_rowoffset"
CREATED_AT_VERSION = "_row_created_at_version"
LAST_UPDATED_AT_VERSION = "_row_last_updated_at_version"
META_COLUMNS = (ROW_ID, ROW_ADDRESS, ROW_OFFSET, CREATED_AT_VERSION, LAST_UPDATED_AT_VERSION)

META_FIELDS = {name: pa.field(name, pa.uint64()) for name in META_COLUMNS}

Columns = Sequence[str] | Mapping[str, str] | None
"""The type of the argument ``columns``; None means all stored columns."""

MAX_CACHED = 64
"""Maximum projections that each schema caches, and maximum results of `required`."""

MAX_CACHED_COLUMNS = 16
"""Maximum columns of a cached projection; one of many columns takes memory."""

_Required: TypeAlias = tuple[tuple[Field, ...], tuple[str, ...]]
"""Stored fields and meta columns."""


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the result.

    ``source`` is the path of a stored field (names from the top level down), or an expression.
    ``json``: the stored field if it contains JSON, which becomes text here.
    """

    field: pa.Field
    source: tuple[str, ...] | Value
    json: Field | None = None

    def of(self, data: pa.Table, loops: JsonLoops | None = None) -> pa.ChunkedArray:
        """The column, selected or computed from ``data``; ``loops``: those of plugins for JSON."""
        if isinstance(self.source, Value):
            return self.source.evaluate(data)
        column = _member(data.column(self.source[0]), self.source[1:])
        if self.json is None:
            return prune_fields(column, self.field.type)
        pruned = prune_fields(column, binary_json(self.json).arrow_type)
        return wrap_chunks(pruned, self.json, loops)


def _member(column: pa.ChunkedArray, path: tuple[str, ...]) -> pa.ChunkedArray:
    """The child at ``path`` in a struct column."""
    if not path:
        return column
    import pyarrow.compute as pc

    return pc.struct_field(column, list(path))


@dataclass(frozen=True, slots=True)
class Projection:
    """The columns of a read, in order.

    ``fields``: the top-level stored fields to decode, pruned to the required children, in table
    order. ``meta``: the meta columns to compute. ``schema``: the schema of the result, with the
    table's metadata. ``is_plain``: True if each output is a column with the name of the result.
    """

    outputs: tuple[Output, ...]
    fields: tuple[Field, ...]
    meta: tuple[str, ...]
    schema: pa.Schema
    is_plain: bool = False

    @classmethod
    def of(cls, table: Schema, outputs: Sequence[Output]) -> Projection:
        """The projection that returns ``outputs`` of a table."""
        needed = [path for output in outputs for path in _paths(output)]
        fields, meta = required(table, needed)
        arrow = pa.schema([output.field for output in outputs], table.arrow_metadata())
        is_plain = all(
            output.json is None and output.source == (output.field.name,) for output in outputs
        )
        return cls(tuple(outputs), fields, meta, arrow, is_plain)

    def apply(self, data: pa.Table, loops: JsonLoops | None = None) -> pa.Table:
        """The columns of the result, from decoded ``data``; for ``loops`` see `Output.of`."""
        if not self.outputs:
            return zero_column_table(data.num_rows, self.schema)
        if self.is_plain:
            same = data.replace_schema_metadata(self.schema.metadata)
            if same.schema.equals(self.schema, check_metadata=True):
                return same
        return pa.Table.from_arrays([o.of(data, loops) for o in self.outputs], schema=self.schema)


def select_pruned(schema: Schema, columns: Columns) -> Projection:
    """The projection of a take, where ``"s.x"`` is the struct ``s`` with only its child ``x``.

    Repeated columns are returned once, repeated meta columns as often as named, as in pylance.
    Otherwise the same as `select`.
    """
    if columns is None or isinstance(columns, Mapping):
        return select(schema, columns)
    names = list(_checked(columns))
    lineages = {name: schema.lineage(name) for name in names if not _is_meta(schema, name)}
    for name, lineage in lineages.items():
        if not lineage:
            raise InvalidInputError(no_field(name, [*schema.names, *META_COLUMNS]))
    returned = project_lineages(list(lineages.values()))
    outputs = {name: Output(field, (name,)) for name, field in META_FIELDS.items()}
    outputs |= {field.name: stored_field_output(field, (field.name,)) for field in returned}
    tops: list[str] = []
    for name in names:
        top = lineages[name][0].name if name in lineages else name
        if name not in lineages or top not in tops:
            tops.append(top)
    pruned = replace(
        schema, fields=project_lineages([_readable(lineage) for lineage in lineages.values()])
    )
    return Projection.of(pruned, [outputs[top] for top in tops])


def select(schema: Schema, columns: Columns, extra: Sequence[str] = ()) -> Projection:
    """The projection for ``columns``, followed by the meta columns in ``extra`` not among them.

    Raises `InvalidInputError` for an unknown or repeated column.
    """
    if columns is None and not extra:
        return schema.derived("all_columns", lambda: Projection.of(schema, _all(schema)))
    if isinstance(columns, list) and len(columns) <= MAX_CACHED_COLUMNS:
        names = _checked(columns)
        known: LruCache[object, Projection] = schema.derived("projections", _new_cache)
        key = tuple(names), tuple(extra)
        return known.get(key, lambda: _selected(schema, names, extra))
    return _selected(schema, columns, extra)


def _selected(schema: Schema, columns: Columns, extra: Sequence[str]) -> Projection:
    if columns is None:
        outputs = _all(schema)
    elif isinstance(columns, Mapping):
        outputs = [_computed(schema, name, text) for name, text in columns.items()]
    else:
        outputs = [stored_column(schema, name) for name in _checked(columns)]
    names = {output.field.name for output in outputs}
    outputs += [Output(META_FIELDS[name], (name,)) for name in extra if name not in names]
    _refuse_repeats([output.field.name for output in outputs])
    return Projection.of(schema, outputs)


def _all(schema: Schema) -> list[Output]:
    _refuse_repeats(schema.names)
    return [stored_field_output(field, (field.name,)) for field in schema.fields]


def required(schema: Schema, paths: Sequence[tuple[str, ...]]) -> _Required:
    """The pruned stored fields and the meta columns that ``paths`` need; JSON as it is stored."""
    if len(paths) > MAX_CACHED_COLUMNS:
        return _required(schema, paths)
    known: LruCache[object, _Required] = schema.derived("required", _new_cache)
    return known.get(tuple(paths), lambda: _required(schema, paths))


def _new_cache() -> LruCache[Any, Any]:
    return LruCache(MAX_CACHED)


def _required(schema: Schema, paths: Sequence[tuple[str, ...]]) -> _Required:
    own = schema.tops
    stored = [_readable(_lineage(own[path[0]], path)) for path in paths if path[0] in own]
    meta = tuple(dict.fromkeys(path[0] for path in paths if path[0] not in own))
    return tuple(map(binary_json, project_lineages(stored))), meta


def _readable(lineage: Sequence[Field]) -> Sequence[Field]:
    """``lineage`` up to a packed struct, which is read as a whole."""
    for depth, field in enumerate(lineage):
        if field.may_be_packed:
            return lineage[: depth + 1]
    return lineage


def _lineage(top: Field, names: tuple[str, ...]) -> tuple[Field, ...]:
    """The fields from ``top`` along the path ``names``; raises `InvalidInputError` if unknown."""
    lineage = [top]
    for name in names[1:]:
        child = lineage[-1].child(name)
        if child is None:
            raise InvalidInputError(f"field {format_path(names)!r} does not exist")
        lineage.append(child)
    return tuple(lineage)


def _paths(output: Output) -> Sequence[tuple[str, ...]]:
    return output.source.columns if isinstance(output.source, Value) else [output.source]


def _checked(columns: Sequence[str]) -> Sequence[str]:
    if isinstance(columns, str):
        raise InvalidInputError(f"columns must be a list of names, got the string {columns!r}")
    for name in columns:
        if not isinstance(name, str):
            raise InvalidInputError(f"column names are strings, got {name!r}")
    return columns


def _is_meta(schema: Schema, name: str) -> bool:
    return name in META_FIELDS and name not in schema.tops


def stored_column(schema: Schema, name: str) -> Output:
    """The stored or meta column ``name``; raises `InvalidInputError` for an unknown one."""
    if _is_meta(schema, name):
        return Output(META_FIELDS[name], (name,))
    fields = schema.lineage(name)
    if not fields:
        raise InvalidInputError(no_field(name, [*schema.names, *META_COLUMNS]))
    for field in fields[:-1]:
        if not field.is_struct:
            raise InvalidInputError(
                f"column {name!r} is inside of {field.name!r}, which is not a struct "
                f"but {field.arrow_type}"
            )
    return _member_output(name, fields)


def _member_output(name: str, fields: Sequence[Field]) -> Output:
    """The last of ``fields`` as a flat column ``name``; the others are the structs around it."""
    leaf = stored_field_output(fields[-1], tuple(field.name for field in fields))
    nullable = any(field.nullable for field in fields)
    return replace(leaf, field=leaf.field.with_name(name).with_nullable(nullable))


def stored_field_output(field: Field, path: tuple[str, ...]) -> Output:
    """The column of a stored field."""
    json = field if any(part.is_json for part in field.walk()) else None
    return Output(result_field(field), path, json)


def _computed(schema: Schema, name: str, text: str) -> Output:
    if not isinstance(name, str):
        raise InvalidInputError(f"column names are strings, got {name!r}")
    check_text(name)
    value = as_value(text, queryable(schema))
    if value.path is not None:
        return _renamed(schema, name, value.path)
    return Output(value.field(name), value)


def _renamed(schema: Schema, name: str, path: tuple[str, ...]) -> Output:
    """The existing column at ``path``, renamed to ``name``."""
    own = schema.tops
    if path[0] not in own:
        return Output(META_FIELDS[path[0]].with_name(name), path)
    return _member_output(name, _lineage(own[path[0]], path))


def queryable(schema: Schema) -> pa.Schema:
    """The schema of the columns that expressions may name: stored columns and meta columns.

    JSON is binary JSON in expressions.
    """
    return schema.derived("queryable", lambda: _queryable(schema))


def _queryable(schema: Schema) -> pa.Schema:
    arrow = pa.schema([binary_json(field).to_arrow() for field in schema.fields])
    for name, field in META_FIELDS.items():
        if name not in arrow.names:
            arrow = arrow.append(field)
    return arrow


def _refuse_repeats(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidInputError(f"column {name!r} is asked for twice")
        seen.add(name)
