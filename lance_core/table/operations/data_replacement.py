"""``Transaction.DataReplacement``: columns of existing fragments get new files."""

from __future__ import annotations

from dataclasses import dataclass

from lance_core._pb import transaction_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.table.data_file import DataFile
from lance_core.table.draft import Draft
from lance_core.table.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields

_Message = transaction_pb2.Transaction


@dataclass(frozen=True, slots=True)
class DataReplacementGroup:
    """``new_file`` holds its fields for all rows of the fragment."""

    fragment_id: int
    new_file: DataFile
    unknown: bytes = b""

    @classmethod
    def from_proto(cls, message: _Message.DataReplacementGroup) -> DataReplacementGroup:
        return cls(
            message.fragment_id, DataFile.from_proto(message.new_file), unknown_fields(message)
        )

    def to_proto(self) -> _Message.DataReplacementGroup:
        message = _Message.DataReplacementGroup(
            fragment_id=self.fragment_id, new_file=self.new_file.to_proto()
        )
        message.MergeFromString(self.unknown)
        return message


@dataclass(frozen=True, slots=True)
class DataReplacement(Operation):
    """Gives fragments new files for some of their columns; the files all hold the same fields."""

    replacements: tuple[DataReplacementGroup, ...]
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.DATA_REPLACEMENT,)

    @property
    def touched_fragments(self) -> frozenset[int]:
        return frozenset(group.fragment_id for group in self.replacements)

    def apply(self, draft: Draft) -> Draft:
        raise UnsupportedFeatureError("DataReplacement cannot be applied yet")

    @classmethod
    def from_proto(cls, message: _Message.DataReplacement) -> DataReplacement:
        return cls(
            tuple(map(DataReplacementGroup.from_proto, message.replacements)),
            unknown_fields(message),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = _Message.DataReplacement(replacements=[g.to_proto() for g in self.replacements])
        body.MergeFromString(self.unknown)
        message.data_replacement.CopyFrom(body)
