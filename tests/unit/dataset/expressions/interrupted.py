"""Interrupts long evaluations of each kind, and prints how long each went on: a program for tests.

``python -m tests.unit.dataset.expressions.interrupted FOLDER [KIND …]``
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

import lance_core as lance
from lance_core.dataset.dataset import LanceDataset

DELAY = 0.5
"""Seconds of the evaluation before the signal."""

REPEATED = 5.0
"""Seconds until another signal: Python loses one that arrives in a callback of its own, such as
that of the lock of an import."""

_PATTERN = "(x+x+)+y|(a|aa)+b$|[a-z]*q[a-z]*q[a-z]*q"
_NUM_CALLS = 40


def condition(column: str) -> str:
    """A condition that takes minutes for the rows of `table`."""
    parts = (f"regexp_like({column}, '(a|b|x)+(q|y)+[abx]*z{i}')" for i in range(10 * _NUM_CALLS))
    return " OR ".join(parts)


def value(column: str) -> str:
    """A number that takes minutes for the rows of `table`."""
    parts = (
        f"length(regexp_replace({column}, '{_PATTERN}{i}', 'z', 'g'))" for i in range(_NUM_CALLS)
    )
    return " + ".join(parts)


def table() -> pa.Table:
    """Long texts, so that each window of a scan has many bytes."""
    rng = np.random.default_rng(5)
    letters = rng.choice(np.frombuffer(b"abxyq", np.uint8), 16 << 20)
    edges = pa.py_buffer(np.arange(0, len(letters) + 1, 1 << 14, dtype=np.int32))
    texts = pa.StringArray.from_buffers(len(letters) >> 14, edges, pa.py_buffer(letters))
    return pa.table({"id": range(len(texts)), "s": texts})


def _lists(column: str) -> str:
    calls = (
        f"array_to_string(array_sort(string_to_array({column}, '{i}')), '-')"
        for i in range(_NUM_CALLS)
    )
    return " || ".join(calls)


_CROSS = "SELECT count(*) FROM d a, d b, d c, d e, d f WHERE a.id + b.id + c.id + e.id > f.id"


def _merge(dataset: LanceDataset) -> object:
    update = dataset.merge_insert("id").when_matched_update_all(condition("target.s"))
    return update.execute(dataset.to_table())


KINDS: dict[str, Callable[[LanceDataset], object]] = {
    "filter": lambda dataset: dataset.to_table(filter=condition("s")),
    "stream": lambda dataset: list(dataset.to_batches(filter=condition("s"))),
    "count_rows": lambda dataset: dataset.count_rows(condition("s")),
    "columns": lambda dataset: dataset.to_table(columns={"v": value("s")}),
    "update": lambda dataset: dataset.update({"id": value("s")}),
    "delete": lambda dataset: dataset.delete(condition("s")),
    "add_columns": lambda dataset: dataset.add_columns({"v": value("s")}),
    "merge": _merge,
    "plan": lambda dataset: dataset.count_rows(
        " AND ".join(f"length(s) > {-i}" for i in range(20_000))
    ),
}

ENGINE_KINDS: dict[str, Callable[[LanceDataset], object]] = {
    "engine": lambda dataset: dataset.to_table(columns={"v": _lists("s")}),
    "query": lambda dataset: dataset.sql(_CROSS).table_name("d").build().to_batch_records(),
}
"""What DataFusion evaluates."""


def _interrupt(sent: list[float], ended: threading.Event) -> None:
    pause = DELAY
    while not ended.wait(pause):
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
        pause = REPEATED


def main(folder: str, kinds: Iterable[str]) -> None:
    """Print the seconds from signal to `KeyboardInterrupt` for each kind, and the time."""
    # Shells let jobs in the background ignore the signal, and so do all processes that these start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dataset = lance.write_dataset(table(), f"{folder}/t.lance")
    seconds: dict[str, float | None] = {}
    for kind in kinds:
        sent: list[float] = []
        ended = threading.Event()
        thread = threading.Thread(target=_interrupt, args=(sent, ended))
        thread.start()
        try:
            (KINDS | ENGINE_KINDS)[kind](dataset)
            seconds[kind] = None  # it ended before the signal
        except KeyboardInterrupt:
            seconds[kind] = time.monotonic() - sent[0]
        ended.set()
        thread.join()
    sys.stdout.write(json.dumps([seconds, time.monotonic()]))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or KINDS)
