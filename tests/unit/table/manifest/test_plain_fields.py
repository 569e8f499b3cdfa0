"""Fields that are parsed all at once equal those that protobuf parses one by one."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pyarrow as pa
import pytest

from lance_core._pb import file_pb2, table_pb2
from lance_core.schema import Schema
from lance_core.schema.logical_type import SIMPLE
from lance_core.schema.tree import MIN_PLAIN_FIELDS
from lance_core.table.manifest import manifest
from lance_core.table.manifest import plain_fields as plain_fields_module
from lance_core.table.manifest.plain_fields import plain_fields

COUNT = MIN_PLAIN_FIELDS + 100
TYPES = list(SIMPLE)


def _messages() -> list[file_pb2.Field]:
    return [
        file_pb2.Field(
            name=f"column {number}",
            id=number * 131,
            parent_id=-1,
            logical_type=TYPES[number % len(TYPES)],
            nullable=number % 3 > 0,
            encoding=number % 5,  # type: ignore[arg-type]
        )
        for number in range(COUNT)
    ]


def _serialized(messages: list[file_pb2.Field]) -> list[bytes]:
    return [message.SerializeToString() for message in messages]


def test_all_simple_types_are_read_as_by_protobuf() -> None:
    messages = _messages()
    plain = plain_fields(_serialized(messages))
    assert plain is not None
    lazy, parsed = Schema.from_plain(plain, {"a": "b"}), Schema.from_proto(messages, {"a": b"b"})
    assert lazy.to_arrow().equals(parsed.to_arrow(), check_metadata=True)
    assert lazy.storage_schema() == parsed.storage_schema()
    assert (lazy.names, lazy.field_ids) == (parsed.names, parsed.field_ids)
    assert "fields" not in lazy._derived  # no objects so far
    assert lazy == parsed
    assert lazy.fields is lazy.fields
    assert pickle.loads(pickle.dumps(lazy)) == parsed
    assert [field.to_arrow() for field in lazy.fields] == list(lazy.to_arrow())


def test_an_attribute_that_a_schema_does_not_have() -> None:
    name = "nothing"
    with pytest.raises(AttributeError, match=name):
        getattr(Schema(), name)


def test_ids_in_any_order_are_plain() -> None:
    plain = plain_fields(_serialized(_messages()[::-1]))
    assert plain is not None
    assert plain.ids[0] == (COUNT - 1) * 131


def test_only_the_manifests_of_wide_tables_are_parsed_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plain_fields_module, "plain_fields", lambda messages: called.append(1))
    for count in (MIN_PLAIN_FIELDS - 1, MIN_PLAIN_FIELDS):
        called: list[int] = []
        fields = table_pb2.Manifest(fields=_messages()[:count]).SerializeToString()
        assert manifest._schema.__wrapped__(fields, ()).names[1] == "column 1"
        assert len(called) == (count == MIN_PLAIN_FIELDS)


def _set(name: str, value: object) -> Callable[[file_pb2.Field], None]:
    return lambda message: setattr(message, name, value)


@pytest.mark.parametrize(
    "change",
    [
        _set("name", "größe"),
        _set("name", "n" * 128),
        _set("name", ""),
        _set("id", 0),
        _set("id", -1),
        _set("id", 1 << 30),
        _set("parent_id", 0),
        _set("parent_id", -2),
        _set("logical_type", "struct"),
        _set("logical_type", "int6"),
        _set("logical_type", "int64\0"),
        _set("logical_type", "timestamp:us:Europe/Berlin"),
        _set("logical_type", ""),
        _set("encoding", 200),
        _set("type", 2),
        _set("extension_name", "arrow.json"),
        _set("unenforced_primary_key", True),
        lambda message: message.metadata.update({"a": b"b"}),
        lambda message: message.MergeFromString(b"\xa2\x06\x01x"),
    ],
)
@pytest.mark.parametrize("place", [7, COUNT - 1])
def test_other_fields_are_left_to_protobuf(
    change: Callable[[file_pb2.Field], None], place: int
) -> None:
    messages = _messages()
    change(messages[place])
    assert plain_fields(_serialized(messages)) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x12",
        b"\x12\x7f",
        b"\x12\x01a\x18",
        b"\x12\x01a\x18\xff\xff\xff",
        b"\x12\x01\xff\x18\x01 " + b"\xff" * 9 + b"\x01*\x04null",
        b"\x12\x01a\x18\x01 " + b"\xff" * 9 + b"\x01*\x05null",
        b"\x12\x01a\x18\x01 " + b"\xff" * 9 + b"\x01*\x04null0",
        b"\x12\x01a\x18\x01 " + b"\xff" * 9 + b"\x01*\x04null0\x02",
        b"\x12\x01a\x18\x81\x00 " + b"\xff" * 9 + b"\x01*\x04null",
    ],
)
@pytest.mark.parametrize("place", [0, 7, COUNT])
def test_unusual_or_invalid_messages_are_left_to_protobuf(content: bytes, place: int) -> None:
    serialized = _serialized(_messages())
    serialized.insert(place, content)
    assert plain_fields(serialized) is None


def test_a_plain_field_of_type_null_may_be_null() -> None:
    messages = [
        file_pb2.Field(name=f"c{number}", id=number, parent_id=-1, logical_type="null")
        for number in range(COUNT)
    ]
    plain = plain_fields(_serialized(messages))
    assert plain is not None
    assert plain.to_arrow()[0] == pa.field("c0", pa.null())
