"""Schema fields to and from ``lance.file.Field`` messages (``protos/lance/file.proto``).

A file lists the fields of the whole tree depth first; each names its parent by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema import extension
from lance_core.schema.arrow import MAX_DEPTH
from lance_core.schema.field import UNASSIGNED, DictionaryValues, Field
from lance_core.schema.path import format_path

if TYPE_CHECKING:
    from lance_core._pb import file_pb2

_KNOWN = (
    "name",
    "id",
    "parent_id",
    "logical_type",
    "nullable",
    "encoding",
    "dictionary",
    "extension_name",
    "metadata",
    "unenforced_primary_key",
    "unenforced_primary_key_position",
    "unenforced_clustering_key_position",
)


def fields_from_proto(messages: Iterable[file_pb2.Field]) -> tuple[Field, ...]:
    """The tree that a flat list of fields describes.

    Raises `CorruptFileError` naming the field for ids that are negative or used twice, parents that
    do not come earlier, and trees deeper than 100; raises as `Field.storage_type` does for types.
    """
    known: dict[int, file_pb2.Field] = {}
    depths: dict[int, int] = {UNASSIGNED: 0}
    children: dict[int, list[int]] = {UNASSIGNED: []}
    for message in messages:
        _check_place(message, depths)
        known[message.id] = message
        depths[message.id] = depths[message.parent_id] + 1
        children[message.id] = []
        children[message.parent_id].append(message.id)
    return tuple(_built(id_, known, children, ()) for id_ in children[UNASSIGNED])


def _check_place(message: file_pb2.Field, depths: Mapping[int, int]) -> None:
    if message.id < 0:
        raise CorruptFileError(f"negative field id {message.id}", field=message.name)
    if message.id in depths:
        raise CorruptFileError(f"field id {message.id} is used twice", field=message.name)
    if message.parent_id not in depths:
        raise CorruptFileError(
            f"parent {message.parent_id} of field id {message.id} does not come before it",
            field=message.name,
        )
    if depths[message.parent_id] >= MAX_DEPTH:
        raise CorruptFileError(f"nested deeper than {MAX_DEPTH} levels", field=message.name)


def _built(
    id_: int,
    known: Mapping[int, file_pb2.Field],
    children: Mapping[int, Sequence[int]],
    parents: tuple[str, ...],
) -> Field:
    path = (*parents, known[id_].name)
    members = tuple(_built(child, known, children, path) for child in children[id_])
    field = _field_from_proto(known[id_], members)
    try:
        _ = field.storage_type
    except CorruptFileError as error:
        raise CorruptFileError(error.reason, field=format_path(path)) from error
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(f"field {format_path(path)}: {error}") from error
    return field


def _field_from_proto(message: file_pb2.Field, children: tuple[Field, ...]) -> Field:
    metadata = decode_metadata(message.metadata)
    if message.extension_name:
        metadata[extension.NAME_KEY] = message.extension_name
    place = message.dictionary
    return Field(
        name=message.name,
        logical_type=message.logical_type,
        nullable=message.nullable,
        id=message.id,
        parent_id=message.parent_id,
        children=children,
        metadata=metadata,
        encoding=message.encoding,
        dictionary=(
            DictionaryValues(place.offset, place.length) if message.HasField("dictionary") else None
        ),
        unenforced_primary_key=message.unenforced_primary_key,
        unenforced_primary_key_position=message.unenforced_primary_key_position,
        unenforced_clustering_key_position=message.unenforced_clustering_key_position,
        unknown=_unknown_of(message),
    )


def _unknown_of(message: file_pb2.Field) -> bytes:
    rest = type(message)()
    rest.CopyFrom(message)
    for name in _KNOWN:
        rest.ClearField(name)  # type: ignore[arg-type]  # the names are literals, but in a tuple
    return rest.SerializeToString(deterministic=True)


def fields_to_proto(fields: Iterable[Field]) -> list[file_pb2.Field]:
    """All fields of the trees, depth first."""
    return [_field_to_proto(field) for field in _walk(fields)]


def _walk(fields: Iterable[Field]) -> Iterator[Field]:
    for field in fields:
        yield from field.walk()


def _field_to_proto(field: Field) -> file_pb2.Field:
    from lance_core._pb import file_pb2

    message = file_pb2.Field()
    if field.unknown:
        message.ParseFromString(field.unknown)
    message.name = field.name
    message.id = field.id
    message.parent_id = field.parent_id
    message.logical_type = field.logical_type
    message.nullable = field.nullable
    message.encoding = field.encoding  # type: ignore[assignment]  # open enum: any number is kept
    message.extension_name = field.extension_name
    message.unenforced_primary_key = field.unenforced_primary_key
    message.unenforced_primary_key_position = field.unenforced_primary_key_position
    message.unenforced_clustering_key_position = field.unenforced_clustering_key_position
    if field.dictionary is not None:
        message.dictionary.offset, message.dictionary.length = field.dictionary
    for key, value in encode_metadata(field.metadata).items():
        message.metadata[key] = value
    return message


def decode_metadata(metadata: Mapping[str, bytes]) -> dict[str, str]:
    """Stored metadata as text; bytes that are not UTF-8 become surrogate escapes."""
    return {key: value.decode("utf-8", "surrogateescape") for key, value in metadata.items()}


def encode_metadata(metadata: Mapping[str, str]) -> dict[str, bytes]:
    """Metadata as it is stored; the exact reverse of `decode_metadata`."""
    return {key: value.encode("utf-8", "surrogateescape") for key, value in metadata.items()}
