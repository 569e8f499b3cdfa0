"""Which physical column belongs to which field (``DataFile.fields`` and ``column_indices``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lance_core.schema import Field


def column_fields(fields: Sequence[Field]) -> Iterator[Field]:
    """The fields that have a column in a 2.0 file, in the order of the columns.

    Lists and structs have one too, before those of their children; packed structs and blobs are one
    column as a whole.
    """
    for field in fields:
        yield field
        if not field.is_packed_struct and not field.is_blob:
            yield from column_fields(field.children)


def column_of(fields: Sequence[Field]) -> dict[int, int]:
    """Field id to column of a 2.0 file whose schema has exactly these top-level fields."""
    return {field.id: index for index, field in enumerate(column_fields(fields))}
