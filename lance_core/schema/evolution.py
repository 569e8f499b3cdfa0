"""Change a table's schema: add, drop, rename and cast fields.

New fields get ids from ``first_id`` on, depth first in the order of the new schema; the ids of all
other fields stay the same, so existing data files remain valid.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from lance_core.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import extension
from lance_core.schema.arrow import check_names
from lance_core.schema.field import BLOB_KEY, UNASSIGNED, Field
from lance_core.schema.path import format_path, unquoted
from lance_core.schema.project import keep_ids
from lance_core.schema.storable import RESERVED_NAMES
from lance_core.schema.tree import Schema


@dataclass(frozen=True, slots=True)
class ExtendedSchema:
    """A schema with new fields.

    ``schema``: all fields. ``new``: the new fields, below the existing fields that contain them.
    """

    schema: Schema
    new: Schema


def add_fields(
    table: Schema, new: pa.Schema, first_id: int, *, into_structs: bool
) -> ExtendedSchema:
    """``table`` with the fields of ``new``, and with the metadata of both.

    A struct or list of structs that exists gets the new members of the same struct in ``new``,
    which files can store only if ``into_structs``. Raises `SchemaMismatchError` for a field that
    exists, and the errors of `Schema.from_arrow`.
    """
    incoming = Schema.from_arrow(new)
    unassigned = tuple(map(_without_ids, incoming.fields))
    fields = _merge(table.fields, unassigned, (), into_structs)
    merged = Schema(_numbered(fields, first_id), {**table.metadata, **incoming.metadata})
    return ExtendedSchema(merged, _pruned(merged, first_id))


def rows_may_lack(new: Schema, first_id: int) -> bool:
    """True if rows without values of the fields with ids from ``first_id`` on are valid."""
    return all(field.nullable for field in new.walk() if field.id >= first_id > field.parent_id)


def _merge(
    table: Sequence[Field], new: Sequence[Field], parents: tuple[str, ...], into_structs: bool
) -> tuple[Field, ...]:
    offered = {field.name: field for field in new}
    merged = []
    for field in table:
        offer = offered.pop(field.name, None)
        merged.append(field if offer is None else _merge_field(field, offer, parents, into_structs))
    return (*merged, *offered.values())


def _merge_field(field: Field, added: Field, parents: tuple[str, ...], into_structs: bool) -> Field:
    path = (*parents, field.name)
    if not _has_members(field) or field.logical_type != added.logical_type:
        raise SchemaMismatchError(f"Column {format_path(path)} already exists in the dataset")
    if not into_structs:
        raise SchemaMismatchError(
            f"Column {format_path(path)} is a struct: files of this version cannot store new "
            "members of a struct (version 2.2 can)"
        )
    if field.is_struct:
        return field.with_children(_merge(field.children, added.children, path, into_structs))
    item = _merge_field(field.children[0], added.children[0], path, into_structs)
    return field.with_children((item,))


def _has_members(field: Field) -> bool:
    """True for structs and for lists of structs."""
    if field.is_list:
        return _has_members(field.children[0])
    return field.is_struct and not field.may_be_packed and not field.extension_name


def _without_ids(field: Field) -> Field:
    children = tuple(map(_without_ids, field.children))
    return replace(field, id=UNASSIGNED, parent_id=UNASSIGNED, children=children)


def _numbered(fields: Sequence[Field], first_id: int) -> tuple[Field, ...]:
    """The fields with ids for all that have none."""
    ids = itertools.count(first_id)

    def numbered(field: Field, parent_id: int) -> Field:
        own = next(ids) if field.id == UNASSIGNED else field.id
        children = tuple(numbered(child, own) for child in field.children)
        if own == field.id and children == field.children:
            return field
        return replace(field, id=own, parent_id=parent_id, children=children)

    return tuple(numbered(field, UNASSIGNED) for field in fields)


def _pruned(schema: Schema, first_id: int) -> Schema:
    """The fields with ids from ``first_id`` on, and their parents."""
    new = frozenset(id_ for id_ in schema.field_ids if id_ >= first_id)
    fields = [keep_ids(field, new) for field in schema.fields]
    return Schema(tuple(field for field in fields if field is not None), schema.metadata)


def drop_fields(schema: Schema, paths: Sequence[str]) -> Schema:
    """``schema`` without the fields at ``paths``; a parent without members left is removed too.

    Raises `InvalidInputError` for an unknown field, and if no field would be left, and
    `UnsupportedFeatureError` for a member of a packed struct, whose members share a column.
    """
    ids = []
    plain_ids = schema.plain_ids
    for path in paths:
        if path in plain_ids:
            ids.append(plain_ids[path])
            continue
        lineage = schema.lineage(path)
        if not lineage:
            raise InvalidInputError(f"Column {path} does not exist in the dataset")
        if any(parent.may_be_packed for parent in lineage[:-1]):
            raise UnsupportedFeatureError(f"column {path} is a member of a packed struct")
        ids.append(lineage[-1].id)
    left = schema.without_ids(ids)
    if schema.num_fields and not left.num_fields:
        raise InvalidInputError("Cannot drop all columns from a dataset")
    return left


@dataclass(frozen=True, slots=True)
class Alteration:
    """A change of the field at ``path``; attributes that are None do not change it."""

    path: str
    name: str | None = None
    nullable: bool | None = None
    data_type: pa.DataType | None = None


@dataclass(frozen=True, slots=True)
class AlteredSchema:
    """A schema after alterations.

    ``old`` and ``new``: the fields that get another type, without other parts of the structs around
    them, before and after. ``checked`` and ``required``: the same for the fields that are not
    nullable any more.
    """

    schema: Schema
    old: Schema
    new: Schema
    checked: Schema
    required: Schema


def alter_fields(
    schema: Schema, alterations: Sequence[Alteration], first_id: int, *, by_column: bool
) -> AlteredSchema:
    """``schema`` after ``alterations``, the last of each attribute and field counts.

    A field with another type gets a new id. ``by_column``: then the whole top-level field around it
    gets new ids, because files of older versions cannot store a part of a struct; so do fields with
    packed structs. Raises `SchemaMismatchError` for an unknown field, a type that the field cannot
    be cast to, or a name that another field has.
    """
    changes: dict[int, Alteration] = {}
    for alteration in alterations:
        field = schema.field_by_path(alteration.path)
        if field is None:
            raise SchemaMismatchError(f'Column "{alteration.path}" does not exist in the dataset')
        if unquoted(alteration.name or "") in RESERVED_NAMES and field.parent_id == UNASSIGNED:
            raise SchemaMismatchError(f"column name {alteration.name!r} is reserved")
        before = changes.get(field.id, Alteration(alteration.path))
        changes[field.id] = Alteration(
            alteration.path,
            before.name if alteration.name is None else unquoted(alteration.name),
            before.nullable if alteration.nullable is None else alteration.nullable,
            before.data_type if alteration.data_type is None else alteration.data_type,
        )
    casts = frozenset(
        id_ for id_, alteration in changes.items() if alteration.data_type is not None
    )
    fields = tuple(_altered(field, changes, ()) for field in schema.fields)
    whole = [top for top in schema.fields if _is_recast(top, casts, by_column)]
    casts = casts.difference(part.id for top in whole for part in top.walk())
    casts = casts.union(top.id for top in whole)
    pairs = zip(fields, schema.fields, strict=True)
    fields = tuple(_without_ids(new) if old in whole else new for new, old in pairs)
    _check_siblings(fields, ())
    after = replace(schema, fields=_numbered(fields, first_id))
    required = [
        id_
        for id_, alteration in changes.items()
        if alteration.nullable is False and _nullable(schema, id_)
    ]
    if required and casts:
        raise SchemaMismatchError(
            "a column cannot be cast in the same call in which a column becomes non-nullable: cast "
            "first, then change the nullability"
        )
    old, checked = _kept(schema, casts), _kept(schema, required)
    return AlteredSchema(after, old, _pruned(after, first_id), checked, _kept(after, required))


def _is_recast(top: Field, casts: frozenset[int], by_column: bool) -> bool:
    """True if a part of ``top`` is cast and all of it must be written again."""
    parts = list(top.walk())
    has_cast = any(part.id in casts for part in parts)
    return has_cast and (by_column or any(part.may_be_packed for part in parts))


def _kept(schema: Schema, ids: Sequence[int] | frozenset[int]) -> Schema:
    fields = [keep_ids(field, frozenset(ids)) for field in schema.fields]
    return replace(schema, fields=tuple(field for field in fields if field is not None))


def _nullable(schema: Schema, field_id: int) -> bool:
    field = schema.field_by_id(field_id)
    return field is not None and field.nullable


def _altered(field: Field, changes: Mapping[int, Alteration], parents: tuple[str, ...]) -> Field:
    path = (*parents, field.name)
    children = tuple(_altered(child, changes, path) for child in field.children)
    after = field if children == field.children else field.with_children(children)
    change = changes.get(field.id)
    if change is None:
        return after
    if change.data_type is not None:
        after = _cast(field, change.data_type, path)
    name = field.name if change.name is None else change.name
    nullable = field.nullable if change.nullable is None else change.nullable
    return replace(after, name=name, nullable=nullable, parent_id=field.parent_id)


def _cast(field: Field, type_: pa.DataType, path: tuple[str, ...]) -> Field:
    """``field`` with another type, without ids; metadata of the old type is removed."""
    stored_type = field.arrow_type
    if not can_cast(stored_type, type_):
        raise SchemaMismatchError(
            f"Cannot cast column {format_path(path)} from {stored_type} to {type_}"
        )
    of_type = (extension.NAME_KEY, extension.PARAMETERS_KEY, BLOB_KEY)
    metadata = {key: value for key, value in field.metadata.items() if key not in of_type}
    (made,) = Schema.from_arrow(pa.schema([pa.field("cast", type_)])).fields
    return replace(_without_ids(made), metadata={**metadata, **made.metadata})


def _check_siblings(fields: Sequence[Field], parents: tuple[str, ...]) -> None:
    try:
        check_names([field.name for field in fields], parents)
    except InvalidInputError as error:
        raise SchemaMismatchError(error.message) from None
    for field in fields:
        if field.is_struct:
            _check_siblings(field.children, (*parents, field.name))
        else:
            for child in field.children:
                _check_siblings(child.children, (*parents, field.name, child.name))


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """True if a column of type ``source`` can become one of type ``target``.

    Casts stay within a kind: integers, floats, text, binary, dates and times, lists. A dictionary
    can be cast as its values can. Values may still not fit, for example 300 into int8.
    """
    if source == target:
        return True
    if pa.types.is_dictionary(source):
        return can_cast(source.value_type, target)
    if pa.types.is_dictionary(target):
        return can_cast(source, target.value_type)
    if is_any_list(source) and is_any_list(target):
        fixed = pa.types.is_fixed_size_list
        if fixed(source) and fixed(target) and source.list_size != target.list_size:
            return False
        return can_cast(source.value_type, target.value_type)
    if pa.types.is_temporal(source) and pa.types.is_temporal(target):
        return _are_times(source, target)
    return any(test(source) and test(target) for test in _KINDS)


def is_any_list(arrow: pa.DataType) -> bool:
    """True for lists of variable or fixed length."""
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(arrow) for test in tests)


def _are_times(source: pa.DataType, target: pa.DataType) -> bool:
    """True if one point in time, or one duration, can be told in both types."""
    if pa.types.is_duration(source) or pa.types.is_duration(target):
        return bool(pa.types.is_duration(source) and pa.types.is_duration(target))
    if pa.types.is_time(source):
        return bool(pa.types.is_time(target))
    return bool(pa.types.is_timestamp(source) or not pa.types.is_time(target))


_KINDS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    lambda arrow: pa.types.is_string(arrow) or pa.types.is_large_string(arrow),
    lambda arrow: pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow),
)
