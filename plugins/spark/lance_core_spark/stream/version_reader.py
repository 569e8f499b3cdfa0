"""The rows that versions of a table add or change: their partitions, and how tasks read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core.hookspecs.concurrency import num_processors
from lance_core_spark.brief_errors import brief, brief_rows
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.scan.partitions import (
    FragmentSize,
    LancePartition,
    RowRange,
    partition_count,
)
from lance_core_spark.scan.reader import LanceReader
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


class VersionReader:
    """Reads the columns of ``schema`` from the rows that versions add or change.

    Raises `InvalidInputError` for options that such a read does not have.
    """

    def __init__(self, options: DataSourceOptions, schema: StructType) -> None:
        _check_options(options)
        self._options = options
        self._schema = schema
        self._columns = schema
        if options.stream.reads_change_feed:
            self._columns = stored_columns(schema)
        self.history = StreamHistory(options, self._columns)

    def partitions(self, first: StreamOffset, last: StreamOffset) -> list[InputPartition]:
        """The tasks for the rows between two offsets."""
        newest = self.history.newest()
        if newest.version < last.version:
            raise DatasetNotFoundError(
                f"the table {self._options.table} was replaced: its newest version is "
                f"{newest.version}, and the stream has planned to read version {last.version}. "
                "Start a query with a new checkpoint"
            )
        versions = [
            version
            for version in self.history.versions(first, newest, last.version)
            if not version.is_empty
        ]
        return list(_partitions(versions, first, last, _partition_rows(versions, self._options)))

    @brief_rows
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, in order."""
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


class ChangeReader(DataSourceReader):
    """A batch read of the changes that versions made, from one to another, both included."""

    def __init__(self, options: DataSourceOptions, schema: StructType) -> None:
        options.stream.check_batch()
        self._rows = VersionReader(options, schema)

    @brief
    def partitions(self) -> list[InputPartition]:
        first = self._rows.history.first_offset()
        last = self._rows.history.last_offset(first)
        return self._rows.partitions(first, last) or [StreamPartition(())]

    @brief_rows
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._rows.read(partition)


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
            raise InvalidInputError(
                f"a read of changes or of a stream cannot have the option {what}"
            )


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
