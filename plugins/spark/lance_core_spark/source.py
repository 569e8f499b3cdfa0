"""A table as Spark sees it: its schema, a reader, a writer."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.types import StructType

import lance_core
from lance_core.errors import DatasetNotFoundError
from lance_core.store.secret import hide_secrets
from lance_core_spark.address import TableVersion, open_version, remember
from lance_core_spark.options import Options
from lance_core_spark.reader import LanceReader, table_schema
from lance_core_spark.writer import LanceWriter, plan_write


class LanceSource:
    """What Spark's options say, and the version that all reads of one data frame see.

    Spark makes an instance for each data frame and copies it for each scan, so the version is
    looked up once, here.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        options = hide_secrets(options)
        self._options = Options.parse(options)
        read, address = self._options.read, self._options.address
        if read.version is None and read.asof is None:
            found = address.find()  # none if a write is to make it
        else:
            found = address.open(read.version, read.asof)
        self._version = None if found is None else remember(address, found)

    def schema(self) -> StructType:
        """The columns of a read."""
        dataset = open_version(self._options.address, self._existing())
        return table_schema(dataset, self._options.read)

    def reader(self, schema: StructType) -> LanceReader:
        """A reader of these columns."""
        return LanceReader(self._options.address, self._existing(), schema, self._options.read)

    def writer(self, schema: StructType, overwrite: bool) -> LanceWriter:
        """A writer of rows with these columns."""
        return LanceWriter(plan_write(self._options, schema, overwrite, self._newest()))

    def _newest(self) -> lance_core.LanceDataset | None:
        """The version that a write builds on, None if there is no table yet."""
        read, address = self._options.read, self._options.address
        if self._version is None or read.version is not None or read.asof is not None:
            return address.find()
        return open_version(address, self._version)

    def _existing(self) -> TableVersion:
        if self._version is None:
            raise DatasetNotFoundError(f"there is no table at {self._options.address}")
        return self._version
