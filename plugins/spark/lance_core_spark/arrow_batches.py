"""The size of the Arrow batches that Spark hands to Python."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import types as st

MAX_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
"""Spark's setting that limits the bytes of a batch, in 4.1 and newer."""

_DEFAULTS = frozenset({"64mb", "67108864", "67108864b"})
_NO_LIMIT = str((1 << 31) - 1)
"""The only value with which Spark does not compute the bytes of a batch."""


@contextlib.contextmanager
def limited_by_rows(frame: DataFrame) -> Iterator[None]:
    """A context in which only the number of rows limits batches, as it was before Spark 4.1.

    With a limit in bytes, Spark computes the size of the batch after each row, which takes half of
    Java's time for a table of 12 columns. The limit stays if it is not Spark's default, and if
    ``frame`` has binary columns, whose values may be large. The setting is one of the session, so
    it also applies to queries that other threads start at the same time.
    """
    conf = frame.sparkSession.conf
    limit = conf.get(MAX_BYTES, None)  # None if it is not set; Spark Connect returns the default
    if (limit is not None and limit.lower() not in _DEFAULTS) or _has_binary(frame.schema):
        yield
        return
    conf.set(MAX_BYTES, _NO_LIMIT)
    try:
        yield
    finally:
        conf.unset(MAX_BYTES)


def _has_binary(spark: st.DataType) -> bool:
    """True for a binary type, and for a type with one inside."""
    if isinstance(spark, st.StructType):
        return any(_has_binary(field.dataType) for field in spark)
    if isinstance(spark, st.ArrayType):
        return _has_binary(spark.elementType)
    if isinstance(spark, st.MapType):
        return _has_binary(spark.keyType) or _has_binary(spark.valueType)
    return isinstance(spark, st.BinaryType)
