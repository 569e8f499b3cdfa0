"""The data source behind ``format("lance")``: schema, reader and writer of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.types import StructType

import lance_core
from lance_core.errors import DatasetNotFoundError, UnsupportedFeatureError
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.scan.reader import COUNT_SCHEMA, LanceReader, RowCountReader
from lance_core_spark.scan.row_bytes import estimated_bytes
from lance_core_spark.scan.schema import check_filter, read_schema
from lance_core_spark.stream.change_feed import with_change_columns
from lance_core_spark.table_ref import TableVersion, keep_open, open_version

if TYPE_CHECKING:
    from lance_core_spark.write.writer import LanceWriter


class LanceSource:
    """The options of a data frame, and the table version that all its reads use.

    Spark creates one instance for each data frame and copies it for each scan, so the constructor
    looks up the version once.
    """

    def __init__(self, options: Mapping[str, str | Secret]) -> None:
        options = hide_secrets(options)
        self._options = DataSourceOptions.parse(options)
        read, number = self._options.read, self._options.read.version
        self._table = replace(self._options.table, branch=read.branch)
        if read.tag is not None:
            self._table, number = self._table.at_tag(read.tag)
        if number is None and read.asof is None:
            dataset = self._table.open_if_exists()  # None if a write will create the table
        else:
            dataset = self._table.open(number, read.asof)
        self._version = None if dataset is None else keep_open(self._table, dataset)

    @property
    def options(self) -> DataSourceOptions:
        """The parsed options."""
        return self._options

    def schema(self) -> StructType:
        """The schema of a read."""
        if self._options.read.count_only:
            return COUNT_SCHEMA
        dataset = open_version(self._table, self._existing())
        check_filter(dataset, self._options.read)
        schema = read_schema(dataset, self._options.read)
        return with_change_columns(schema) if self._options.stream.reads_change_feed else schema

    def estimated_bytes(self) -> float:
        """The estimated bytes in memory of all rows, with the columns of a read."""
        dataset = open_version(self._table, self._existing())
        return estimated_bytes(dataset, self._options.read.columns)

    def count_rows(self) -> int:
        """The rows of the version, without those that are deleted; reads no data file."""
        return open_version(self._table, self._existing()).count_rows()

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns ``schema``."""
        if self._options.stream.reads_change_feed:
            from lance_core_spark.stream.version_reader import ChangeReader  # Other reads skip it.

            return ChangeReader(self._options, schema)
        self._options.stream.check_not_given()
        if self._options.read.filter is not None:  # Spark requests no schema if the user gives one
            check_filter(open_version(self._table, self._existing()), self._options.read)
        reader_class = RowCountReader if self._options.read.count_only else LanceReader
        return reader_class(self._table, self._existing(), schema, self._options.read)

    def writer(self, schema: StructType, overwrite: bool) -> LanceWriter:
        """A writer of rows with the columns ``schema``."""
        if self._options.read.branch is not None:
            raise UnsupportedFeatureError("the option 'branch' is for reads only")
        from lance_core_spark.write.plan import plan_write  # Processes that plan reads skip these.
        from lance_core_spark.write.writer import LanceWriter

        return LanceWriter(plan_write(self._options, schema, overwrite, self._newest()))

    def _newest(self) -> lance_core.LanceDataset | None:
        """The version that a write is based on, None if the table does not exist."""
        read, table = self._options.read, self._options.table
        if self._version is None or (read.version, read.asof, read.tag) != (None, None, None):
            return table.open_if_exists()
        return open_version(table, self._version)

    def _existing(self) -> TableVersion:
        if self._version is None:
            raise DatasetNotFoundError(f"no table exists at {self._table}")
        return self._version
