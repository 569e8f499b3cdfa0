"""The physical columns of a top-level field, as a copy of their pages needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_core.hookspecs.file_versions import Field, FileVersion


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """A physical column of ``field_id``.

    ``is_header``: a column of 2.0 for a struct, whose only page has no data. ``scale``: rows of the
    column for each row of the top-level field; None for the items of lists in 2.0 files.
    ``has_struct_of_lists``: a column of later versions in a list that is in a struct.
    """

    field_id: int
    is_header: bool
    scale: int | None
    has_struct_of_lists: bool


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """The columns of ``field``, which are ``first_column`` and the following ones."""

    field: Field
    first_column: int
    columns: tuple[ColumnLayout, ...]

    @property
    def last_column(self) -> int:
        """The column after the last one."""
        return self.first_column + len(self.columns)

    @property
    def data_columns(self) -> list[int]:
        """The columns that have data, counted from the first column of the field."""
        return [number for number, column in enumerate(self.columns) if not column.is_header]

    @property
    def has_structs_of_lists(self) -> bool:
        """True if a column is in a list that is in a struct."""
        return any(column.has_struct_of_lists for column in self.columns)


def field_layouts(fields: Sequence[Field], version: FileVersion) -> tuple[FieldLayout, ...]:
    """The layouts of the top-level ``fields`` in a file of ``version`` that has only these."""
    layouts, first = [], 0
    for field in fields:
        columns = tuple(_columns(field, version, 1, ()))
        layouts.append(FieldLayout(field, first, columns))
        first += len(columns)
    return tuple(layouts)


def _columns(
    field: Field, version: FileVersion, scale: int | None, outer: tuple[Field, ...]
) -> Iterator[ColumnLayout]:
    """The columns of ``field``, which is in the fields ``outer``."""
    has_parts = bool(field.children) and not field.is_packed_struct and not field.is_blob
    parents = version.parents_have_columns
    if not has_parts or parents:
        is_header = has_parts and field.is_struct
        yield ColumnLayout(field.id, is_header, scale, not parents and _has_struct_of_lists(outer))
    if not has_parts:
        return
    below = scale
    if field.is_list and parents:
        below = None
    elif pa.types.is_fixed_size_list(field.storage_type) and scale is not None:
        below = scale * field.storage_type.list_size
    for child in field.children:
        yield from _columns(child, version, below, (*outer, field))


def _has_struct_of_lists(path: Sequence[Field]) -> bool:
    """True if a struct on the ``path``, outermost field first, has a list below it."""
    structs = [number for number, field in enumerate(path) if field.is_struct]
    return bool(structs) and not all(field.is_struct for field in path[structs[0] :])
