"""How many threads a Spark task uses."""

from __future__ import annotations

import os

from pyspark import TaskContext

VARIABLE = "LANCE_CPU_THREADS"
"""The environment variable that limits the threads of lance_core and pylance in a process."""


def limit_threads_to_task() -> None:
    """Let this process use as many threads as its task has processors (``spark.task.cpus``).

    Spark runs one Python process for each task at a time. Call this before anything is read or
    written. A number in the environment takes precedence; outside of tasks nothing changes.
    """
    context = TaskContext.get()
    if context is not None:
        os.environ.setdefault(VARIABLE, str(max(1, context.cpus())))
