"""Change the config of a table, and the metadata of the table, its schema and its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.to_stored import checked_updates
from lance_core.dataset.write.commit_change import commit_change
from lance_core.errors import SchemaMismatchError
from lance_core.schema import Schema
from lance_core.table.transactions.operations import UpdateConfig, UpdateMap


def update_config(snapshot: Snapshot, updates: object, replace: bool) -> Snapshot:
    """Set entries of the config; None removes a key, ``replace`` removes all keys not given."""
    return commit_change(snapshot, UpdateConfig(config=_map(updates, replace)))


def delete_config_keys(snapshot: Snapshot, keys: Iterable[str]) -> Snapshot:
    """Remove keys from the config; missing keys are ignored."""
    if isinstance(keys, str):
        raise TypeError("keys must be a list of text, got text")
    return update_config(snapshot, dict.fromkeys(keys), replace=False)


def update_metadata(snapshot: Snapshot, updates: object, replace: bool) -> Snapshot:
    """Set entries of the table's metadata; see `update_config`."""
    return commit_change(snapshot, UpdateConfig(table_metadata=_map(updates, replace)))


def update_schema_metadata(snapshot: Snapshot, updates: object, replace: bool) -> Snapshot:
    """Set entries of the schema's metadata; see `update_config`."""
    return commit_change(snapshot, UpdateConfig(schema_metadata=_map(updates, replace)))


def update_field_metadata(
    snapshot: Snapshot, updates: Mapping[str, object], replace: bool
) -> Snapshot:
    """Set entries of the metadata of fields, by field path.

    Raises `SchemaMismatchError` for an unknown field.
    """
    if not isinstance(updates, Mapping):
        raise TypeError(f"field updates are a dict, got {type(updates).__name__}")
    maps = {
        _field_id(snapshot.schema, path): _map(update, replace) for path, update in updates.items()
    }
    return commit_change(snapshot, UpdateConfig(field_metadata=maps))


def _map(updates: object, replace: bool) -> UpdateMap:
    return UpdateMap(checked_updates(updates), replace)


def _field_id(schema: Schema, path: str) -> int:
    if not isinstance(path, str):
        raise TypeError(f"fields are named by text, got {path!r}")
    field = schema.field_by_path(path)
    if field is None:
        raise SchemaMismatchError(f"field {path!r} does not exist")
    return field.id
