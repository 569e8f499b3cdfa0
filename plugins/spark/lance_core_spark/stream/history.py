"""The history of a table as a stream reads it: its versions after an offset, and their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql.types import StructType

import lance_core
from lance_core.errors import (
    DatasetNotFoundError,
    InvalidInputError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.scan.schema import check_schema, read_schema
from lance_core_spark.stream.offset import StreamOffset
from lance_core_spark.stream.version_changes import (
    VersionRows,
    has_new_schema,
    snapshot_rows,
    version_rows,
)
from lance_core_spark.table_ref import TableVersion, keep_open


@dataclass(frozen=True, slots=True)
class StreamHistory:
    """The versions of a table for a stream with the columns ``schema``."""

    options: DataSourceOptions
    schema: StructType

    def newest(self) -> lance_core.LanceDataset:
        """The newest version; raises `DatasetNotFoundError` and `UnsupportedFeatureError`."""
        dataset = self.options.table.open()
        if self.options.stream.reads_change_feed and not dataset.has_stable_row_ids:
            raise UnsupportedFeatureError(
                f"the table {self.options.table} has no stable row ids, so its changes are not "
                "known: create it with the option 'enable_stable_row_ids'"
            )
        return dataset

    def first_offset(self) -> StreamOffset:
        """The offset that a new query starts from, by its options.

        Without options, the query first gets all rows of the newest version. Raises
        `InvalidInputError` for a version or time after the newest version, and
        `DatasetNotFoundError` for a removed version.
        """
        dataset, stream = self.newest(), self.options.stream
        start, newest = stream.starting_version, TableVersion.of(dataset)
        if stream.starting_timestamp is not None:
            start = self._version_at(stream.starting_timestamp, dataset)
        if start == "latest":
            return StreamOffset.after(newest)
        if start == "earliest":
            numbers = [ref["version"] for ref in dataset.version_refs()]
            if numbers[0] == 1:
                return StreamOffset(0, None)
            dataset = dataset.checkout_version(numbers[0])
        elif start is not None:
            return self._before(int(start), dataset)
        version = TableVersion.of(dataset)
        return StreamOffset(version.number, version.timestamp, 0, is_snapshot=True)

    def last_offset(self, first: StreamOffset) -> StreamOffset:
        """The offset that a batch read of changes from ``first`` ends at, by its options.

        Raises `InvalidInputError` for a version after the newest one, or before ``first``, and
        `DatasetNotFoundError` for a removed version.
        """
        newest, stream = self.newest(), self.options.stream
        last = newest
        if stream.ending_timestamp is not None:
            last = self.options.table.open(asof=stream.ending_timestamp)
        elif stream.ending_version is not None:
            if stream.ending_version > newest.version:
                raise InvalidInputError(
                    f"option 'ending_version': version {stream.ending_version} does not exist; the "
                    f"newest version is {newest.version}"
                )
            last = self._open(stream.ending_version, newest)
        if last.version < first.version:
            raise InvalidInputError(
                f"the last version of the changes, {last.version}, is before the first one, "
                f"{first.version + 1}"
            )
        return StreamOffset.after(TableVersion.of(last))

    def _version_at(self, moment: str, newest: lance_core.LanceDataset) -> int | str:
        """The number of the first version that was not committed before ``moment``."""
        if moment in ("latest", "earliest"):
            return moment
        try:
            last = self.options.table.open(asof=moment)
        except DatasetNotFoundError:
            return "earliest"
        if _is_at(last, moment):
            return last.version
        if last.version < newest.version:
            return last.version + 1
        raise InvalidInputError(
            f"option 'starting_timestamp': {moment} is after the newest version, {newest.version} "
            "('latest' starts there)"
        )

    def _before(self, start: int, newest: lance_core.LanceDataset) -> StreamOffset:
        if start > newest.version + 1:
            raise InvalidInputError(
                f"option 'starting_version': version {start} does not exist; the newest version is "
                f"{newest.version}"
            )
        if start == newest.version + 1:
            return StreamOffset.after(TableVersion.of(newest))
        self._open(start, newest)
        try:
            return StreamOffset.after(TableVersion.of(newest.checkout_version(start - 1)))
        except DatasetNotFoundError:
            return StreamOffset(start - 1, None)

    def versions(
        self, start: StreamOffset, newest: lance_core.LanceDataset, end: int | None = None
    ) -> Iterator[VersionRows]:
        """The rows of each version from ``start`` to ``newest`` or to the version ``end``.

        The first one is the version of ``start`` if it is not finished; its delivered rows are not
        left out. Raises `DatasetNotFoundError` if a version was removed or the table was replaced,
        `UnsupportedFeatureError` for changed rows, and `SchemaMismatchError`.
        """
        last = newest.version if end is None else end
        self._check_same_table(start, newest)
        if start.rows is not None:
            dataset = self._open(start.version, newest)
            yield self._snapshot(dataset) if start.is_snapshot else self._added(dataset)
        for number in range(start.version + 1, last + 1):
            yield self._added(self._open(number, newest))

    def _check_same_table(self, start: StreamOffset, newest: lance_core.LanceDataset) -> None:
        dataset = newest
        if 0 < start.version < newest.version and start.timestamp is not None:
            try:
                dataset = newest.checkout_version(start.version)
            except DatasetNotFoundError:
                return  # A cleanup has removed it.
        is_same = start.version <= newest.version
        if start.timestamp is not None and dataset.version == start.version:
            is_same = TableVersion.of(dataset).timestamp == start.timestamp
        if not is_same:
            raise DatasetNotFoundError(
                f"the table {self.options.table} was replaced: its version {start.version} is not "
                "the one that the stream has read. Start a query with a new checkpoint"
            )

    def _open(self, number: int, newest: lance_core.LanceDataset) -> lance_core.LanceDataset:
        try:
            dataset = newest if number == newest.version else newest.checkout_version(number)
        except DatasetNotFoundError as error:
            raise DatasetNotFoundError(
                f"version {number} of {self.options.table} was removed by a cleanup before the "
                "stream had read it. Start a query with a new checkpoint, or keep versions for "
                "longer"
            ) from error
        keep_open(self.options.table, dataset)
        return dataset

    def _snapshot(self, dataset: lance_core.LanceDataset) -> VersionRows:
        self._check_columns(dataset)
        return snapshot_rows(dataset)

    def _added(self, dataset: lance_core.LanceDataset) -> VersionRows:
        number = dataset.version
        made_by = dataset.read_transaction(number)
        added = version_rows(dataset, made_by, self.options.stream.changes)
        if number > 1 and has_new_schema(made_by):
            self._check_same_columns(dataset)
        if not added.is_empty:
            self._check_columns(dataset)
        return added

    def _check_same_columns(self, dataset: lance_core.LanceDataset) -> None:
        """Raise `SchemaMismatchError` if a change of the schema has added or dropped columns."""
        names = set(read_schema(dataset, self.options.read).names)
        if self.options.read.columns is None and names != set(self.schema.names):
            now = sorted(names ^ set(self.schema.names))
            raise SchemaMismatchError(
                f"version {dataset.version} of {self.options.table} has other columns than the "
                f"stream ({', '.join(now)}): restart the query to read them, or name the columns "
                "with the option 'columns'"
            )
        self._check_columns(dataset)

    def _check_columns(self, dataset: lance_core.LanceDataset) -> None:
        """Raise `SchemaMismatchError` if the columns of the stream have other types."""
        try:
            check_schema(self.schema, dataset, self.options.read)
        except InvalidInputError as error:
            raise SchemaMismatchError(
                f"version {dataset.version} of {self.options.table} does not fit the columns of "
                f"the stream: {error}"
            ) from error


def _is_at(dataset: lance_core.LanceDataset, moment: str) -> bool:
    return TableVersion.of(dataset).timestamp == datetime.fromisoformat(moment).astimezone()
