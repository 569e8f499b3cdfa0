"""Index a column: each task of Spark writes a segment of some fragments; one commit has all.

What a kind learns from its rows, such as the partitions of vectors, this process learns from a
sample, and all tasks use it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

import lance_core
from lance_core.engines import check_new_index, trained_parameters
from lance_core.errors import (
    InvalidInputError,
    LanceError,
    RetryableCommitConflictError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.indices import IndexNotWrittenError, TooFewRowsError
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core.indices import Index, IndexConfig, IndexFile
from lance_core_spark.brief_errors import brief_rows
from lance_core_spark.job_progress import context_of, job_description, row_progress
from lance_core_spark.table.change_task import RESULT, report, reports
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task

MIN_SEGMENT_ROWS = 1 << 20
"""Rows below which more segments take longer: each costs a task and a merge."""

MAX_ATTEMPTS = 10
"""Maximum builds of an index whose rows another writer replaces."""


def create_index(  # noqa: PLR0913 (those of LanceDataset.create_scalar_index, and of the job)
    spark: SparkSession,
    uri: str | os.PathLike[str],
    column: str | Sequence[str],
    kind: str | IndexConfig,
    name: str | None = None,
    *,
    replace: bool = True,
    num_segments: int | None = None,
    merge_segments: bool = True,
    storage_options: Mapping[str, str | Secret] | None = None,
    **parameters: Any,
) -> None:
    """Index a column of the newest version; the executors of ``spark`` read and sort its values.

    Each task builds a segment of the index from some fragments, and one commit makes them visible.
    ``column``, ``kind``, ``name``, ``replace`` and ``parameters``: see
    `LanceDataset.create_scalar_index`, and for vectors `LanceDataset.create_index`: this process
    trains such an index by a sample, and the tasks encode the rows. ``num_segments``: the number of
    tasks, at most the number of fragments; by default the parallelism of Spark, or fewer for a
    small table. ``merge_segments``: True merges the segments in this process before the commit; a
    lookup in a single segment is fastest. If another writer replaces indexed rows at the same time,
    the index is built again.

    Raises the errors of `LanceDataset.create_scalar_index`, before any task runs for invalid
    arguments, and Spark's error if a task fails. Then no version has the index, and a cleanup
    removes the files of segments, as it does for segments that were merged.
    """
    storage_options = hide_secrets(storage_options)
    table = TableRef.of(os.fspath(uri), storage_options or {})
    if num_segments is not None and (
        not isinstance(num_segments, int) or isinstance(num_segments, bool) or num_segments < 1
    ):
        raise InvalidInputError(
            f"num_segments must be a whole number from 1 on, not {num_segments!r}"
        )
    new = _NewIndex(column, kind, parameters, name, replace)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        build = _Build(spark, table, table.open(), new)
        try:
            build.run(num_segments, merge_segments)
        except RetryableCommitConflictError:
            if attempt == MAX_ATTEMPTS:
                raise
        else:
            return


@dataclass(frozen=True, slots=True)
class _NewIndex:
    """The arguments of a new index, as `LanceDataset.create_scalar_index` has them."""

    column: str | Sequence[str]
    kind: str | IndexConfig
    parameters: Mapping[str, Any]
    name: str | None
    replace: bool


@dataclass(frozen=True, slots=True)
class _Build:
    """The build of an index of one version."""

    spark: SparkSession
    table: TableRef
    dataset: lance_core.LanceDataset
    new: _NewIndex

    def run(self, num_segments: int | None, merge_segments: bool) -> None:
        new, dataset = self.new, self.dataset
        path, name = check_new_index(
            dataset,
            new.column,
            new.kind,
            new.name,
            replace=new.replace,
            parameters=new.parameters,
        )
        groups = _groups(dataset, num_segments or self._default_count())
        trained = self._trained() if groups else None
        if trained is None:
            dataset.create_scalar_index(
                new.column, new.kind, name, replace=new.replace, **new.parameters
            )
            return
        segments = self._segments(trained, name, groups)
        if merge_segments and len(segments) > 1:
            segments = self._merged(segments)
        dataset.commit_existing_index_segments(name, path, segments)

    def _trained(self) -> _NewIndex | None:
        """The arguments for all tasks; None if there are too few rows to train the index."""
        new = self.new
        try:
            trained = trained_parameters(self.dataset, new.column, new.kind, new.parameters)
        except TooFewRowsError:
            return None
        return replace(new, parameters={**new.parameters, **trained})

    def _merged(self, segments: list[Index]) -> list[Index]:
        """One segment instead of several; those of a kind that cannot be merged stay."""
        try:
            return [self.dataset.merge_existing_index_segments(segments)]
        except IndexNotWrittenError:
            return segments

    def _default_count(self) -> int:
        """The parallelism of Spark, limited by the rows of the table."""
        context = context_of(self.spark)
        most = (
            int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)
            if context is None
            else context.defaultParallelism
        )
        return max(1, min(most, self.dataset.count_rows() // MIN_SEGMENT_ROWS))

    def _segments(self, new: _NewIndex, name: str, groups: list[list[int]]) -> list[Index]:
        """The segments that tasks write. Raises the first error of a task."""
        spark = self.spark
        details = f": {len(groups)} segments of {name}"
        with (
            job_description(spark, f"index {self.table}", details),
            row_progress(spark, "index") as count,
        ):
            task = IndexTask(self.table, TableVersion.of(self.dataset), new, name, groups, count)
            group_numbers = spark.range(0, len(groups), 1, len(groups))
            done, failed = reports(group_numbers.mapInArrow(task, RESULT))
        if failed is not None:
            raise failed
        segments = [_from_json(text) for text in done]
        covered = sorted(id_ for segment in segments for id_ in segment.fragment_ids or ())
        if covered != sorted(id_ for group in groups for id_ in group):
            raise LanceError(f"the segments of some fragments of {self.table} are missing")
        return segments


def _groups(dataset: lance_core.LanceDataset, count: int) -> list[list[int]]:
    """The ids of all fragments in at most ``count`` groups of about the same number of rows."""
    fragments = dataset.get_fragments()
    rows = np.array(
        [fragment.physical_rows - fragment.num_deletions for fragment in fragments], np.int64
    )
    count = min(count, len(fragments))
    # The middle of a fragment decides, so that groups of equal fragments have equal sizes.
    middles = np.cumsum(rows) - rows / 2
    owners = (middles * count / max(1, int(rows.sum()))).astype(np.int64).clip(0, count - 1)
    groups: list[list[int]] = [[] for _ in range(count)]
    for fragment, owner in zip(fragments, owners.tolist(), strict=True):
        groups[owner].append(fragment.fragment_id)
    return [group for group in groups if group]


@dataclass(frozen=True, slots=True)
class IndexTask:
    """The function of a task: its rows are positions in ``groups``.

    It returns an error of its input instead of raising it, so that Spark does not run it again.
    """

    table: TableRef
    version: TableVersion
    new: _NewIndex
    name: str
    groups: list[list[int]]
    count: Accumulator[int] | None = None

    @brief_rows
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads_to_task()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield self._segment(self.groups[number])

    def _segment(self, fragment_ids: list[int]) -> pa.RecordBatch:
        new, dataset = self.new, open_version(self.table, self.version)
        try:
            segment = dataset.create_index_uncommitted(
                new.column,
                new.kind,
                self.name,
                replace=True,
                fragment_ids=fragment_ids,
                **new.parameters,
            )
        except (InvalidInputError, UnsupportedFeatureError) as error:
            return report(error)
        if self.count is not None:
            fragments = [lance_core.LanceFragment(dataset, id_) for id_ in fragment_ids]
            self.count.add(
                sum(fragment.physical_rows - fragment.num_deletions for fragment in fragments)
            )
        return report(_to_json(segment))


def _to_json(segment: Index) -> str:
    made, details = segment.created_at, segment.index_details
    tree = {
        **asdict(segment),
        "fragment_ids": sorted(segment.fragment_ids or ()),
        "created_at": None if made is None else made.isoformat(),
        "index_details": None if details is None else (details[0], details[1].hex()),
    }
    return json.dumps(tree)


def _from_json(text: str) -> Index:
    tree = json.loads(text)
    made, details = tree["created_at"], tree["index_details"]
    tree["created_at"] = None if made is None else datetime.fromisoformat(made)
    tree["index_details"] = None if details is None else (details[0], bytes.fromhex(details[1]))
    tree["files"] = [IndexFile(**file) for file in tree["files"] or ()] or None
    return Index(**tree)
