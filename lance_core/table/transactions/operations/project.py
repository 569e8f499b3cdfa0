"""``Transaction.Project``: drop, rename or reorder columns, or make them nullable."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema.tree import Schema
from lance_core.table.manifest.manifest_draft import Draft, check_new_fields
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class Project(Operation):
    """Replaces the fields of the schema by the fields of ``schema``.

    The message does not contain schema metadata. If ``preserves_nullability``, no nullable field
    becomes non-nullable, so that all rows remain valid.
    """

    schema: Schema
    preserves_nullability: bool = False
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        safe = self.preserves_nullability
        return (OperationKind.PROJECT_SAFE if safe else OperationKind.PROJECT,)

    def apply(self, draft: Draft) -> Draft:
        """The draft with the new fields; data files without any of them are removed."""
        fields = frozenset(self.schema.field_ids)
        if draft.is_new_table:
            raise InvalidInputError("the table whose columns are to be changed does not exist")
        updated = {}
        if fields != frozenset(draft.schema.field_ids):
            for fragment in draft.fragments:
                files = tuple(f for f in fragment.files if not fields.isdisjoint(f.fields))
                if len(files) < len(fragment.files):
                    updated[fragment.id] = replace(fragment, files=files)
        schema = self.schema.with_metadata(draft.schema.metadata)
        changed = replace(draft, schema=schema, fragments=draft.fragments.changed(updated, ()))
        check_new_fields(draft.schema, changed)
        return changed.with_retained_indices()

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Project) -> Project:
        return cls(
            Schema.from_proto(message.schema),
            message.preserves_nullability,
            unknown_fields(message),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.Project(
            schema=self.schema.to_proto(), preserves_nullability=self.preserves_nullability
        )
        body.MergeFromString(self.unknown)
        message.project.CopyFrom(body)
