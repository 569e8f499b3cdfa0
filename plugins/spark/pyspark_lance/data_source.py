"""The data source class that Spark instantiates.

An error during the import of this module would hide all Python data sources from Spark. So it
imports only PySpark; the methods import the rest when they are called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _brief(method: _Method) -> _Method:
    """``method``, whose errors of lance-core have no traceback.

    Spark would show it before the text of the error. The variable ``LANCE_CORE_TRACEBACK`` with the
    value ``full`` keeps it.
    """

    @functools.wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except Exception as error:
            arguments, named = (), {}  # The frame would show secrets.
            if type(error).__module__ != "lance_core.errors":
                raise
            from lance_core_spark.brief_errors import shortened_error

            raise shortened_error(error) from None

    return call  # type: ignore[return-value]  # the same arguments and result


class DefaultSource(DataSource):
    """``format("lance")``: reads and writes Lance tables."""

    @_brief
    def __init__(self, options: MutableMapping[str, str]) -> None:
        from lance_core.hookspecs.options import hide_secrets

        options = hide_secrets(options)
        from lance_core_spark.source import LanceSource

        # Spark sends this instance to the executors. It keeps the parsed options only, whose
        # secrets have no readable representation.
        self._source = LanceSource(options)

    @classmethod
    def name(cls) -> str:
        return "lance"

    @_brief
    def schema(self) -> StructType:
        return self._source.schema()

    @_brief
    def reader(self, schema: StructType) -> DataSourceReader:
        return self._source.reader(schema)

    @_brief
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return self._source.writer(schema, overwrite)

    @_brief
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        # Processes that plan other reads and writes start faster without these modules.
        from lance_core_spark.stream.source import LanceStreamReader

        return LanceStreamReader(self._source.options, schema)

    @_brief
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from lance_core_spark.stream.sink import LanceStreamWriter

        return LanceStreamWriter(self._source.options, schema, overwrite)


def register(spark: SparkSession) -> None:
    """Register ``format("lance")`` with a session that does not find it.

    Needed only if the package was sent to the session (``addPyFile``, ``--py-files``) instead of
    being installed.
    """
    spark.dataSource.register(DefaultSource)
