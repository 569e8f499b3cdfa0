"""The source of a streaming query: the rows that the versions of a table add.

Spark makes several readers for one query, so the state of the stream is only in its offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from lance_core_spark.brief_errors import brief, brief_rows
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.stream.admission import Allowance, default_limit
from lance_core_spark.stream.offset import StreamOffset
from lance_core_spark.stream.version_reader import VersionReader
from lance_core_spark.table_ref import TableVersion


class LanceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the columns of ``schema`` from the rows that versions add.

    Raises `InvalidInputError` for options that streams do not have.
    """

    def __init__(self, options: DataSourceOptions, schema: StructType) -> None:
        options.stream.check_stream()
        self._options = options
        self._rows = VersionReader(options, schema)
        self._history = self._rows.history
        self._last: StreamOffset | None = None

    @brief
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._history.first_offset().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return default_limit(self._options.stream)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take no version after the newest one of now."""
        self._last = self._newest()

    @brief
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

    @brief
    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        """The tasks for the rows between two offsets."""
        first, last = StreamOffset.of(start), StreamOffset.of(end)
        if first.first is None and last.first is not None:
            first = last.first  # Spark asks for the initial offset once more; it may be newer now.
        if first == last:
            return []
        return self._rows.partitions(first, last)

    @brief_rows
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._rows.read(partition)

    def _newest(self) -> StreamOffset:
        return StreamOffset.after(TableVersion.of(self._history.newest()))
