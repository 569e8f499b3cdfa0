"""The number of threads of a Spark task."""

from __future__ import annotations

import os

from pyspark import TaskContext

from lance_core.hookspecs.concurrency import THREADS_VARIABLE


def limit_threads_to_task() -> None:
    """Limit the threads of this process to the processors of its task (``spark.task.cpus``).

    Spark runs one task at a time in a Python process. Call this before the first read or write. A
    number in the environment variable `THREADS_VARIABLE` takes precedence; outside of tasks nothing
    changes.
    """
    context = TaskContext.get()
    if context is not None:
        os.environ.setdefault(THREADS_VARIABLE, str(max(1, context.cpus())))
