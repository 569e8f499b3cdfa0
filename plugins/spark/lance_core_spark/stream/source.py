"""The source of a streaming query: the rows that the versions of a table add.

Spark makes several readers for one query, so the state of the stream is only in its offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core.hookspecs.concurrency import num_processors
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.scan.partitions import (
    FragmentSize,
    LancePartition,
    RowRange,
    partition_count,
)
from lance_core_spark.scan.reader import LanceReader
from lance_core_spark.stream.admission import Allowance, default_limit
from lance_core_spark.stream.change_feed import (
    INSERT,
    changed_rows,
    stored_columns,
    with_changes,
)
from lance_core_spark.stream.history import StreamHistory
from lance_core_spark.stream.offset import StreamOffset
from lance_core_spark.stream.version_changes import VersionRows
from lance_core_spark.table_ref import TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task


@dataclass(frozen=True)
class VersionPart:
    """Row ranges of a version, or the rows that it changed (``is_diff``)."""

    version: TableVersion
    ranges: tuple[RowRange, ...] = ()
    is_diff: bool = False


@dataclass(frozen=True)
class StreamPartition(InputPartition):
    """The rows that one task reads, in order."""

    parts: tuple[VersionPart, ...]


class LanceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the columns of ``schema`` from the rows that versions add.

    Raises `InvalidInputError` for options that streams do not have.
    """

    def __init__(self, options: DataSourceOptions, schema: StructType) -> None:
        _check_options(options)
        self._options = options
        self._schema = schema
        self._columns = schema
        if options.stream.reads_change_feed:
            self._columns = stored_columns(schema)
        self._history = StreamHistory(options, self._columns)
        self._last: StreamOffset | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._history.first_offset().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return default_limit(self._options.stream)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take no version after the newest one of now."""
        self._last = self._newest()

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next micro-batch: as many rows as ``limit`` and the options allow."""
        offset = StreamOffset.of(start)
        first = offset.first or offset
        newest = self._history.newest()
        last = None if self._last is None else self._last.version
        allowed = Allowance.of(self._options.stream, limit)
        for version in self._history.versions(offset, newest, last):
            if version.is_empty:
                offset = StreamOffset.after(version.version)
                continue
            if allowed.is_used_up:
                break
            number = version.version.number
            done = (offset.rows or 0) if offset.version == number else 0
            reached = done + allowed.take(version, done)
            if reached < version.rows:
                timestamp = version.version.timestamp
                offset = StreamOffset(number, timestamp, reached, version.is_snapshot)
                break
            offset = StreamOffset.after(version.version, version.is_snapshot)
        return replace(offset, first=first).to_json()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._newest().to_json()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        """The tasks for the rows between two offsets."""
        first, last = StreamOffset.of(start), StreamOffset.of(end)
        if first.first is None and last.first is not None:
            first = last.first  # Spark asks for the initial offset once more; it may be newer now.
        if first == last:
            return []
        newest = self._history.newest()
        if newest.version < last.version:
            raise DatasetNotFoundError(
                f"the table {self._options.table} was replaced: its newest version is "
                f"{newest.version}, and the stream has planned to read version {last.version}. "
                "Start a query with a new checkpoint"
            )
        versions = [
            version
            for version in self._history.versions(first, newest, last.version)
            if not version.is_empty
        ]
        return list(_partitions(versions, first, last, _partition_rows(versions, self._options)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, StreamPartition)
        limit_threads_to_task()
        for part in partition.parts:
            if part.is_diff:
                dataset = open_version(self._options.table, part.version)
                yield from changed_rows(dataset, self._schema)
                continue
            read = self._options.read
            reader = LanceReader(self._options.table, part.version, self._columns, read)
            for batch in reader.read(LancePartition(part.ranges)):
                if self._options.stream.reads_change_feed:
                    number = part.version.number
                    yield with_changes(batch, self._schema, INSERT, number)
                else:
                    yield batch

    def _newest(self) -> StreamOffset:
        return StreamOffset.after(TableVersion.of(self._history.newest()))


def _check_options(options: DataSourceOptions) -> None:
    read = options.read
    refused: dict[str, object] = {
        "'version'; use 'starting_version'": read.version,
        "'timestamp'; use 'starting_timestamp'": read.asof,
        "'tag'; use 'starting_version'": read.tag,
        "'branch'": read.branch,
        "'limit'": read.limit,
        "'fragments'": read.fragments,
        "'count_only'": read.count_only or None,
    }
    if options.stream.reads_change_feed:
        refused |= {
            "'read_change_feed' together with 'filter'": read.filter,
            "'read_change_feed' together with 'blob_handling'": read.blob_handling,
            "'read_change_feed' together with meta columns": read.meta_columns or None,
        }
    for what, value in refused.items():
        if value is not None:
            raise InvalidInputError(f"a stream cannot have the option {what}")


def _partition_rows(versions: Sequence[VersionRows], options: DataSourceOptions) -> int:
    """The maximum rows of a partition."""
    if options.read.rows_per_partition is not None:
        return options.read.rows_per_partition
    rows = max(1, sum(version.rows for version in versions))
    size = FragmentSize(0, rows, sum(version.bytes for version in versions) / rows)
    return -(-rows // partition_count([size], options.read.min_partitions or num_processors()))


def _partitions(
    versions: Sequence[VersionRows], start: StreamOffset, end: StreamOffset, limit: int
) -> Iterator[StreamPartition]:
    """Partitions with the rows of ``versions`` between two offsets, at most ``limit`` in each."""
    parts: list[VersionPart] = []
    used = 0
    for version in versions:
        for part, count in _parts(version, *_bounds(version, start, end), limit):
            if parts and used + count > limit:
                yield StreamPartition(tuple(parts))
                parts, used = [], 0
            parts.append(part)
            used += count
    if parts:
        yield StreamPartition(tuple(parts))


def _bounds(version: VersionRows, start: StreamOffset, end: StreamOffset) -> tuple[int, int]:
    """The first row of a version after ``start``, and the row after the last one before ``end``."""
    number = version.version.number
    first = (start.rows or 0) if number == start.version else 0
    last = version.rows if number < end.version or end.rows is None else end.rows
    return first, last


def _parts(
    version: VersionRows, first: int, last: int, limit: int
) -> Iterator[tuple[VersionPart, int]]:
    """Parts of at most ``limit`` rows, and their rows; a part is in one fragment."""
    if version.is_diff:
        yield VersionPart(version.version, is_diff=True), version.rows
        return
    begin = 0
    for fragment in version.fragments:
        low, high = max(first - begin, 0), min(last - begin, fragment.rows)
        begin += fragment.rows
        while low < high:
            stop = min(high, low + limit)
            yield VersionPart(version.version, ((fragment.id, low, stop),)), stop - low
            low = stop
