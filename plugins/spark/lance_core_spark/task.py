"""What a Spark task may use of its machine."""

from __future__ import annotations

import os

from pyspark import TaskContext

VARIABLE = "LANCE_CPU_THREADS"
"""How many threads lance_core and pylance keep busy in a process."""


def keep_to_share() -> None:
    """Let this process use as many threads as its task has processors (``spark.task.cpus``).

    Spark runs a process for each task that it has processors for. To be called before anything is
    read or written; a number in the environment counts more. Does nothing outside of tasks.
    """
    context = TaskContext.get()
    if context is not None:
        os.environ.setdefault(VARIABLE, str(max(1, context.cpus())))
