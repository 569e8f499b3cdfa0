"""One library in a process of its own: builds of indices, and timed queries.

In one process, threads that one library leaves behind would be counted for another one, and the
loops without compiled code could not be measured beside those with it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

COLUMN = "vector"
K = 10


@dataclass(frozen=True, slots=True)
class Build:
    """What a build needed, and ``index_bytes``: the size of its files.

    ``memory``: the growth of the resident memory in bytes at most, with mapped files.
    """

    seconds: float
    processor: float
    memory: int
    index_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The times of each query, the processor seconds of one on average, and the rows by query.

    ``rows``: ids of the shape (queries, `K`); -1 where fewer rows were returned.
    """

    seconds: tuple[float, ...]
    processor: float
    rows: npt.NDArray[np.int64]


class Worker:
    """A process that has imported ``module``, with the variables ``environment``."""

    def __init__(self, module: str, path: Path, environment: Mapping[str, str]) -> None:
        self.path = path
        self._module, self._path = module, str(path)
        context = multiprocessing.get_context("spawn")
        self._process = ProcessPoolExecutor(1, mp_context=context)
        before = dict(os.environ)
        os.environ.update(environment)
        try:
            self._process.submit(_import, module).result()
        finally:
            os.environ.clear()
            os.environ.update(before)

    def build(self, kind: str, metric: str, arguments: Mapping[str, Any]) -> Build | None:
        """Build an index instead of the one that there is; None if the library cannot."""
        task = self._process.submit(_build, self._module, self._path, kind, metric, dict(arguments))
        return task.result()

    def answers(
        self,
        queries: npt.NDArray[np.float32],
        options: Mapping[str, Any],
        condition: str | None = None,
        *,
        is_batch: bool = False,
    ) -> Answers:
        """Answer ``queries`` one by one, or all at once; ``options``: those of ``nearest``."""
        arguments = (self._module, self._path, queries, dict(options), condition, is_batch)
        return self._process.submit(_answers, *arguments).result()

    def forget(self) -> None:
        """Close the table, whose files were replaced."""
        self._process.submit(_datasets.clear).result()

    def close(self) -> None:
        """End the process."""
        self._process.shutdown()


_datasets: dict[str, Any] = {}
"""Opened tables of this process, by path: they stay open between queries, as in a service."""


def _import(module: str) -> None:
    importlib.import_module(module)


def _build(
    module: str, path: str, kind: str, metric: str, arguments: dict[str, Any]
) -> Build | None:
    from lance_core.errors import UnsupportedFeatureError

    _datasets.clear()
    dataset = importlib.import_module(module).dataset(path)
    for index in dataset.describe_indices():
        dataset.drop_index(index.name)
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    start, used = time.perf_counter(), time.process_time()
    try:
        dataset.create_index(COLUMN, kind, metric=metric, replace=True, **arguments)
    except UnsupportedFeatureError:
        return None
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    memory = _resident("VmHWM") - before
    (segment,) = dataset.describe_indices()[0].segments
    files = (Path(path) / "_indices" / segment.uuid).iterdir()
    return Build(seconds, processor, memory, sum(file.stat().st_size for file in files))


def _resident(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise KeyError(name)


def _answers(
    module: str,
    path: str,
    queries: npt.NDArray[np.float32],
    options: dict[str, Any],
    condition: str | None,
    is_batch: bool,
) -> Answers:
    if path not in _datasets:
        _datasets[path] = importlib.import_module(module).dataset(path)
    asked = [queries] if is_batch else list(queries)
    for one in asked[:3]:
        _search(path, one, options, condition)
    seconds, tables = [], []
    used = time.process_time()
    for one in asked:
        start = time.perf_counter()
        tables.append(_search(path, one, options, condition))
        seconds.append(time.perf_counter() - start)
    processor = (time.process_time() - used) / len(asked)
    rows = np.full((len(queries), K), -1)
    for number, table in enumerate(tables):
        ids = table["id"].to_numpy()
        if is_batch:
            owners = table["query_index"].to_numpy()
            for query in range(len(queries)):
                own = ids[owners == query]
                rows[query, : len(own)] = own
        else:
            rows[number, : len(ids)] = ids
    return Answers(tuple(seconds), processor, rows)


def _search(
    path: str, q: npt.NDArray[np.float32], options: dict[str, Any], condition: str | None
) -> Any:
    nearest = {"column": COLUMN, "q": q, "k": K, **options}
    given = {} if condition is None else {"filter": condition, "prefilter": True}
    return _datasets[path].to_table(columns=["id", "_distance"], nearest=nearest, **given)
