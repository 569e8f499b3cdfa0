"""Writes from any thread of a driver.

Spark looks for data sources of Python in the session that is active in the calling thread, and a
new thread has none: a write there fails with DATA_SOURCE_NOT_FOUND, although reads work. So a
writer of a data frame makes the frame's session active, as `SparkSession.createDataFrame` does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.readwriter import DataFrameWriter
from pyspark.sql.streaming.readwriter import DataStreamWriter


def writes_work_in_threads() -> None:
    """Let the writers of data frames activate their sessions; a second call changes nothing.

    Writers of Spark Connect are other classes: their sessions live in the server.
    """
    for writer in (DataFrameWriter, DataStreamWriter):
        if not hasattr(writer.__init__, "__wrapped__"):
            writer.__init__ = _activating(writer.__init__)  # type: ignore[method-assign]


def _activating(make: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(make)
    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
        make(self, *arguments, **named)
        _activate(self._spark)

    return __init__


def _activate(spark: SparkSession) -> None:
    """Make the session active in this thread, unless one is."""
    session: Any = spark
    sessions = SparkSession._get_j_spark_session_class(session._jvm)  # noqa: SLF001  # no public way
    if not sessions.getActiveSession().isDefined():
        sessions.setActiveSession(session._jsparkSession)  # noqa: SLF001  # as above


writes_work_in_threads()
