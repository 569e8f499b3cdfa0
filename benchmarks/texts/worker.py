"""One library in a process of its own: builds of text indices, and timed queries."""

from __future__ import annotations

import importlib
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.processes.subject import Build, SubjectProcess, measured_build
from benchmarks.texts.questions import COLUMN, Question

T = TypeVar("T")

Hits = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
"""The ids and scores of the rows of an answer."""


@dataclass(frozen=True, slots=True)
class Timings:
    """The seconds of each query, and the processor seconds of one on average."""

    seconds: tuple[float, ...]
    processor: float


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """How long queries took, and what each found."""

    timings: Timings
    hits: tuple[Hits, ...]


WARM_QUERIES = 3
"""Queries that are answered before the time is measured."""


class Worker(SubjectProcess):
    """A process with a table of texts."""

    def build(self, arguments: Mapping[str, Any]) -> Build:
        """Build an index instead of the one that there is."""
        return self.run(_build, self.module, str(self.path), dict(arguments))

    def answers(self, questions: Sequence[Question], options: Mapping[str, Any]) -> Answers:
        """Answer ``questions`` one by one; ``options``: those of the scan.

        A ``{}`` in a filter is another number for each of them.
        """
        return self.run(_answers, self.module, str(self.path), list(questions), dict(options))


_numbers: dict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))
"""Of the filters of a table, by path: each library gets the same, also in one process."""

_datasets: dict[str, Any] = {}
"""Opened tables of this process, by path: they stay open between queries, as in a service."""


def _build(module: str, path: str, arguments: dict[str, Any]) -> Build:
    _datasets.clear()
    dataset = importlib.import_module(module).dataset(path)
    for index in dataset.describe_indices():
        dataset.drop_index(index.name)

    def build() -> Any:
        dataset.create_scalar_index(COLUMN, "INVERTED", **arguments)
        return importlib.import_module(module).dataset(path)

    return measured_build(Path(path), build)


def _answers(module: str, path: str, questions: list[Question], options: dict[str, Any]) -> Answers:
    if path not in _datasets:
        _datasets[path] = importlib.import_module(module).dataset(path)
    queries = [question.query(module) for question in questions]
    timings, tables = timed(queries, lambda query: _search(path, query, options))
    hits = tuple((table["id"].to_numpy(), table["_score"].to_numpy()) for table in tables)
    return Answers(timings, hits)


def timed(queries: Sequence[Any], search: Callable[[Any], T]) -> tuple[Timings, list[T]]:
    """How long ``search`` takes for each of ``queries``, and what it returns."""
    for query in queries[:WARM_QUERIES]:
        search(query)
    seconds, results = [], []
    used = time.process_time()
    for query in queries:
        start = time.perf_counter()
        results.append(search(query))
        seconds.append(time.perf_counter() - start)
    processor = (time.process_time() - used) / len(queries)
    return Timings(tuple(seconds), processor), results


def _search(path: str, query: Any, options: dict[str, Any]) -> Any:
    if "filter" in options:
        options = {**options, "filter": options["filter"].format(next(_numbers[path]))}
    return _datasets[path].to_table(columns=["id", "_score"], full_text_query=query, **options)
