"""``Transaction.DataReplacement``: replace the files of columns in existing fragments."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.fragments.data_file import TOMBSTONE, DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_coverage import without_fragments
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.row_ids.row_lineage import updated_everywhere
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields

_Message = transaction_pb2.Transaction


@dataclass(frozen=True, slots=True)
class DataReplacementGroup:
    """A new file for one fragment; it holds its fields for all physical rows."""

    fragment_id: int
    new_file: DataFile
    unknown: bytes = b""

    def applied(self, fragment: Fragment) -> Fragment:
        """``fragment`` with the new file; it takes the position of a file with the same fields."""
        replaced = frozenset(self.new_file.fields)
        files = []
        is_replaced = False
        for file in fragment.files:
            if file.fields == self.new_file.fields and not is_replaced:
                files.append(self.new_file)
                is_replaced = True
            elif replaced.isdisjoint(file.fields):
                files.append(file)
            elif not replaced.issuperset(_live_fields(file)):
                files.append(_without(file, replaced))
        if not is_replaced:
            files.append(self.new_file)
        return replace(fragment, files=tuple(files))

    @classmethod
    def from_proto(cls, message: _Message.DataReplacementGroup) -> DataReplacementGroup:
        if not message.HasField("new_file"):
            raise CorruptFileError("a data replacement names no file", field="DataReplacement")
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
    """Replaces files of some columns in fragments; all new files hold the same fields."""

    replacements: tuple[DataReplacementGroup, ...]
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.DATA_REPLACEMENT,)

    @property
    def touched_fragments(self) -> frozenset[int]:
        return frozenset(group.fragment_id for group in self.replacements)

    def apply(self, draft: Draft) -> Draft:
        """The draft with the new files.

        A replaced field becomes `TOMBSTONE` in its old file; a file without other fields is removed
        from the fragment.
        """
        known = frozenset(draft.schema.field_ids)
        fields = {frozenset(group.new_file.fields) for group in self.replacements}
        if len(fields) > 1:
            raise InvalidInputError("the new files do not all hold the same fields")
        updated: dict[int, Fragment] = {}
        for group in self.replacements:
            current = draft.fragments.by_id(group.fragment_id)
            if current is None or current.id in updated:
                raise InvalidInputError(
                    f"fragment {group.fragment_id} is not in the table or is named twice"
                )
            if not known.issuperset(group.new_file.fields) or not group.new_file.fields:
                raise InvalidInputError(
                    f"data file {group.new_file.path!r} has no fields, or fields that the table "
                    "does not have"
                )
            updated[current.id] = group.applied(current)
            if draft.stable_row_ids:
                updated[current.id] = updated_everywhere(updated[current.id], draft.version)
            draft = draft.with_files_of(updated[current.id])
        changed = replace(draft, fragments=draft.fragments.changed(updated, ()))
        if draft.index_section is None:
            return changed
        replaced = frozenset[int]().union(*fields)
        return changed.with_indices(without_fragments(draft.indices, replaced, updated))

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


def _live_fields(file: DataFile) -> frozenset[int]:
    return frozenset(file.fields) - {TOMBSTONE}


def _without(file: DataFile, fields: frozenset[int]) -> DataFile:
    left = tuple(TOMBSTONE if field in fields else field for field in file.fields)
    return replace(file, fields=left)
