"""`LanceDataset.add_columns`, and the same for one fragment without a commit."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.expressions.filters import Value
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, ROW_ID
from lance_core.dataset.read.plan import ScanPlan
from lance_core.dataset.read.scan import scan_batches
from lance_core.dataset.read.scan_options import HasFragmentId, ScanOptions, plan_scan
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.dataset.write.blob_options import stored_schema
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.dataset.write.schema_evolution.column_files import (
    BATCH_ROWS,
    ColumnFiles,
    plan_of_fragments,
    scan_fragment,
)
from lance_core.dataset.write.schema_evolution.udf import BatchUDF, BatchUDFCheckpoint, Transform
from lance_core.dataset.write.schema_evolution.udf import as_transform as _as_transform
from lance_core.encodings.arrow.zero_column_tables import zero_column_table
from lance_core.errors import (
    InvalidInputError,
    ObjectNotFoundError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.schema import Schema
from lance_core.schema.empty_arrays import empty_batch
from lance_core.schema.evolution import ExtendedSchema, add_fields, rows_may_lack
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.paths import data_file_path
from lance_core.table.transactions.operations import Merge

UDF_BATCH_ROWS = 1024
"""Default of the rows in a batch for a user's function."""


def add_columns(
    snapshot: Snapshot,
    transforms: Any,
    read_columns: Sequence[str] | None,
    reader_schema: pa.Schema | None,
    batch_size: int | None,
    environment: Environment = SYSTEM,
) -> Snapshot:
    """Add columns and commit them; see `LanceDataset.add_columns`."""
    check_writable(snapshot.manifest.flags)
    schema = _schema_of_nulls(transforms)
    if schema is not None:
        return add_null_columns(snapshot, schema, environment)
    transform = as_transform(snapshot, transforms, read_columns, reader_schema)
    schema = _schema_of_null_expressions(snapshot, transform)
    if schema is not None:
        return add_null_columns(snapshot, schema, environment)
    age = environment.stopwatch()
    snapshot.root.check_can_commit()
    with discard_on_failure(snapshot.root) as files:
        adding = Adding.of(snapshot, transform, files, read_columns, batch_size)
        with adding.keeping_checkpoint():
            fragments = adding.all_fragments()
            operation = Merge(fragments, adding.added.schema, adding.preserves_nullability)
            transaction = new_transaction(snapshot, operation, environment)
            return files.commit(snapshot, transaction, CommitOptions(age_of_files=age))


def _schema_of_nulls(transforms: Any) -> pa.Schema | None:
    """The schema of columns without values, if ``transforms`` names fields only."""
    if isinstance(transforms, pa.Schema):
        return transforms
    if isinstance(transforms, pa.Field):
        return pa.schema([transforms])
    if isinstance(transforms, list) and transforms and isinstance(transforms[0], pa.Field):
        return pa.schema(transforms)
    return None


def _schema_of_null_expressions(snapshot: Snapshot, transform: Transform) -> pa.Schema | None:
    """The schema of the results if all expressions are NULL for all rows, and need no files."""
    if not isinstance(transform, Mapping) or not snapshot.storage_version.has_partial_files:
        return None
    plan, schema = _computed(snapshot, transform, BATCH_ROWS)
    one_row = zero_column_table(1)
    for output in plan.projection.outputs:
        if not isinstance(output.source, Value) or output.source.columns:
            return None
        if not output.of(one_row).null_count:
            return None
    return schema


def add_null_columns(
    snapshot: Snapshot, new: pa.Schema, environment: Environment = SYSTEM
) -> Snapshot:
    """Add columns that are null in all rows, without data files.

    Raises `UnsupportedFeatureError` for a table of file version 0.1, which needs all columns in all
    fragments, and `SchemaMismatchError` for a field that is not nullable or exists.
    """
    for field in new:
        if not field.nullable:
            raise SchemaMismatchError(
                f"All-null columns must be nullable, but field {field.name!r} is not."
            )
    if not snapshot.storage_version.has_partial_files:
        raise UnsupportedFeatureError("Cannot add all-null columns to legacy dataset version.")
    added = added_fields(snapshot, new, snapshot.next_field_id)
    with discard_on_failure(snapshot.root) as files:
        ColumnFiles(snapshot, files, added.new, added.schema).check()
        operation = Merge(snapshot.manifest.fragments, added.schema, True)
        transaction = new_transaction(snapshot, operation, environment)
        return files.commit(snapshot, transaction, CommitOptions())


def added_fields(snapshot: Snapshot, new: pa.Schema, first_id: int) -> ExtendedSchema:
    """The table's schema with ``new``, in the types that files of its version store."""
    stored = stored_schema(new, snapshot.storage_version, snapshot.schema)
    return add_fields(snapshot.schema, stored, first_id, into_structs=snapshot.splits_structs)


def as_transform(
    snapshot: Snapshot,
    transforms: Any,
    read_columns: Sequence[str] | None,
    reader_schema: pa.Schema | None,
    fragments: Sequence[HasFragmentId] | None = None,
) -> Transform:
    """The transform that a user passed; ``fragments``: those that it is for, None means all."""

    def sample() -> pa.RecordBatch:
        plan = _read_plan(snapshot, read_columns, 1, fragments)
        batch = next(iter(scan_batches(snapshot, plan)), None)
        return empty_batch(plan.projection.schema) if batch is None else batch

    return _as_transform(transforms, sample, reader_schema)


def _read_plan(
    snapshot: Snapshot,
    columns: Sequence[str] | None,
    limit: int | None = None,
    fragments: Sequence[HasFragmentId] | None = None,
    batch_size: int = UDF_BATCH_ROWS,
) -> ScanPlan:
    """The plan that reads the columns for a user's function, which may be row ids and addresses."""
    meta = (ROW_ID, ROW_ADDRESS)
    stored = None if columns is None else [name for name in columns if name not in meta]
    options = ScanOptions(
        columns=stored,
        limit=limit,
        fragments=fragments,
        batch_size=batch_size,
        strict_batch_size=True,
        with_row_id=columns is not None and ROW_ID in columns,
        with_row_address=columns is not None and ROW_ADDRESS in columns,
    )
    return plan_scan(snapshot, options)


def add_to_fragment(
    snapshot: Snapshot,
    fragment: Fragment,
    transform: Transform,
    read_columns: Sequence[str] | None,
    batch_size: int | None,
) -> tuple[Fragment, Schema]:
    """``fragment`` with a file with new columns, and the new schema; nothing is committed."""
    check_writable(snapshot.manifest.flags)
    with discard_on_failure(snapshot.root) as files:
        adding = Adding.of(snapshot, transform, files, read_columns, batch_size)
        return adding.one_fragment(fragment), adding.added.schema


class AddedColumns:
    """Columns that are added to ``snapshot``, and the writer of their files."""

    def __init__(self, snapshot: Snapshot, files: NewFiles, new: pa.Schema) -> None:
        first_id = snapshot.next_field_id
        self.added = added_fields(snapshot, new, first_id)
        self.preserves_nullability = rows_may_lack(self.added.new, first_id)
        self._snapshot = snapshot
        self._files = ColumnFiles(snapshot, files, self.added.new, self.added.schema)
        self._files.check()


class Adding(AddedColumns):
    """New columns for the fragments of one version."""

    def __init__(
        self, snapshot: Snapshot, files: NewFiles, new: pa.Schema, transform: Transform
    ) -> None:
        super().__init__(snapshot, files, new)
        self._transform = transform
        self._plan: ScanPlan | None = None

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        transform: Transform,
        files: NewFiles,
        read_columns: Sequence[str] | None,
        batch_size: int | None,
    ) -> Adding:
        """The columns that ``transform`` computes; the arguments are those of `add_columns`.

        Raises `SchemaMismatchError` for a column that exists, and the errors of `plan_scan`.
        """
        if batch_size is not None and batch_size < 1:
            raise SchemaMismatchError(f"batch_size must be greater than zero, got {batch_size}")
        if isinstance(transform, Mapping):
            plan, new = _computed(snapshot, transform, batch_size or BATCH_ROWS)
        elif isinstance(transform, BatchUDF):
            assert transform.output_schema is not None
            new = transform.output_schema
            plan = _read_plan(snapshot, read_columns, None, None, batch_size or UDF_BATCH_ROWS)
        else:
            plan, new = None, transform.schema
        adding = cls(snapshot, files, new, transform)
        adding._plan = plan
        return adding

    def all_fragments(self) -> list[Fragment]:
        """All fragments with a new file each."""
        fragments = self._snapshot.manifest.fragments
        transform = self._transform
        if isinstance(transform, Mapping):
            assert self._plan is not None
            return self._files.write_all(fragments, scan_fragment(self._snapshot, self._plan))
        if isinstance(transform, BatchUDF):
            return [self._called(transform, fragment) for fragment in fragments]
        rows = _Rows(transform)
        written = [
            self._files.write(fragment, rows.take(self._snapshot.live_rows(fragment)))
            for fragment in fragments
        ]
        rows.check_end()
        return written

    def one_fragment(self, fragment: Fragment) -> Fragment:
        """``fragment`` with a new file."""
        transform = self._transform
        if isinstance(transform, Mapping):
            assert self._plan is not None
            values = scan_fragment(self._snapshot, self._plan)(fragment)
            return self._files.write(fragment, values)
        if isinstance(transform, BatchUDF):
            return self._called(transform, fragment)
        return self._files.write(fragment, transform)

    def _called(self, udf: BatchUDF, fragment: Fragment) -> Fragment:
        """``fragment`` with the results of ``udf``, from its checkpoint as far as possible."""
        assert self._plan is not None
        plan = plan_of_fragments(self._plan, self._snapshot, fragment)
        known = None if udf.cache is None else udf.cache.get_fragment(fragment.id)
        stored = None if known is None else self._stored(known, fragment)
        if stored is not None:
            return stored
        batches = scan_batches(self._snapshot, plan)
        written = self._files.write(fragment, _results(udf, fragment.id, batches))
        if udf.cache is not None:
            metadata = FragmentMetadata.of(written, written.physical_rows or 0)
            udf.cache.insert_fragment(fragment.id, json.dumps(metadata.to_json()))
        return written

    def _stored(self, text: str, fragment: Fragment) -> Fragment | None:
        """The fragment of a checkpoint, if it is ``fragment`` with a file of these columns."""
        with contextlib.suppress(InvalidInputError, UnsupportedFeatureError):
            stored = FragmentMetadata.from_json(text).to_fragment()
            *before, new = stored.files
            expected = self._files.with_new(fragment, [new])
            same_columns = frozenset(new.fields) <= frozenset(self.added.new.field_ids)
            same = tuple(before) == fragment.files and stored == expected and same_columns
            if same and self._is_there(new):
                return expected
        return None

    def _is_there(self, file: DataFile) -> bool:
        """False if a cleanup has removed the file, which no version names yet."""
        try:
            self._snapshot.root.store.head(data_file_path(file.path))
        except ObjectNotFoundError:
            return False
        return True

    @contextlib.contextmanager
    def keeping_checkpoint(self) -> Iterator[None]:
        """A context that keeps files of complete fragments in case of a failure.

        Afterwards removes the checkpoint file.
        """
        cache = self._transform.cache if isinstance(self._transform, BatchUDF) else None
        try:
            yield
        except BaseException:
            if cache is not None:
                self._files.files.data.clear()
            raise
        if cache is not None:
            cache.cleanup()


def _results(
    udf: BatchUDF, fragment_id: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for index, batch in enumerate(batches):
        if udf.cache is None:
            yield udf.result(batch)
            continue
        batch_info = BatchUDFCheckpoint.BatchInfo(fragment_id, index)
        result = udf.cache.get_batch(batch_info)
        if result is None or result.schema != udf.output_schema or len(result) != len(batch):
            result = udf.result(batch)
            udf.cache.insert_batch(batch_info, result)
        yield result


def _computed(
    snapshot: Snapshot, expressions: Mapping[str, str], batch_size: int
) -> tuple[ScanPlan, pa.Schema]:
    """The plan that computes the expressions, and the schema of its result."""
    plan = plan_scan(snapshot, ScanOptions(columns=dict(expressions), batch_size=batch_size))
    return plan, pa.schema([field.remove_metadata() for field in plan.projection.schema])


class _Rows:
    """A stream of rows, split into the rows of each fragment."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._batches = iter(reader)
        self._rest: pa.RecordBatch | None = None

    def take(self, rows: int) -> Iterator[pa.RecordBatch]:
        """The next ``rows`` rows; raises `SchemaMismatchError` if there are fewer."""
        while rows:
            batch = self._rest if self._rest is not None else next(self._batches, None)
            if batch is None:
                raise SchemaMismatchError(
                    "Stream ended before producing values for all rows in dataset"
                )
            self._rest = batch.slice(rows) if batch.num_rows > rows else None
            part = batch.slice(0, rows)
            rows -= part.num_rows
            if part.num_rows:
                yield part

    def check_end(self) -> None:
        """Raise `SchemaMismatchError` if there are more rows."""
        while self._rest is None:
            batch = next(self._batches, None)
            if batch is None:
                return
            self._rest = batch if batch.num_rows else None
        raise SchemaMismatchError("Stream produced more values than expected for dataset")
