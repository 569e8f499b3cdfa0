"""One library in a process of its own: builds of indices, and timed queries."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.processes.subject import Build, SubjectProcess, measured_build

COLUMN = "vector"
K = 10


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The times of each query, the processor seconds of one on average, and the rows by query.

    ``rows``: ids of the shape (queries, `K`); -1 where fewer rows were returned.
    """

    seconds: tuple[float, ...]
    processor: float
    rows: npt.NDArray[np.int64]


class Worker(SubjectProcess):
    """A process with a table of vectors."""

    def build(self, kind: str, metric: str, arguments: Mapping[str, Any]) -> Build | None:
        """Build an index instead of the one that there is; None if the library cannot."""
        return self.run(_build, self.module, str(self.path), kind, metric, dict(arguments))

    def answers(
        self,
        queries: npt.NDArray[np.float32],
        options: Mapping[str, Any],
        condition: str | None = None,
        *,
        is_batch: bool = False,
    ) -> Answers:
        """Answer ``queries`` one by one, or all at once; ``options``: those of ``nearest``."""
        arguments = (self.module, str(self.path), queries, dict(options), condition, is_batch)
        return self.run(_answers, *arguments)

    def open(self, path: Path) -> None:
        """Build indices of, and search, the table at ``path`` from now on."""
        self.path = path
        self.run(_datasets.clear)


_datasets: dict[str, Any] = {}
"""Opened tables of this process, by path: they stay open between queries, as in a service."""


def _build(
    module: str, path: str, kind: str, metric: str, arguments: dict[str, Any]
) -> Build | None:
    from lance_core.errors import UnsupportedFeatureError

    _datasets.clear()
    dataset = importlib.import_module(module).dataset(path)
    for index in dataset.describe_indices():
        dataset.drop_index(index.name)

    def build() -> Any:
        dataset.create_index(COLUMN, kind, metric=metric, replace=True, **arguments)
        return dataset

    try:
        return measured_build(Path(path), build)
    except UnsupportedFeatureError:
        return None


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
