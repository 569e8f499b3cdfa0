"""Operations are written back as they were read, whatever their messages hold."""

from __future__ import annotations

import random

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core._pb import file_pb2, transaction_pb2
from lance_core.errors import CorruptFileError
from lance_core.table.transactions.operations import UnknownOperation, UpdateConfig, UpdateMap
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case

UNKNOWN = bytes.fromhex("fa07036e6577")
OPERATIONS = [
    field.name
    for field in transaction_pb2.Transaction.DESCRIPTOR.oneofs_by_name["operation"].fields
]
OLDER = ("upsert_values", "delete_keys", "schema_metadata", "field_metadata")
KNOWN_ENUMS = {"file_type": 2, "update_mode": 2}
"""How many numbers have a meaning."""


def _number(chance: random.Random, field: FieldDescriptor) -> int | float | bool:
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return chance.random() < 0.5
    if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        return chance.random()
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return chance.randrange(KNOWN_ENUMS[field.name])
    signed = field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64)
    wide = field.cpp_type in (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64)
    value = chance.choice((0, 1, 7, (1 << (62 if wide else 31)) - 1))
    return -value if signed and chance.random() < 0.5 else value


def _scalar(chance: random.Random, field: FieldDescriptor) -> object:
    if field.cpp_type != FieldDescriptor.CPPTYPE_STRING:
        return _number(chance, field)
    text = chance.choice(("", "a", "ü", "a/b"))
    return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text


def _schema(chance: random.Random) -> list[file_pb2.Field]:
    return [
        file_pb2.Field(
            name=f"f{number}",
            id=number,
            parent_id=-1,
            logical_type="int64",
            nullable=chance.random() < 0.5,
            metadata={"k": b"\xff"} if chance.random() < 0.5 else {},
        )
        for number in range(chance.randrange(4))
    ]


def _fill_field(chance: random.Random, message: Message, field: FieldDescriptor) -> None:
    target = getattr(message, field.name)
    if field.message_type is file_pb2.Field.DESCRIPTOR:
        target.extend(_schema(chance))
    elif field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields
        for _ in range(chance.randrange(1, 3)):
            name = _scalar(chance, key)
            if value.message_type is None:
                target[name] = _scalar(chance, value)
            else:
                fill(chance, target[name])
    elif field.is_repeated:
        for _ in range(chance.randrange(1, 4)):
            if field.message_type is None:
                target.append(_scalar(chance, field))
            else:
                fill(chance, target.add())
    elif field.message_type is None:
        setattr(message, field.name, _scalar(chance, field))
    else:
        target.SetInParent()
        fill(chance, target)


def fill(chance: random.Random, message: Message) -> None:
    """Give a message random content of a form that means something."""
    name = message.DESCRIPTOR.name
    if name == "UUID":
        message.MergeFromString(b"\x0a\x10" + chance.randbytes(16))
        return
    is_older = chance.random() < 0.5
    for field in message.DESCRIPTOR.fields:
        needed = field.name in ("uuid", "old_id", "new_id", "new_file")
        if name == "UpdateConfig" and (field.name in OLDER) is not is_older:
            continue
        if needed or chance.random() < 0.6:
            _fill_field(chance, message, field)
    if chance.random() < 0.3:
        message.MergeFromString(UNKNOWN)


@pytest.mark.parametrize("arm", OPERATIONS)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_an_operation_is_written_back_byte_for_byte(arm: str, seed: int) -> None:
    chance = random.Random(seed)
    message = transaction_pb2.Transaction(read_version=3, uuid="u")
    body = getattr(message, arm)
    body.SetInParent()
    fill(chance, body)
    data = message.SerializeToString(deterministic=True)
    transaction = Transaction.from_bytes(data)
    assert not isinstance(transaction.operation, UnknownOperation)
    assert transaction.to_bytes() == data
    assert Transaction.from_bytes(data) == transaction


def test_the_older_form_of_a_config_change_means_the_same() -> None:
    message = transaction_pb2.Transaction(uuid="u")
    body = message.update_config
    body.upsert_values["a"] = "1"
    body.delete_keys.append("b")
    body.schema_metadata["s"] = "2"
    body.field_metadata[3].metadata["f"] = "3"
    found = Transaction.from_proto(message).operation
    assert isinstance(found, UpdateConfig)
    assert found.config == UpdateMap({"a": "1", "b": None})
    assert found.schema_metadata == UpdateMap({"s": "2"}, replace=True)
    assert found.field_metadata == {3: UpdateMap({"f": "3"}, replace=True)}
    body.config_updates.replace = True
    with pytest.raises(CorruptFileError, match="mixed"):
        Transaction.from_proto(message)


def test_the_last_of_several_entries_for_a_key_counts() -> None:
    message = transaction_pb2.Transaction(uuid="u")
    entries = message.update_config.config_updates.update_entries
    entries.add(key="a", value="1")
    entries.add(key="a", value="2")
    found = Transaction.from_proto(message).operation
    assert isinstance(found, UpdateConfig)
    assert found.config is not None
    assert found.config.applied({}) == {"a": "2"}
    assert Transaction.from_proto(message).to_proto() == message


def _index_without_id(message: transaction_pb2.Transaction) -> None:
    message.create_index.new_indices.add(name="i")


def _rewritten_without_id(message: transaction_pb2.Transaction) -> None:
    message.rewrite.rewritten_indices.add().old_id.uuid = bytes(3)


def _replacement_without_file(message: transaction_pb2.Transaction) -> None:
    message.data_replacement.replacements.add(fragment_id=1)


def _unknown_mode(message: transaction_pb2.Transaction) -> None:
    message.update.MergeFromString(b"\x38\x07")


@each_case(
    "damage",
    [_index_without_id, _rewritten_without_id, _replacement_without_file, _unknown_mode],
)
def test_what_an_operation_cannot_do_without_is_asked_for(damage: object) -> None:
    message = transaction_pb2.Transaction(uuid="u")
    assert callable(damage)
    damage(message)
    with pytest.raises(CorruptFileError):
        Transaction.from_bytes(message.SerializeToString())
