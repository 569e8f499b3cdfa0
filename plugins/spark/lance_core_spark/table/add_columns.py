"""Add computed columns to a table: Spark computes the values, each task writes some fragments."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.accumulators import Accumulator

import lance_core
from lance_core import LanceOperation
from lance_core.engines import added_schema
from lance_core.errors import (
    AlreadyCommittedError,
    CommitUnknownError,
    InvalidInputError,
    LanceError,
    OutcomeUnknownError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.fragment import FragmentMetadata, discard_fragments
from lance_core_spark.brief_errors import brief_rows
from lance_core_spark.job_progress import job_description, row_progress
from lance_core_spark.table.change_task import (
    ADDRESS,
    PLACE,
    RESULT,
    report,
    reports,
)
from lance_core_spark.table.expressions import (
    Expression,
    analysed,
    as_column,
    checked_assignments,
    mentioned,
    quoted,
)
from lance_core_spark.table.numbered_columns import numbered
from lance_core_spark.table.target import Target, fragment_of, readable_columns
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.convert import convert_batch
from lance_core_spark.types.stored_fields import stored_field


def add_columns(target: Target, values: Mapping[str, Expression]) -> None:
    """Add columns with ``values`` and commit them as one version; see `LanceTable.addColumns`."""
    assignments = checked_assignments(values, "addColumns")
    dataset = target.table.open()
    if target.commit.is_done(dataset):
        return
    names = readable_columns(dataset.schema)
    for name in assignments:
        if name.lower() in {known.lower() for known in names}:
            raise SchemaMismatchError(f"addColumns: the table has a column {name!r} already")
    frame = target.load(mentioned(names, assignments.values()), dataset.version)
    address = sf.col(quoted(ADDRESS))
    columns = [as_column(value, f"addColumns: {name!r}") for name, value in assignments.items()]
    with analysed("addColumns", names):
        rows = frame.select(
            address,
            fragment_of(address).alias(PLACE),
            *(value.alias(name) for name, value in zip(assignments, columns, strict=True)),
        )
        fields = [stored_field(field).with_nullable(True) for field in rows.schema.fields[2:]]
    if not dataset.get_fragments():
        _commit(target, dataset, pa.schema(fields), [], None)
        return
    with job_description(target.spark, f"add columns {target.table}"):
        pinned = TableVersion.of(dataset)
        with row_progress(target.spark, "add columns") as count:
            task = AddColumnsTask(target.table, pinned, pa.schema(fields), count)
            placed = rows.repartition(sf.col(PLACE)).select(address, *numbered(list(assignments)))
            ordered = placed.sortWithinPartitions(address)
            done, failed = reports(ordered.mapInArrow(task, RESULT))
        added = [FragmentMetadata.from_json(text) for text in done]
        _commit(target, dataset, task.columns, added, failed)


def _commit(
    target: Target,
    dataset: lance_core.LanceDataset,
    columns: pa.Schema,
    added: list[FragmentMetadata],
    failed: LanceError | None,
) -> None:
    try:
        if failed is not None:
            raise failed
        fragments = {fragment.id: fragment for fragment in added}
        ids = [fragment.fragment_id for fragment in dataset.get_fragments()]
        if sorted(fragments) != sorted(ids) or len(added) != len(ids):
            raise LanceError(f"the new columns of some fragments of {target.table} are missing")
        schema = added_schema(dataset, columns)
        operation = LanceOperation.Merge([fragments[id_] for id_ in ids], schema, True)
        lance_core.LanceDataset.commit(
            dataset,
            operation,
            dataset.version,
            transaction_properties=target.commit.properties("add columns", {}, {}),
            is_committed=target.commit.is_committed,
        )
    except AlreadyCommittedError:
        _discard(dataset, added)
    except (CommitUnknownError, OutcomeUnknownError):
        raise  # A version may reference the files.
    except LanceError:
        _discard(dataset, added)
        raise


def _discard(dataset: lance_core.LanceDataset, fragments: list[FragmentMetadata]) -> None:
    """Remove the new files of ``fragments``; the others belong to the table."""
    known = {file.path for fragment in dataset.get_fragments() for file in fragment.data_files()}
    new = [
        replace(fragment, files=[file for file in fragment.files if file.path not in known])
        for fragment in fragments
    ]
    discard_fragments(new, dataset)


@dataclass(frozen=True, slots=True)
class AddColumnsTask:
    """The function of a task. ``columns``: the fields of the new columns.

    A task gets all rows of some fragments, ordered by address. It returns an error of its input
    instead of raising it, so that Spark does not run it again.
    """

    table: TableRef
    version: TableVersion
    columns: pa.Schema
    count: Accumulator[int] | None = None

    @brief_rows
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads_to_task()
        added: list[FragmentMetadata] = []
        dataset = open_version(self.table, self.version)
        pieces = (piece for batch in batches for piece in _by_fragment(batch))
        try:
            for fragment_id, group in itertools.groupby(pieces, lambda piece: piece[0]):
                values = (self._converted(batch) for _, batch in group)
                reader = pa.RecordBatchReader.from_batches(self.columns, values)
                fragment = lance_core.LanceFragment(dataset, fragment_id)
                added.append(fragment.merge_columns(reader)[0])
        except (InvalidInputError, UnsupportedFeatureError) as error:
            _discard(dataset, added)
            yield report(error)
            return
        for fragment_metadata in added:
            yield report(json.dumps(fragment_metadata.to_json()))

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.count is not None:
            self.count.add(batch.num_rows)
        return convert_batch(batch.columns[1:], self.columns, batch.num_rows)


def _by_fragment(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of ``batch``, which are ordered by address, by the ids of their fragments."""
    fragments = batch.column(ADDRESS).to_numpy() >> 32
    cuts = [0, *(np.flatnonzero(np.diff(fragments)) + 1).tolist(), len(fragments)]
    for start, stop in itertools.pairwise(cuts):
        if stop > start:
            yield int(fragments[start]), batch.slice(start, stop - start)
