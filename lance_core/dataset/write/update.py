"""`LanceDataset.update`: compute new values of columns for the rows that satisfy a condition."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, TypedDict

import pyarrow as pa

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.expressions.filters import Value, as_value
from lance_core.dataset.read.given_rows.chosen_rows import read_chosen
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write import deletions
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.dataset.write.legacy_dictionaries import in_dictionary
from lance_core.dataset.write.retry_on_conflict import ConflictRetries, retry_on_conflict
from lance_core.dataset.write.row_rewrite import move_rows, write_rows
from lance_core.encodings.arrow.combine_chunks import combine_chunks, fitting_parts
from lance_core.encodings.version import FileVersion
from lance_core.error_texts.suggestions import hint, shortened
from lance_core.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema import Field, binary_json, given_to_files, has_blobs_v2
from lance_core.schema.align import check_nulls, to_storage
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.operations import Update

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from lance_core.schema.json.loops import JsonLoops


class UpdateResult(TypedDict):
    """The result of an update."""

    num_rows_updated: int


def update(
    snapshot: Snapshot,
    updates: Mapping[str, str],
    where: str | pc.Expression | None,
    retries: ConflictRetries,
    *,
    version: FileVersion | None = None,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, UpdateResult]:
    """Set the columns ``updates`` to SQL values in the rows that satisfy ``where``, and commit.

    Every value is computed from the old row. Rows for which the condition is NULL do not change;
    without a condition, all rows change. Returns the new version, which is committed even if no row
    matches. ``version``: the version of the new files, by default the table's. If another writer
    has changed the same rows, the update is computed again on the newest version.

    Raises ``TypeError`` unless ``updates`` maps names to SQL text, `InvalidInputError` for an
    unknown column and invalid SQL, `SchemaMismatchError` for a value that its column cannot have,
    `UnsupportedFeatureError` for what cannot be computed, and the errors of `commit_transaction`;
    after all but `CommitUnknownError` the written files are removed.
    """
    _check_updates(updates)

    def attempt(base: Snapshot, options: CommitOptions) -> tuple[Snapshot, UpdateResult]:
        return _Update(base, updates, where, version, environment).run(options)

    return retry_on_conflict("update", snapshot, attempt, retries, environment)


def _check_updates(updates: Mapping[str, str]) -> None:
    if not isinstance(updates, Mapping):
        raise TypeError(f"updates must map column names to SQL, got {type(updates).__name__}")
    for name, sql in updates.items():
        if not isinstance(name, str) or not isinstance(sql, str):
            raise TypeError(f"updates must map column names to SQL text, got {name!r}: {sql!r}")
    if not updates:
        raise InvalidInputError("No updates provided: name at least one column")


class _Update:
    """One attempt of an update, based on one version."""

    def __init__(
        self,
        snapshot: Snapshot,
        updates: Mapping[str, str],
        where: str | pc.Expression | None,
        version: FileVersion | None,
        environment: Environment,
    ) -> None:
        check_writable(snapshot.manifest.flags)
        self._snapshot = snapshot
        self._version = version or snapshot.storage_version
        self._environment = environment
        columns = [_new_column(snapshot, name, sql) for name, sql in updates.items()]
        self._new = {column.field.name: column for column in columns}
        if len(self._new) < len(columns):
            raise InvalidInputError(f"a column is updated twice: {', '.join(updates)}")
        self._plan = deletions.plan_of(snapshot, "true" if where is None else where)

    def run(self, options: CommitOptions) -> tuple[Snapshot, UpdateResult]:
        options = replace(options, age_of_files=self._environment.stopwatch())
        snapshot = self._snapshot
        snapshot.root.check_can_commit()
        with discard_on_failure(snapshot.root) as files:
            operation = self._operation(files)
            transaction = new_transaction(snapshot, operation, self._environment)
            made = files.commit(snapshot, transaction, options)
        return made, {"num_rows_updated": sum(map(len, (operation.affected_rows or {}).values()))}

    def _operation(self, files: NewFiles) -> Update:
        snapshot = self._snapshot
        rows = deletions.find(snapshot, self._plan)
        tables = read_chosen(snapshot, self._fields_to_read(), rows)
        batches = chain.from_iterable(fitting_parts(table, self._updated) for table in tables)
        new = write_rows(snapshot, files, batches, version=self._version)
        operation = move_rows(snapshot, files, rows, new, environment=self._environment)
        modified = {part.id for column in self._new.values() for part in column.field.walk()}
        return replace(operation, fields_for_preserving_frag_bitmap=tuple(sorted(modified)))

    def _fields_to_read(self) -> list[Field]:
        """The fields that do not change or that the values need.

        JSON that no value needs is read as the binary JSON of files, and keeps its bytes.
        """
        needed = {path[0] for column in self._new.values() for path in column.value.columns}
        fields = map(given_to_files, self._snapshot.schema.fields)
        return [
            field if field.name in needed else binary_json(field)
            for field in fields
            if field.name not in self._new or field.name in needed
        ]

    def _updated(self, rows: pa.Table) -> pa.RecordBatch:
        """The new values of ``rows`` and the others, as a batch of the table's schema."""
        arrays, fields = [], []
        kernels = self._snapshot.root.registry.kernels
        for field in self._snapshot.schema.fields:
            new = self._new.get(field.name)
            if new is None:
                array = combine_chunks(rows.column(field.name))
            else:
                array = new.of(rows, self._version, kernels)
            arrays.append(array)
            fields.append(pa.field(field.name, array.type))
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


@dataclass(frozen=True, slots=True)
class _NewColumn:
    """A column with new values. ``value`` has the field's type or one that `of` converts."""

    field: Field
    value: Value

    def of(self, rows: pa.Table, version: FileVersion, loops: JsonLoops) -> pa.Array:
        """The new values of ``rows``; raises `SchemaMismatchError` if some do not fit."""
        try:
            array = combine_chunks(self.value.evaluate(rows))
            if pa.types.is_dictionary(self.field.storage_type):
                array = self._encoded(array, version)
            array = to_storage(array, self.field, loops=loops)
            check_nulls(array, self.field)
        except InvalidInputError as error:
            raise SchemaMismatchError(f"column {self.field.name!r}: {error}") from error
        return array

    def _encoded(self, array: pa.Array, version: FileVersion) -> pa.Array:
        """``array`` with a dictionary, that of the table if the manifest has one."""
        if version.has_table_dictionaries:
            return in_dictionary(array, self.field)
        type_ = self.field.storage_type
        try:
            return array.dictionary_encode().cast(type_)
        except pa.ArrowInvalid as error:
            raise InvalidInputError(
                f"there are more different values than keys of type {type_.index_type}"
            ) from error


def _new_column(snapshot: Snapshot, name: str, sql: str) -> _NewColumn:
    """The column ``name`` with the values of ``sql``, cast to the type of the column."""
    schema = snapshot.schema
    fields = {field.name: field for field in schema.fields}
    lineage = schema.lineage(name)
    if not lineage:
        raise InvalidInputError(
            f"Column {shortened(name)} does not exist in the table{hint(name, schema.names)}"
        )
    if len(lineage) > 1:
        raise InvalidInputError(
            f"Nested column references are not supported: {shortened(name)}; update the whole "
            f"column {lineage[0].name!r}"
        )
    (field,) = lineage
    if has_blobs_v2([field]):
        raise UnsupportedFeatureError(
            f"column {name!r} has blobs, which cannot get new values by an update"
        )
    try:
        value = as_value(sql, snapshot.schema_with_bytes.to_arrow(), _value_type(field))
    except (InvalidInputError, UnsupportedFeatureError) as error:
        raise type(error)(f"column {name!r}: {error}") from error
    for path in value.columns:
        if has_blobs_v2([fields[path[0]]]):
            raise UnsupportedFeatureError(
                f"column {name!r}: new values cannot be computed from the blobs of {path[0]!r}"
            )
    return _NewColumn(field, value)


def _value_type(field: Field) -> pa.DataType | None:
    """The type to which values of ``field`` are cast; JSON is given as text."""
    if field.is_json:
        return pa.string()
    type_ = field.storage_type
    return type_.value_type if pa.types.is_dictionary(type_) else type_
