"""Convert the operations of stored transactions to the classes of `LanceOperation`."""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.dataset.values.base_path import DatasetBasePath
from lance_core.dataset.values.fragment_metadata import FragmentMetadata, file_of
from lance_core.dataset.values.index import Index
from lance_core.dataset.values.operations import UPDATE_MODES, LanceOperation
from lance_core.schema import LanceSchema
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.transactions import operations as stored

_MODES = {mode: name for name, mode in UPDATE_MODES.items() if name}


def operation_of(operation: stored.Operation) -> LanceOperation.BaseOperation:
    """The `LanceOperation` class for ``operation``; `LanceOperation.Stored` if there is none."""
    match operation:
        case stored.Append():
            return LanceOperation.Append(_fragments(operation.fragments))
        case stored.Overwrite():
            return LanceOperation.Overwrite(
                LanceSchema(operation.schema),
                _fragments(operation.fragments),
                [DatasetBasePath.of(base) for base in operation.initial_bases] or None,
            )
        case stored.Delete():
            updated, gone = operation.updated_fragments, operation.deleted_fragment_ids
            return LanceOperation.Delete(_fragments(updated), list(gone), operation.predicate)
        case stored.Update():
            return _update(operation)
        case stored.Merge():
            fragments, safe = _fragments(operation.fragments), operation.preserves_nullability
            return LanceOperation.Merge(fragments, LanceSchema(operation.schema), safe)
        case stored.Restore():
            return LanceOperation.Restore(operation.version)
        case stored.Project():
            return LanceOperation.Project(
                LanceSchema(operation.schema), operation.preserves_nullability
            )
        case stored.UpdateConfig():
            return _update_config(operation)
        case _:
            return _of_files(operation)


def _of_files(operation: stored.Operation) -> LanceOperation.BaseOperation:
    match operation:
        case stored.Clone(is_shallow, ref_name, ref_version, ref_path, branch_name):
            return LanceOperation.Clone(is_shallow, ref_name, ref_version, ref_path, branch_name)
        case stored.Rewrite():
            return LanceOperation.Rewrite(
                [
                    LanceOperation.RewriteGroup(
                        _fragments(group.old_fragments), _fragments(group.new_fragments)
                    )
                    for group in operation.groups
                ],
                [_rewritten(index) for index in operation.rewritten_indices],
            )
        case stored.CreateIndex():
            new, removed = operation.new_indices, operation.removed_indices
            return LanceOperation.CreateIndex(
                list(map(Index.of, new)), list(map(Index.of, removed))
            )
        case stored.DataReplacement():
            return LanceOperation.DataReplacement(
                [
                    LanceOperation.DataReplacementGroup(group.fragment_id, file_of(group.new_file))
                    for group in operation.replacements
                ]
            )
        case _:
            return LanceOperation.Stored(operation)


def _update(operation: stored.Update) -> LanceOperation.Update:
    return LanceOperation.Update(
        list(operation.removed_fragment_ids),
        _fragments(operation.updated_fragments),
        _fragments(operation.new_fragments),
        list(operation.fields_modified),
        list(operation.fields_for_preserving_frag_bitmap),
        _MODES[operation.update_mode],
        dict(operation.updated_fragment_offsets) or None,
        operation.inserted_rows,
    )


def _update_config(operation: stored.UpdateConfig) -> LanceOperation.UpdateConfig:
    fields = {id_: _known_map(update) for id_, update in operation.field_metadata.items()}
    return LanceOperation.UpdateConfig(
        _map(operation.config),
        _map(operation.table_metadata),
        _map(operation.schema_metadata),
        fields or None,
    )


def _map(update: stored.UpdateMap | None) -> LanceOperation.UpdateMap | None:
    return None if update is None else _known_map(update)


def _known_map(update: stored.UpdateMap) -> LanceOperation.UpdateMap:
    return LanceOperation.UpdateMap(dict(update.updates), update.replace)


def _rewritten(index: stored.RewrittenIndex) -> LanceOperation.RewrittenIndex:
    details = index.new_index_details
    return LanceOperation.RewrittenIndex(
        str(index.old_id),
        str(index.new_id),
        "" if details is None else details.type_url,
        b"" if details is None else details.value,
        index.new_index_version,
    )


def _fragments(fragments: Iterable[Fragment]) -> list[FragmentMetadata]:
    return [FragmentMetadata.of(f, f.physical_rows or 0) for f in fragments]
