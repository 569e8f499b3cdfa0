"""Which packages the processes of a cluster have, see docs/how-to/spark/packages-on-clusters.md."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession


def packages_of_executors(spark: SparkSession, tasks: int) -> list[tuple[str, ...]]:
    """The host, the Python, and the versions of lance-core and its plugins, where tasks run.

    ``tasks``: a few times the number of executors, so that each runs one.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import socket
        import sys
        from importlib.metadata import distributions

        names = {(found.name, found.version) for found in distributions()}
        ours = sorted(f"{name} {version}" for name, version in names if "lance-core" in name)
        for _ in batches:
            place = {"host": [socket.gethostname()], "python": [sys.executable]}
            yield pa.RecordBatch.from_pydict({**place, "packages": [", ".join(ours)]})

    numbers = spark.range(0, tasks, 1, tasks)
    found = numbers.mapInArrow(task, "host string, python string, packages string")
    return sorted(map(tuple, found.distinct().collect()))
