"""``Transaction.Overwrite``: replace content and schema, or create a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema.proto import encode_metadata
from lance_core.schema.tree import Schema
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.manifest_parts import BasePath
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class Overwrite(Operation):
    """Replaces the schema and fragments and removes all indices.

    The config, the table's metadata and the next free ids are kept. ``config_upserts`` are merged
    into the config. ``initial_bases`` are allowed for a new table only.
    """

    fragments: Sequence[Fragment]
    schema: Schema
    config_upserts: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    initial_bases: tuple[BasePath, ...] = ()
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.OVERWRITE,)

    def apply(self, draft: Draft) -> Draft:
        if self.initial_bases and not draft.is_new_table:
            raise InvalidInputError("base paths can be given to a new table only")
        if len({base.id for base in self.initial_bases}) < len(self.initial_bases):
            raise InvalidInputError("two base paths have the same id")
        if self.initial_bases:
            bases = (*draft.base_paths, *self.initial_bases)
            draft = replace(draft, base_paths=bases)
        emptied = draft.with_new_fragments(FragmentList(), self.fragments)
        return replace(
            emptied,
            schema=self.schema,
            config={**draft.config, **self.config_upserts},
            index_section=None,
            has_deletion_files=None,
        )

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Overwrite) -> Overwrite:
        raw = (fragment.SerializeToString() for fragment in message.fragments)
        return cls(
            FragmentList(raw),
            Schema.from_proto(message.schema, message.schema_metadata),
            dict(message.config_upsert_values),
            tuple(map(BasePath.from_proto, message.initial_bases)),
            unknown_fields(message),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.Overwrite(
            fragments=[fragment.to_proto() for fragment in self.fragments],
            schema=self.schema.to_proto(),
            schema_metadata=encode_metadata(self.schema.metadata),
            config_upsert_values=self.config_upserts,
            initial_bases=[base.to_proto() for base in self.initial_bases],
        )
        body.MergeFromString(self.unknown)
        message.overwrite.CopyFrom(body)
