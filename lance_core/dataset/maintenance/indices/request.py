"""What a caller wants to have indexed: the column, the type of index, and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.dataset.read.columns.searched_field import SearchedField, lineage_of, short_path
from lance_core.dataset.read.sources.prefilter.stored_indices import index_type
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.index_config import IndexConfig
from lance_core.error_texts.suggestions import did_you_mean, shortened
from lance_core.errors import (
    ColumnNotFoundError,
    InvalidInputError,
    InvalidTypeError,
    PluginNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.index.base import IndexType
from lance_core.index.spec import IndexTypeSpec, plain_index_type
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins import get_manager
from lance_core.plugins.known_plugins import EXTRA_OF_INDEX_TYPE
from lance_core.schema import Field, Schema

_UNSUPPORTED = frozenset(
    {"fm", "rtree", "minhashlsh", "vector", "scalar"}
    | {f"ivf{kind}" for kind in ("flat", "pq", "sq", "rq", "hnswflat", "hnswpq", "hnswsq")}
)
"""Names of pylance's other types, as `plain_index_type` writes them: no plugin is missing."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexRequest:
    """A checked request: the field after those around it, the type, and its parameters."""

    lineage: tuple[Field, ...]
    spec: IndexTypeSpec
    type: IndexType
    parameters: Mapping[str, Any]

    @property
    def field_id(self) -> int:
        """The id of the indexed field."""
        return self.lineage[-1].id

    @property
    def path(self) -> str:
        """The path of the indexed field, without the elements of lists around it."""
        return short_path(self.lineage)


def index_request(
    snapshot: Snapshot,
    column: str | Sequence[str],
    kind: Any,
    parameters: Mapping[str, Any],
) -> IndexRequest:
    """Check the arguments of a new index; ``kind`` is a string or an `IndexConfig`.

    Raises `ColumnNotFoundError`, `PluginNotFoundError` for a type of an extra that is not
    installed, `UnsupportedFeatureError` for several columns, an unknown type and one that the row
    ids of the table exclude, `InvalidTypeError` for a column that cannot have such
    an index, and `InvalidInputError` for wrong parameters.
    """
    if isinstance(kind, IndexConfig) or _is_config(kind):
        own_parameters = kind.parameters or {}
        if not isinstance(own_parameters, Mapping):
            raise InvalidTypeError(f"the parameters of an index are a dict, got {own_parameters!r}")
        kind, parameters = kind.index_type, {**own_parameters, **parameters}
    if not isinstance(kind, str):
        raise InvalidTypeError(f"index_type must be a string or an IndexConfig, got {kind!r}")
    lineage = indexed_field(snapshot.schema, column)
    spec = spec_named(kind)
    if spec.kinds:
        parameters = {"kind": _kind_of(spec, kind), **parameters}
    type_, field, values = index_type(spec), lineage[-1], SearchedField.of(lineage).type
    path = short_path(lineage)
    for outer in lineage[:-1]:
        if not outer.is_struct and not type_.is_of_list_members:
            raise UnsupportedFeatureError(
                f"column {path!r} is inside of {outer.name!r}, which is not a struct but "
                f"{outer.arrow_type}, for an index of type {spec.label}"
            )
    is_binary = type_.is_of_json and pa.types.is_large_binary(values)
    is_accepted = type_.accepts(values) and (field.is_json or not is_binary)
    if field.is_blob or not is_accepted:
        raise InvalidTypeError(
            f"column {path} cannot have an index of type {spec.label}: its values have the type "
            f"{field.arrow_type}{' and are blobs' if field.is_blob else ''}"
        )
    type_.check_parameters(parameters)
    type_.check_column(values, parameters)
    is_stable = snapshot.manifest.uses_stable_row_ids
    if is_stable and not type_.accepts_stable_row_ids(type_.details_of(parameters)):
        raise UnsupportedFeatureError(
            f"an index of type {spec.label} with these parameters in a table with stable row ids"
        )
    return IndexRequest(lineage, spec, type_, dict(parameters))


def _kind_of(spec: IndexTypeSpec, name: str) -> str:
    """The kind of a type that serves several, as the descriptor writes it."""
    plain = plain_index_type(name)
    return next((kind for kind in spec.kinds if plain_index_type(kind) == plain), name.upper())


def _is_config(kind: object) -> bool:
    """True for pylance's own class, which has the same attributes."""
    return hasattr(kind, "index_type") and hasattr(kind, "parameters")


def spec_named(kind: str) -> IndexTypeSpec:
    """The index type that a user names.

    Raises `PluginNotFoundError` for one of an extra that is not installed, and
    `UnsupportedFeatureError` for an unknown one.
    """
    try:
        return get_manager().index_type(kind)
    except PluginNotFoundError as error:
        if plain_index_type(kind) in _UNSUPPORTED:  # also with the plugin that reads such indices
            raise UnsupportedFeatureError(f"indices of type {kind} are not built yet") from None
        if plain_index_type(kind) in EXTRA_OF_INDEX_TYPE:
            raise
        raise UnsupportedFeatureError(str(error)) from error


def indexed_field(schema: Schema, column: str | Sequence[str]) -> tuple[Field, ...]:
    """The field at the path ``column``, after the structs and lists around it.

    The path may leave out the elements of lists. The case of letters is ignored if no field has
    exactly this path. Raises `ColumnNotFoundError` for no field and for several, and
    `UnsupportedFeatureError` for several columns and for a field in a map.
    """
    if not isinstance(column, str):
        if not isinstance(column, Sequence) or not all(isinstance(name, str) for name in column):
            raise InvalidTypeError(f"column must be a string, got {column!r}")
        if len(column) != 1:
            raise UnsupportedFeatureError("an index has exactly one column")
        column = column[0]
    lineage = _exact(schema, column) or _ignoring_case(schema, column)
    for field in lineage[:-1]:
        if not (field.is_struct or field.is_list):
            raise UnsupportedFeatureError(
                f"column {column!r} is inside of {field.name!r}, which is not a struct or a list "
                f"but {field.arrow_type}"
            )
    return lineage


def _exact(schema: Schema, column: str) -> tuple[Field, ...]:
    try:
        return lineage_of(schema, column)
    except InvalidInputError:  # not a path
        return ()


def _ignoring_case(schema: Schema, column: str) -> tuple[Field, ...]:
    paths = [schema.path_of(field.id) for field in schema.walk()]
    folded = column.casefold()
    matches = [path for path in paths if path.casefold() == folded]
    matches = matches or [field.name for field in schema.fields if field.name.casefold() == folded]
    if len(matches) > 1:
        raise ColumnNotFoundError(f"column {shortened(column)} may be any of {', '.join(matches)}")
    if not matches:
        raise ColumnNotFoundError(
            f"{shortened(column)} not found in schema{did_you_mean(column, paths)}"
        )
    return schema.lineage(matches[0])
