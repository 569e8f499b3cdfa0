"""The options of reads and writes, grouped by purpose: table, read, write, stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core_spark.options.option_reader import OptionReader
from lance_core_spark.options.read_options import LanceReadOptions
from lance_core_spark.options.stream_options import LanceStreamOptions
from lance_core_spark.options.write_options import LanceWriteOptions
from lance_core_spark.table_ref import TableRef


@dataclass(frozen=True, slots=True)
class DataSourceOptions:
    """All options of a data source."""

    table: TableRef
    read: LanceReadOptions
    write: LanceWriteOptions
    stream: LanceStreamOptions

    @classmethod
    def parse(cls, options: Mapping[str, str | Secret]) -> DataSourceOptions:
        """Parse all options; raises `InvalidInputError` for an unknown or malformed option."""
        options = hide_secrets(options)
        reader = OptionReader(options)
        uri = reader.uri()
        storage = reader.storage(uri)
        read, write = LanceReadOptions.parse(reader), LanceWriteOptions.parse(reader)
        stream = LanceStreamOptions.parse(reader)
        reader.finish()
        if read.unscaled_decimals and stream.reads_change_feed:
            raise InvalidInputError("the option 'unscaled_decimals' is for reads of rows only")
        return cls(TableRef.of(uri, storage), read, write, stream)
