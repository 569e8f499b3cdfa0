"""The number of threads of a Spark task, and the processors of a machine."""

from __future__ import annotations

import os

from pyspark import TaskContext

VARIABLE = "LANCE_CPU_THREADS"
"""The environment variable that limits the threads of lance_core and pylance in a process."""


def limit_threads_to_task() -> None:
    """Limit the threads of this process to the processors of its task (``spark.task.cpus``).

    Spark runs one task at a time in a Python process. Call this before the first read or write. A
    number in the environment variable `VARIABLE` takes precedence; outside of tasks nothing
    changes.
    """
    context = TaskContext.get()
    if context is not None:
        os.environ.setdefault(VARIABLE, str(max(1, context.cpus())))


def processors() -> int:
    """The processors of this machine, however many threads a process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
