"""``Transaction.UpdateConfig``: change the config or the metadata of table, schema or fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lance_core._pb import transaction_pb2
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema.field import Field
from lance_core.schema.keys import with_keys
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.transactions.operations.update_map import UpdateMap
from lance_core.table.unknown_fields import unknown_fields

_Message = transaction_pb2.Transaction.UpdateConfig
_OLDER_FIELDS = frozenset({"upsert_values", "delete_keys", "schema_metadata", "field_metadata"})


@dataclass(frozen=True, slots=True)
class UpdateConfig(Operation):
    """Changes of four maps; ``field_metadata`` is by field id, and None means no change.

    ``stored`` is the serialized message if it has the older form of the proto. The other attributes
    then have its meaning, and ``stored`` is written back unchanged.
    """

    config: UpdateMap | None = None
    table_metadata: UpdateMap | None = None
    schema_metadata: UpdateMap | None = None
    field_metadata: Mapping[int, UpdateMap] = dataclasses.field(default_factory=dict, hash=False)
    unknown: bytes = b""
    stored: bytes = dataclasses.field(default=b"", repr=False)

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        """Kinds of the changed maps; an operation without changes is an UPDATE_CONFIG."""
        has_metadata = self.schema_metadata is not None or bool(self.field_metadata)
        kinds = [OperationKind.UPDATE_METADATA] if has_metadata else []
        if self.config is not None or self.table_metadata is not None or not kinds:
            kinds.append(OperationKind.UPDATE_CONFIG)
        return tuple(kinds)

    def apply(self, draft: Draft) -> Draft:
        if draft.is_new_table:
            raise InvalidInputError("the table whose config is to be changed does not exist")
        schema = draft.schema
        for id_, updates in self.field_metadata.items():
            if schema.field_by_id(id_) is None:
                raise InvalidInputError(f"no field has id {id_}")
            fields = tuple(_with_metadata(field, id_, updates) for field in schema.fields)
            schema = replace(schema, fields=fields)
        if self.field_metadata:
            schema = with_keys(draft.schema, schema)
        if self.schema_metadata is not None:
            metadata = self.schema_metadata.applied(schema.metadata)
            schema = replace(schema, metadata=metadata)
        return replace(
            draft,
            schema=schema,
            config=_applied(self.config, draft.config),
            table_metadata=_applied(self.table_metadata, draft.table_metadata),
        )

    @classmethod
    def from_proto(cls, message: _Message) -> UpdateConfig:
        """Raises `CorruptFileError` for a mixture of the older and the newer form."""
        names = {descriptor.name for descriptor, _ in message.ListFields()}
        if not names & _OLDER_FIELDS:
            return cls(
                _map(message, "config_updates"),
                _map(message, "table_metadata_updates"),
                _map(message, "schema_metadata_updates"),
                {id_: UpdateMap.from_proto(m) for id_, m in message.field_metadata_updates.items()},
                unknown_fields(message),
            )
        if not names <= _OLDER_FIELDS:
            raise CorruptFileError("older and newer fields are mixed", field="UpdateConfig")
        config = UpdateMap({**message.upsert_values, **dict.fromkeys(message.delete_keys)})
        return cls(
            config if config.updates else None,
            None,
            _replacing(message.schema_metadata) if message.schema_metadata else None,
            {id_: _replacing(m.metadata) for id_, m in message.field_metadata.items()},
            stored=message.SerializeToString(deterministic=True),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = _Message()
        if self.stored:
            body.MergeFromString(self.stored)
        else:
            self._add_maps(body)
        body.MergeFromString(self.unknown)
        message.update_config.CopyFrom(body)

    def _add_maps(self, body: _Message) -> None:
        if self.config is not None:
            body.config_updates.CopyFrom(self.config.to_proto())
        if self.table_metadata is not None:
            body.table_metadata_updates.CopyFrom(self.table_metadata.to_proto())
        if self.schema_metadata is not None:
            body.schema_metadata_updates.CopyFrom(self.schema_metadata.to_proto())
        for id_, updates in self.field_metadata.items():
            body.field_metadata_updates[id_].CopyFrom(updates.to_proto())


def _with_metadata(field: Field, id_: int, updates: UpdateMap) -> Field:
    """``field`` with updated metadata of the field ``id_``, which is ``field`` or a descendant.

    Any other ``field`` is returned unchanged.
    """
    if field.id == id_:
        return replace(field, metadata=updates.applied(field.metadata))
    children = tuple(_with_metadata(child, id_, updates) for child in field.children)
    return field if children == field.children else field.with_children(children)


def _applied(updates: UpdateMap | None, current: Mapping[str, str]) -> Mapping[str, str]:
    return current if updates is None else updates.applied(current)


def _map(message: _Message, name: str) -> UpdateMap | None:
    present = message.HasField(name)  # type: ignore[arg-type]  # one of several literals
    return UpdateMap.from_proto(getattr(message, name)) if present else None


def _replacing(values: Mapping[str, str]) -> UpdateMap:
    """A replacement of all metadata: the older form of the message always has the whole map."""
    return UpdateMap(dict(values), replace=True)
