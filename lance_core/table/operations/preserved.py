"""Operations of other writers that are understood as far as conflicts go, but not applied.

An operation moves from here to a module of its own once this library can make it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lance_core._pb import table_pb2, transaction_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.table.draft import Draft
from lance_core.table.operations.base import Operation, OperationKind

Kinds = tuple[OperationKind, ...]


@dataclass(frozen=True, slots=True)
class PreservedOperation(Operation):
    """``arm`` is the operation's name in ``Transaction``, ``payload`` its serialized message."""

    arm: str
    operation_kinds: Kinds
    fragment_ids: frozenset[int]
    payload: bytes

    @property
    def kinds(self) -> Kinds:
        return self.operation_kinds

    @property
    def touched_fragments(self) -> frozenset[int]:
        return self.fragment_ids

    def apply(self, draft: Draft) -> Draft:
        raise UnsupportedFeatureError(f"{self.kinds[0].value} cannot be applied yet")

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        getattr(message, self.arm).MergeFromString(self.payload)
        getattr(message, self.arm).SetInParent()


def preserved(message: transaction_pb2.Transaction, arm: str) -> PreservedOperation:
    """The operation ``arm`` of a transaction's message."""
    kinds, fragment_ids = _CLASSIFIERS[arm](message)
    return PreservedOperation(
        arm, kinds, frozenset(fragment_ids), getattr(message, arm).SerializeToString()
    )


Classified = tuple[Kinds, Iterable[int]]


def _ids(fragments: Iterable[table_pb2.DataFragment]) -> list[int]:
    return [fragment.id for fragment in fragments]


def _update(message: transaction_pb2.Transaction) -> Classified:
    body = message.update
    columns = body.update_mode == transaction_pb2.Transaction.REWRITE_COLUMNS
    kind = OperationKind.UPDATE_COLUMNS if columns else OperationKind.UPDATE_ROWS
    return (kind,), [*body.removed_fragment_ids, *_ids(body.updated_fragments)]


def _rewrite(message: transaction_pb2.Transaction) -> Classified:
    ids = _ids(message.rewrite.old_fragments)
    for group in message.rewrite.groups:
        ids += _ids(group.old_fragments)
    return (OperationKind.REWRITE,), ids


def _merge(message: transaction_pb2.Transaction) -> Classified:
    safe = message.merge.preserves_nullability
    kind = OperationKind.MERGE_SAFE if safe else OperationKind.MERGE
    return (kind,), _ids(message.merge.fragments)


def _project(message: transaction_pb2.Transaction) -> Classified:
    safe = message.project.preserves_nullability
    return (OperationKind.PROJECT_SAFE if safe else OperationKind.PROJECT,), ()


def _update_config(message: transaction_pb2.Transaction) -> Classified:
    body = message.update_config
    metadata = (
        body.schema_metadata,
        body.field_metadata,
        body.field_metadata_updates,
        body.HasField("schema_metadata_updates"),
    )
    config = (
        body.upsert_values,
        body.delete_keys,
        body.HasField("config_updates"),
        body.HasField("table_metadata_updates"),
    )
    kinds = [OperationKind.UPDATE_METADATA] if any(metadata) else []
    if any(config) or not kinds:
        kinds.append(OperationKind.UPDATE_CONFIG)
    return tuple(kinds), ()


def _data_replacement(message: transaction_pb2.Transaction) -> Classified:
    ids = [group.fragment_id for group in message.data_replacement.replacements]
    return (OperationKind.DATA_REPLACEMENT,), ids


def _data_overlay(message: transaction_pb2.Transaction) -> Classified:
    ids = [group.fragment_id for group in message.data_overlay.groups]
    return (OperationKind.DATA_OVERLAY,), ids


def _of_kind(kind: OperationKind) -> Callable[[transaction_pb2.Transaction], Classified]:
    return lambda message: ((kind,), ())


_CLASSIFIERS: dict[str, Callable[[transaction_pb2.Transaction], Classified]] = {
    "create_index": _of_kind(OperationKind.CREATE_INDEX),
    "rewrite": _rewrite,
    "merge": _merge,
    "restore": _of_kind(OperationKind.RESTORE),
    "reserve_fragments": _of_kind(OperationKind.RESERVE_FRAGMENTS),
    "update": _update,
    "project": _project,
    "update_config": _update_config,
    "data_replacement": _data_replacement,
    "update_mem_wal_state": _of_kind(OperationKind.UPDATE_MEM_WAL),
    "clone": _of_kind(OperationKind.CLONE),
    "update_bases": _of_kind(OperationKind.UPDATE_BASES),
    "data_overlay": _data_overlay,
}
