"""`LanceDataset.alter_columns` and `drop_columns`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import pyarrow as pa

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.read.scan import scan_batches
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.commit import commit
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.dataset.write.schema_evolution.cast import cast
from lance_core.dataset.write.schema_evolution.column_files import (
    Batches,
    ColumnFiles,
    read_fields,
    scan_fragment,
)
from lance_core.encodings.arrow.combine_chunks import combine_chunks, fitting_parts
from lance_core.encodings.arrow.dictionary_items import copied
from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core.schema import Field, check_nulls, to_storage
from lance_core.schema.evolution import (
    Alteration,
    AlteredSchema,
    alter_fields,
    drop_fields,
    rows_may_lack,
)
from lance_core.schema.rebuild import visible_children
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_metadata import parse_index_section
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.operations import Merge, Operation, Project


class AlterColumn(TypedDict, total=False):
    """A change of a column: a new name, nullability or type of the field at ``path``."""

    path: str
    name: str
    nullable: bool
    data_type: pa.DataType


_KINDS = {"path": str, "name": str, "nullable": bool, "data_type": pa.DataType}


def as_alteration(change: Any) -> Alteration:
    """The change that a user's dict describes.

    Raises `InvalidInputError` for missing and unknown keys, ``TypeError`` for values of other
    types.
    """
    if not isinstance(change, Mapping):
        raise TypeError(f"an alteration is a dict, got {type(change).__name__}")
    if "path" not in change:
        raise InvalidInputError("path is required")
    for key, value in change.items():
        if key not in _KINDS:
            raise InvalidInputError(
                f"Unknown key: {key}. Valid keys are name, nullable, and data_type."
            )
        if not isinstance(value, _KINDS[key]):
            raise TypeError(f"{key} must be a {_KINDS[key].__name__}, got {value!r}")
    if len(change) == 1:
        raise InvalidInputError("At least one of name, nullable, or data_type must be specified")
    return Alteration(**change)


def alter_columns(
    snapshot: Snapshot, alterations: Sequence[Alteration], environment: Environment = SYSTEM
) -> Snapshot:
    """Commit the changes; see `LanceDataset.alter_columns`."""
    check_writable(snapshot.manifest.flags)
    first_id = snapshot.next_field_id
    altered = alter_fields(
        snapshot.schema, alterations, first_id, by_column=not snapshot.splits_structs
    )
    _check_not_indexed(snapshot, altered)
    if altered.required.fields:
        _check_no_nulls(snapshot, altered)
    age = environment.stopwatch()
    snapshot.root.check_can_commit()
    with discard_on_failure(snapshot.root) as files:
        column_files = ColumnFiles(snapshot, files, altered.new, altered.schema)
        column_files.check()
        operation: Operation
        if altered.new.fields:
            fragments = column_files.write_all(
                snapshot.manifest.fragments, _cast_values(snapshot, altered)
            )
            operation = Merge(fragments, altered.schema, rows_may_lack(altered.new, first_id))
        else:
            operation = Project(altered.schema, preserves_nullability=not altered.required.fields)
        transaction = new_transaction(snapshot, operation, environment)
        return files.commit(snapshot, transaction, CommitOptions(age_of_files=age))


def _check_not_indexed(snapshot: Snapshot, altered: AlteredSchema) -> None:
    """Raise `SchemaMismatchError` if a field that gets another id has an index."""
    replaced = frozenset(snapshot.schema.field_ids).difference(altered.schema.field_ids)
    if not replaced or snapshot.file.index_section is None:
        return
    for index in parse_index_section(snapshot.file.index_section):
        for id_ in replaced.intersection(index.fields):
            raise SchemaMismatchError(
                f"Cannot cast column {snapshot.schema.path_of(id_)!r} to a new type: index "
                f"{index.name!r} has its values. Drop the index, and create it again afterwards"
            )


def _check_no_nulls(snapshot: Snapshot, altered: AlteredSchema) -> None:
    """Raise `SchemaMismatchError` if a row has null in a field that is not nullable any more."""
    stored, required = altered.checked.fields, altered.required.fields
    for batch in scan_batches(snapshot, read_fields(snapshot, altered.checked)):
        for column, field, required_field in zip(batch.columns, stored, required, strict=True):
            try:
                values = to_storage(column, field)
                check_nulls(values, required_field)
                _check_parents(values, field, required_field)
            except InvalidInputError as error:
                raise SchemaMismatchError(
                    f"Column contains NULL values and cannot be made non-nullable: {error.message}"
                ) from None


def _check_parents(array: pa.Array, field: Field, new: Field) -> None:
    """Raise `InvalidInputError` if a field that must not be null any more is inside a null struct.

    Such a struct gets a value, and the field a null, when further members are added to it.
    """
    if not new.is_struct:
        return
    before = {child.id: child for child in field.children}
    required = [child for child in new.children if not child.nullable]
    if array.null_count and any(before[child.id].nullable for child in required):
        raise InvalidInputError(f"the struct {new.name!r} is null")
    values = dict(zip(before, visible_children(array), strict=True))
    for child in new.children:
        _check_parents(values[child.id], before[child.id], child)


def _cast_values(snapshot: Snapshot, altered: AlteredSchema) -> Callable[[Fragment], Batches]:
    """A function that returns the fields with other types for one fragment, cast."""
    read = scan_fragment(snapshot, read_fields(snapshot, altered.old))
    schema = altered.new.to_arrow()

    def converted(rows: pa.Table) -> pa.RecordBatch:
        # Arrow tests the offsets in the whole buffer, so a part needs a buffer of its own.
        columns = [
            cast(copied(combine_chunks(column)), field.type, field.name)
            if column.nbytes < column.get_total_buffer_size()
            else cast(combine_chunks(column), field.type, field.name)
            for column, field in zip(rows.columns, schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def values(fragment: Fragment) -> Batches:
        for batch in read(fragment):
            yield from fitting_parts(pa.Table.from_batches([batch]), converted)

    return values


def drop_columns(
    snapshot: Snapshot, columns: Sequence[str], environment: Environment = SYSTEM
) -> Snapshot:
    """Commit the schema without ``columns``; see `LanceDataset.drop_columns`."""
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got the string {columns!r}")
    check_writable(snapshot.manifest.flags)
    operation = Project(drop_fields(snapshot.schema, columns), preserves_nullability=True)
    transaction = new_transaction(snapshot, operation, environment)
    return commit(snapshot.root, snapshot, transaction, CommitOptions())
