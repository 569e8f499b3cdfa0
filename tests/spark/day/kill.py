"""Kill the process that works on rows, once: Spark does its task again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from tests.spark.faults.faulty_source import java_above

VICTIM = "LANCE_CORE_VICTIM"
"""The variable that says which process dies: ``executor``, or ``worker``, which runs Python."""


def killing_once(
    marker: str,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function of tasks that returns its rows; the first that has any dies after them.

    ``marker``: a file that tells that it has happened.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if batch.num_rows:
                _die_once(Path(marker))

    return task


def _die_once(marker: Path) -> None:
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    is_worker = os.environ.get(VICTIM) != "executor"
    os.kill(os.getpid() if is_worker else java_above(os.getpid()), signal.SIGKILL)
    time.sleep(600)  # The executor takes its workers with it.
