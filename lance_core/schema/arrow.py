"""Convert Arrow fields to schema fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.schema import extension, logical_type
from lance_core.schema.field import MAX_NESTING, UNASSIGNED, DictionaryValues, Field
from lance_core.schema.path import format_path

_PRIMARY_KEY = "lance-schema:unenforced-primary-key"
_PRIMARY_KEY_POSITION = "lance-schema:unenforced-primary-key:position"
_CLUSTERING_KEY_POSITION = "lance-schema:unenforced-clustering-key:position"
_MAX_UINT32 = (1 << 32) - 1


def fields_from_arrow(fields: Sequence[pa.Field], ids: Iterator[int]) -> tuple[Field, ...]:
    """Convert top-level Arrow fields; ids are taken from ``ids`` depth first.

    Raises `UnsupportedFeatureError` for types that the format does not have and `InvalidInputError`
    for invalid names, metadata or keys; both name the path of the field.
    """
    check_names([field.name for field in fields], ())
    made = tuple(_field(field, ids, UNASSIGNED, ()) for field in fields)
    for field in made:
        _check_primary_key(field, ())
    return made


def _field(field: pa.Field, ids: Iterator[int], parent_id: int, parents: tuple[str, ...]) -> Field:
    path = (*parents, field.name)
    if len(path) > MAX_NESTING:
        raise UnsupportedFeatureError(
            f"field {format_path(path[:5])}… is nested deeper than {MAX_NESTING} levels"
        )
    text = _plain_type(field)
    if text is not None:
        return Field(
            name=field.name,
            logical_type=text,
            nullable=field.nullable,
            id=next(ids),
            parent_id=parent_id,
            encoding=logical_type.encoding_of(text),
        )
    metadata = _decoded(field, path)
    storage = extension.storage_of(field.type)
    text = _logical_type(storage, metadata, path)
    if text == logical_type.JSON:
        metadata[extension.NAME_KEY] = extension.LANCE_JSON
    own_id = next(ids)
    members = _child_fields(storage)
    if pa.types.is_struct(storage):
        check_names([member.name for member in members], path)
    position = _position(metadata, _PRIMARY_KEY_POSITION)
    return Field(
        name=field.name,
        logical_type=text,
        nullable=field.nullable,
        id=own_id,
        parent_id=parent_id,
        children=tuple(_field(member, ids, own_id, path) for member in members),
        metadata=metadata,
        encoding=logical_type.encoding_of(text),
        # An empty message, not an absent one: pylance 0.19 cannot open the table without it.
        dictionary=DictionaryValues(0, 0) if pa.types.is_dictionary(storage) else None,
        unenforced_primary_key=position > 0 or _is_true(metadata.get(_PRIMARY_KEY, "")),
        unenforced_primary_key_position=position,
        unenforced_clustering_key_position=_position(metadata, _CLUSTERING_KEY_POSITION),
    )


def _plain_type(field: pa.Field) -> str | None:
    """The logical type of a field without metadata, children and dictionary; else None."""
    if field.metadata or extension.is_extension(field.type) or pa.types.is_dictionary(field.type):
        return None
    return logical_type.logical_type_of(field.type)


def _child_fields(storage: pa.DataType) -> list[pa.Field]:
    """The Arrow child fields of a type that become child fields of the schema field."""
    if pa.types.is_struct(storage):
        return [storage.field(i) for i in range(storage.num_fields)]
    if pa.types.is_list(storage) or pa.types.is_large_list(storage):
        return [storage.value_field]
    if pa.types.is_map(storage):
        members = pa.struct([storage.key_field, storage.item_field])
        return [pa.field("entries", members, nullable=False)]
    if pa.types.is_fixed_size_list(storage) and _has_struct_items(storage):
        return [storage.value_field]
    return []


def _logical_type(storage: pa.DataType, metadata: dict[str, str], path: tuple[str, ...]) -> str:
    marked = metadata.get(extension.NAME_KEY, "")
    if marked == extension.ARROW_JSON and (
        pa.types.is_string(storage) or pa.types.is_large_string(storage)
    ):
        return logical_type.JSON
    if marked == extension.LANCE_JSON and pa.types.is_large_binary(storage):
        return logical_type.JSON
    if pa.types.is_struct(storage):
        return "struct"
    if pa.types.is_list(storage) or pa.types.is_large_list(storage):
        name = "list" if pa.types.is_list(storage) else "large_list"
        return f"{name}.struct" if _has_struct_items(storage) else name
    if pa.types.is_map(storage):
        if storage.keys_sorted:
            raise _unsupported(path, storage, "maps with sorted keys are not in the format")
        return "map"
    if pa.types.is_fixed_size_list(storage):
        return _fixed_size_list(storage, path, allow_struct=True)
    text = logical_type.logical_type_of(storage)
    if text is None:
        raise _unsupported(path, storage, "the format has no such type")
    return text


def _has_struct_items(storage: pa.DataType) -> bool:
    return bool(pa.types.is_struct(extension.storage_of(storage.value_type)))


def _fixed_size_list(
    storage: pa.DataType,
    path: tuple[str, ...],
    allow_struct: bool,
    depth: int = logical_type.MAX_FIXED_SIZE_LIST_NESTING,
) -> str:
    item, dimension = storage.value_field, storage.list_size
    if depth < 1:
        most = logical_type.MAX_FIXED_SIZE_LIST_NESTING
        raise _unsupported(path, storage, f"more than {most} lists of fixed size within each other")
    if dimension < 1:
        raise _unsupported(path, storage, "the dimension must be at least 1")
    marks = extension.metadata_of(item)
    plain = extension.storage_of(item.type)
    if pa.types.is_struct(plain) and allow_struct:
        text: str | None = "struct"
    elif pa.types.is_fixed_size_list(plain):
        text = _fixed_size_list(plain, path, allow_struct=False, depth=depth - 1)
    elif marks.get(
        extension.NAME_KEY.encode()
    ) == logical_type.BFLOAT16.encode() and plain == pa.binary(2):
        text = logical_type.BFLOAT16
    else:
        text = logical_type.logical_type_of(plain)
    if text is None:
        raise _unsupported(path, storage, "the format has no fixed size list of such items")
    return f"fixed_size_list:{text}:{dimension}"


def check_names(names: Sequence[str], parents: tuple[str, ...]) -> None:
    """Raise `InvalidInputError` for an empty or duplicate name, or a top-level name with a dot."""
    seen: set[str] = set()
    for name in names:
        where = f" in {format_path(parents)}" if parents else ""
        if not name:
            raise InvalidInputError(f"a field{where} has an empty name")
        if name in seen:
            raise InvalidInputError(f"duplicate field name {name!r}{where}")
        if not parents and "." in name:
            raise InvalidInputError(
                f"top-level column name {name!r} contains a dot; dots separate nested fields"
            )
        seen.add(name)


def _check_primary_key(field: Field, ancestors: tuple[Field, ...]) -> None:
    """Raise `InvalidInputError` unless each primary key column is a non-null leaf.

    Its ancestors must be structs that are not nullable.
    """
    lineage = (*ancestors, field)
    if field.unenforced_primary_key:
        where = f"primary key column {format_path([part.name for part in lineage])}"
        if field.children:
            raise InvalidInputError(f"{where} cannot be nested")
        if any(part.is_list or part.is_map for part in ancestors):
            raise InvalidInputError(f"{where} must not be in a list or map")
        if any(part.nullable for part in lineage):
            raise InvalidInputError(f"{where} and its parents must not be nullable")
    for child in field.children:
        _check_primary_key(child, lineage)


def _decoded(field: pa.Field, path: tuple[str, ...]) -> dict[str, str]:
    try:
        return {
            key.decode("utf-8"): value.decode("utf-8")
            for key, value in extension.metadata_of(field).items()
        }
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"metadata of field {format_path(path)} is not valid UTF-8: {error}"
        ) from error


def _is_true(text: str) -> bool:
    return text.lower() in {"true", "1", "yes"}


def _position(metadata: dict[str, str], key: str) -> int:
    """The key position in metadata; 0 if it is missing or not a number from 1 to 2**32 - 1."""
    text = metadata.get(key, "")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else 0
    return number if number <= _MAX_UINT32 else 0


def _unsupported(
    path: tuple[str, ...], storage: pa.DataType, reason: str
) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"field {format_path(path)}: type {str(storage)[:200]} cannot be stored: {reason}"
    )
