"""Convert schema fields to and from ``lance.file.Field`` messages (``protos/file.proto``).

A file lists all fields of the tree depth first; each message has the id of its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema import extension
from lance_core.schema.field import BLOB_KEY, MAX_NESTING, UNASSIGNED, DictionaryValues, Field
from lance_core.schema.path import format_path
from lance_core.schema.unknown_fields import has_unknown_fields, without_known

if TYPE_CHECKING:
    from lance_core._pb import file_pb2


_CARRIED = frozenset({"type", "unenforced_clustering_key"})
"""Fields of the message without an attribute in `Field`; they are kept in ``Field.unknown``."""


def fields_from_proto(messages: Iterable[file_pb2.Field]) -> tuple[Field, ...]:
    """Build the field tree from a flat list of messages.

    Raises `CorruptFileError` naming the field for an id that is negative or used twice, a parent
    that is not earlier in the list, or a tree deeper than 100 levels, and the errors of
    `Field.storage_type` for types.
    """
    messages = list(messages)
    if _are_leaves(messages):
        return tuple([_checked(_field_from_proto(message, ()), ()) for message in messages])
    top = _Node(None, 0, [])
    nodes = {UNASSIGNED: top}
    last = top
    for message in messages:
        parent = _parent_of(message, nodes, last)
        if parent.depth >= MAX_NESTING:
            raise CorruptFileError(
                f"the schema is nested deeper than {MAX_NESTING} levels", field=message.name
            )
        node = _Node(message, parent.depth + 1, [])
        parent.children.append(node)
        if message.id != UNASSIGNED:
            last = nodes[message.id] = node
    return tuple(_built(node, ()) for node in top.children)


def _are_leaves(messages: Sequence[file_pb2.Field]) -> bool:
    """True if all fields are valid top-level fields without children; wide tables have these."""
    ids = [message.id for message in messages]
    are_valid = len(set(ids)) == len(ids) and min(ids, default=0) >= 0
    return are_valid and {message.parent_id for message in messages} <= {UNASSIGNED}


class _Node(NamedTuple):
    message: file_pb2.Field | None
    depth: int
    children: list[_Node]


def _parent_of(message: file_pb2.Field, nodes: Mapping[int, _Node], last: _Node) -> _Node:
    owner = last.message
    if message.id == UNASSIGNED and owner is not None and BLOB_KEY in owner.metadata:
        # In files of version 2.2, the members of a blob's description have no id and no parent id.
        return last
    if message.id < 0:
        raise CorruptFileError(f"a field has the negative id {message.id}", field=message.name)
    if message.id in nodes:
        raise CorruptFileError(f"field id {message.id} is used twice", field=message.name)
    if message.parent_id not in nodes:
        raise CorruptFileError(
            f"parent {message.parent_id} of field id {message.id} does not come before it",
            field=message.name,
        )
    return nodes[message.parent_id]


def _built(node: _Node, parents: tuple[str, ...]) -> Field:
    assert node.message is not None
    path = (*parents, node.message.name)
    members = tuple(_built(child, path) for child in node.children)
    return _checked(_field_from_proto(node.message, members), parents)


def _checked(field: Field, parents: tuple[str, ...]) -> Field:
    """``field`` below ``parents``; raises the errors of its type with the path of the field."""
    try:
        _ = field.storage_type
    except CorruptFileError as error:
        path = format_path((*parents, field.name))
        raise CorruptFileError(error.reason, field=path) from error
    except UnsupportedFeatureError as error:
        path = format_path((*parents, field.name))
        raise UnsupportedFeatureError(f"field {path}: {error}") from error
    return field


def _field_from_proto(message: file_pb2.Field, children: tuple[Field, ...]) -> Field:
    metadata = decode_metadata(message.metadata) if message.metadata else {}
    if message.extension_name:
        metadata[extension.NAME_KEY] = message.extension_name
    stored = message.dictionary
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
            DictionaryValues(stored.offset, stored.length)
            if message.HasField("dictionary")
            else None
        ),
        unenforced_primary_key=message.unenforced_primary_key,
        unenforced_primary_key_position=message.unenforced_primary_key_position,
        unenforced_clustering_key_position=message.unenforced_clustering_key_position,
        unknown=_rest_of(message),
    )


def _rest_of(message: file_pb2.Field) -> bytes:
    """The serialized fields that `Field` has no attribute for; empty for nearly all messages."""
    if message.type or message.unenforced_clustering_key or has_unknown_fields(message):
        return without_known(message, _CARRIED)
    return b""


def fields_to_proto(fields: Iterable[Field]) -> list[file_pb2.Field]:
    """Messages of all fields of the trees, depth first."""
    return [_field_to_proto(field) for field in _walk(fields)]


def serialized_fields(data: bytes) -> list[file_pb2.Field]:
    """The messages that are field 1 of the serialized message ``data``."""
    from lance_core._pb import file_pb2

    return file_pb2.Schema.FromString(data).fields[:]


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
    """Metadata in stored form; the exact reverse of `decode_metadata`."""
    return {key: value.encode("utf-8", "surrogateescape") for key, value in metadata.items()}
