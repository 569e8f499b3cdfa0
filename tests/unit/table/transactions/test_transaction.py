from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from lance_core._pb import transaction_pb2
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema.tree import Schema
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import (
    ManifestFile,
    parse_manifest_file,
)
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.manifest_parts import BasePath
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import (
    Append,
    Delete,
    OperationKind,
    Overwrite,
    PreservedOperation,
    UnknownOperation,
)
from lance_core.table.transactions.operations.key_filter import (
    BloomKeys,
    ExactKeys,
    KeyExistenceFilter,
)
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case
from tests.golden.pylance_tables import unpacked

UNKNOWN = bytes.fromhex("fa07036e6577")
Message = transaction_pb2.Transaction
SCHEMA = Schema.from_arrow(pa.schema([pa.field("a", pa.int64())], metadata={"k": "v"}))


def test_foreign_transactions_are_written_back_byte_for_byte(
    foreign_table: Path, history: list[tuple[bytes, ManifestFile]]
) -> None:
    kinds = []
    for _, file in history:
        assert file.transaction is not None
        transaction = Transaction.from_bytes(file.transaction)
        assert transaction.to_bytes() == file.transaction
        stored = foreign_table / "_transactions" / transaction.file_name
        assert stored.read_bytes() == file.transaction
        assert file.manifest.transaction_file == transaction.file_name
        kinds += transaction.operation.kinds
    assert [kind.name for kind in kinds] == [
        "OVERWRITE", "APPEND", "DELETE", "UPDATE_CONFIG", "OVERWRITE", "CREATE_INDEX", "APPEND",
        "DELETE", "APPEND",
    ]  # fmt: skip


@each_case(
    "operation",
    [
        Append((Fragment(0, physical_rows=3), Fragment(0, physical_rows=4))),
        Append((), UNKNOWN),
        Overwrite((Fragment(0, physical_rows=3),), SCHEMA, {"x": "y"}, (BasePath(1, "/b"),)),
        Overwrite((), Schema(), {}, (), UNKNOWN),
        Delete((Fragment(7),), (3, 4), "a = 1", UNKNOWN),
        Delete((), (), ""),
        UnknownOperation(UNKNOWN),
    ],
)
def test_a_transaction_survives_serialization(
    operation: Append | Overwrite | Delete | UnknownOperation,
) -> None:
    transaction = Transaction(5, "u", operation, {"message": "m", "a": "b"}, "tag")
    data = transaction.to_bytes()
    found = Transaction.from_bytes(data)
    assert found.to_bytes() == data
    assert type(found.operation) is type(operation)
    assert (found.read_version, found.uuid, found.tag) == (5, "u", "tag")
    assert found.properties == {"message": "m", "a": "b"}
    assert found.file_name == "5-u.txn"
    if isinstance(operation, Append | Overwrite) and isinstance(found.operation, type(operation)):
        assert list(found.operation.fragments) == list(operation.fragments)
    assert found.operation.touched_fragments == operation.touched_fragments


def _group(message: transaction_pb2.Transaction) -> None:
    group = message.rewrite.groups.add()
    group.old_fragments.add(id=4)
    group.new_fragments.add(id=9)
    message.rewrite.old_fragments.add(id=5)


def _update(message: transaction_pb2.Transaction) -> None:
    message.update.removed_fragment_ids.append(4)
    message.update.updated_fragments.add(id=5)
    message.update.new_fragments.add(id=0)


def _update_columns(message: transaction_pb2.Transaction) -> None:
    _update(message)
    message.update.update_mode = Message.REWRITE_COLUMNS


def _both(message: transaction_pb2.Transaction) -> None:
    message.update_config.config_updates.SetInParent()
    message.update_config.schema_metadata_updates.SetInParent()


def _replacement(message: transaction_pb2.Transaction) -> None:
    group = message.data_replacement.replacements.add(fragment_id=6)
    group.new_file.path = "a.lance"


KIND = OperationKind
PRESERVED: list[
    tuple[Callable[[transaction_pb2.Transaction], object], list[OperationKind], set[int]]
] = [
    (lambda m: m.create_index.SetInParent(), [KIND.CREATE_INDEX], set()),
    (_group, [KIND.REWRITE], {4, 5}),
    (lambda m: m.merge.fragments.add(id=3), [KIND.MERGE], {3}),
    (
        lambda m: m.merge.MergeFrom(Message.Merge(preserves_nullability=True)),
        [KIND.MERGE_SAFE],
        set(),
    ),
    (lambda m: m.restore.SetInParent(), [KIND.RESTORE], set()),
    (lambda m: m.reserve_fragments.SetInParent(), [KIND.RESERVE_FRAGMENTS], set()),
    (_update, [KIND.UPDATE_ROWS], {4, 5}),
    (_update_columns, [KIND.UPDATE_COLUMNS], {4, 5}),
    (lambda m: m.project.SetInParent(), [KIND.PROJECT], set()),
    (
        lambda m: m.project.MergeFrom(Message.Project(preserves_nullability=True)),
        [KIND.PROJECT_SAFE],
        set(),
    ),
    (lambda m: m.update_config.SetInParent(), [KIND.UPDATE_CONFIG], set()),
    (lambda m: m.update_config.delete_keys.append("k"), [KIND.UPDATE_CONFIG], set()),
    (lambda m: m.update_config.table_metadata_updates.SetInParent(), [KIND.UPDATE_CONFIG], set()),
    (lambda m: m.update_config.schema_metadata.update({"a": "b"}), [KIND.UPDATE_METADATA], set()),
    (
        lambda m: m.update_config.field_metadata_updates[3].SetInParent(),
        [KIND.UPDATE_METADATA],
        set(),
    ),
    (_both, [KIND.UPDATE_METADATA, KIND.UPDATE_CONFIG], set()),
    (_replacement, [KIND.DATA_REPLACEMENT], {6}),
    (lambda m: m.update_mem_wal_state.SetInParent(), [KIND.UPDATE_MEM_WAL], set()),
    (lambda m: m.clone.SetInParent(), [KIND.CLONE], set()),
    (lambda m: m.update_bases.SetInParent(), [KIND.UPDATE_BASES], set()),
    (lambda m: m.data_overlay.groups.add(fragment_id=8), [KIND.DATA_OVERLAY], {8}),
]


@each_case(("change", "kinds", "fragments"), PRESERVED)
def test_operations_of_other_writers_are_classified_and_preserved(
    change: Callable[[transaction_pb2.Transaction], object],
    kinds: list[OperationKind],
    fragments: set[int],
) -> None:
    message = Message(read_version=3, uuid="u")
    change(message)
    data = message.SerializeToString(deterministic=True)
    transaction = Transaction.from_bytes(data)
    assert not isinstance(transaction.operation, UnknownOperation)
    assert list(transaction.operation.kinds) == kinds
    assert transaction.operation.touched_fragments == fragments
    assert transaction.to_bytes() == data
    if isinstance(transaction.operation, PreservedOperation):
        with pytest.raises(UnsupportedFeatureError, match=kinds[0].value.partition(" ")[0]):
            transaction.operation.apply(Draft(2, SCHEMA))


def test_every_operation_of_the_message_is_known() -> None:
    arms = {field.name for field in Message.DESCRIPTOR.oneofs_by_name["operation"].fields}
    for arm in arms:
        message = Message(uuid="u")
        getattr(message, arm).SetInParent()
        kinds = Transaction.from_proto(message).operation.kinds
        assert OperationKind.UNKNOWN not in kinds, arm


@pytest.mark.parametrize(
    "keys",
    [ExactKeys((5, 7), UNKNOWN), BloomKeys(b"bits", 32, 3, 0.25, UNKNOWN), None],
    ids=["exact", "bloom", "none"],
)
def test_what_is_unknown_in_a_filter_of_keys_is_kept(keys: ExactKeys | BloomKeys | None) -> None:
    for unknown in (b"", UNKNOWN):
        stored = KeyExistenceFilter((1, 4), keys, unknown)
        assert KeyExistenceFilter.from_proto(stored.to_proto()) == stored


@each_case("number", [116, 201, 127])
def test_an_operation_from_the_future_is_unknown_and_kept(number: int) -> None:
    tag = bytes([(number * 8 + 2) & 0x7F | 0x80, (number * 8 + 2) >> 7])
    data = Message(read_version=3, uuid="u").SerializeToString() + tag + b"\x02\x08\x01"
    transaction = Transaction.from_bytes(data)
    assert transaction.operation.kinds == (OperationKind.UNKNOWN,)
    assert transaction.to_bytes() == data
    with pytest.raises(UnsupportedFeatureError):
        transaction.operation.apply(Draft(2, SCHEMA))


def test_the_second_table_of_old_transactions_is_kept() -> None:
    message = Message(uuid="u")
    message.append.fragments.add(id=0)
    message.blob_append.fragments.add(id=1)
    transaction = Transaction.from_proto(message)
    assert isinstance(transaction.operation, Append)
    assert transaction.to_proto() == message
    assert transaction.has_blob_operation
    assert not Transaction(0, "u", Append(()), unknown=UNKNOWN).has_blob_operation
    with pytest.raises(UnsupportedFeatureError, match="second table"):
        apply(None, transaction, CommitFacts(1))


def test_bytes_that_are_no_transaction_are_corrupt() -> None:
    with pytest.raises(CorruptFileError) as caught:
        Transaction.from_bytes(b"\xff", "_transactions/1-u.txn")
    assert caught.value.path == "_transactions/1-u.txn"


def test_damaged_transactions_give_values_or_typed_errors(
    history: list[tuple[bytes, ManifestFile]],
    survives_mutation: Callable[[Callable[[bytes], object], bytes, int], None],
) -> None:
    def use(data: bytes) -> None:
        operation = Transaction.from_bytes(data).operation
        _ = operation.kinds, operation.touched_fragments
        if isinstance(operation, Append | Overwrite):
            _ = list(operation.fragments)

    for _, file in history:
        assert file.transaction is not None
        survives_mutation(use, file.transaction, 200)


def test_operations_of_the_reference_implementation_are_classified(
    tmp_path: Path, manifests: Callable[[Path], list[Path]]
) -> None:
    root = unpacked("changed-rows-and-columns", tmp_path)
    found = []
    for path in manifests(root):
        file = parse_manifest_file(path.read_bytes())
        assert file.transaction is not None
        transaction = Transaction.from_bytes(file.transaction)
        assert transaction.to_proto() == Message.FromString(file.transaction)
        operation = transaction.operation
        found.append((operation.kinds, sorted(operation.touched_fragments)))
    assert found == [
        ((KIND.OVERWRITE,), []),
        ((KIND.UPDATE_ROWS,), [0]),
        ((KIND.UPDATE_ROWS,), [0]),
        ((KIND.MERGE_SAFE,), [0, 1, 2, 3]),
        ((KIND.PROJECT_SAFE,), []),
        ((KIND.PROJECT_SAFE,), []),
        ((KIND.RESERVE_FRAGMENTS,), []),
        ((KIND.REWRITE,), [0, 1, 2, 3]),
        ((KIND.UPDATE_METADATA,), []),
        ((KIND.UPDATE_METADATA,), []),
        ((KIND.RESTORE,), []),
    ]
