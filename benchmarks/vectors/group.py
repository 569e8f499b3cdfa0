"""Vector search by this library, with and without compiled loops, and by pylance.

Each has the same table and makes an index of its own, with the same parameters. Queries are
answered in turn, each library in a process of its own. Recall is the share of the ten nearest rows
that are among the ten returned ones; rows that are as near as the tenth count as well.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.measure import Timing
from benchmarks.processes.subject import NUMPY, Build, subject_processes
from benchmarks.processes.summary import Summary, build_figures, cells, ratios_of
from benchmarks.report import OURS, PEER, Report
from benchmarks.vectors.in_memory import in_memory_figures
from benchmarks.vectors.kinds import (
    BATCH,
    FLAT,
    KINDS,
    MAX_RECALL_LOSS,
    Bars,
    Kind,
    Query,
)
from benchmarks.vectors.recall import ExactRows
from benchmarks.vectors.vector_sets import Floats, VectorSet, vector_sets
from benchmarks.vectors.worker import COLUMN, Answers, K, Worker

_NUMPY_VARIABLES = {"LANCE_CORE_VECTOR_LOOPS": "numpy", "LANCE_CORE_DISABLE_PLUGINS": "kernels"}

FILE_ROWS = 50_000
MAX_BUILD_ROUNDS = 3
SHORT_BUILD = 5.0
"""Seconds up to which a build is repeated."""


def vectors(report: Report, folder: Path, quick: bool) -> None:
    """Measure each set of vectors; at the end, print a table of all ratios."""
    summary = Summary()
    for vector_set in vector_sets(quick=quick):
        path = folder / f"vectors-{vector_set.name}"
        with _workers(vector_set, path) as workers:
            _SetBenchmark(report, summary, vector_set, workers, quick).run()
        shutil.rmtree(path)
    summary.print()


@contextmanager
def _workers(vector_set: VectorSet, path: Path) -> Iterator[dict[str, Worker]]:
    """A process for each subject, with a table of its own."""
    vectors = vector_set.vectors
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    table = pa.table({"id": np.arange(len(vectors)), "place": _places(vector_set), COLUMN: column})
    lance.write_dataset(table, str(path / PEER), max_rows_per_file=FILE_ROWS)
    with_numpy = importlib.util.find_spec("lance_core_vector._native") is not None
    with subject_processes(Worker, path, _NUMPY_VARIABLES if with_numpy else None) as workers:
        yield workers


def _places(vector_set: VectorSet) -> npt.NDArray[np.int64]:
    """A random order of the rows, by which filters keep a share of them."""
    return np.random.default_rng(1).permutation(len(vector_set.vectors))


class _SetBenchmark:
    """The benchmark of one set of vectors."""

    def __init__(
        self,
        report: Report,
        summary: Summary,
        vector_set: VectorSet,
        workers: Mapping[str, Worker],
        quick: bool,
    ) -> None:
        self._report, self._summary, self._set = report, summary, vector_set
        self._workers, self._quick = workers, quick
        self._exact = ExactRows(vector_set, _places(vector_set))
        self._bar = 0 if vector_set.metric == "l2" else 1

    def run(self) -> None:
        """Measure searches without an index, and then each kind of index."""
        shape = self._set.vectors.shape
        self._report.note(f"vectors {self._set.name}: rows", shape[0], f"of {shape[1]} numbers")
        for query in FLAT:
            self._compare("flat", query)
        for kind in KINDS:
            self._build(kind)
            for query in kind.queries:
                self._compare(kind.name, query)
            for options in kind.sweep:
                self._point(kind, options)
        self._compare_in_memory()

    def _build(self, kind: Kind) -> None:
        """Time builds. A subject that does not build the kind gets the index of another one."""
        arguments = kind.arguments(self._set.parts)
        builds: dict[str, list[Build]] = {}
        for name, worker in self._workers.items():
            made = None
            if name != NUMPY or kind.numpy_build_bars is not None:
                made = worker.build(kind.type, self._set.metric, arguments)
            if made is not None:
                builds[name] = [made]
            else:
                self._copy_index(name, [*builds][-1])
        rounds = 1 if self._quick else MAX_BUILD_ROUNDS
        if max(done[0].seconds for done in builds.values()) > SHORT_BUILD:
            rounds = 1
        for _ in range(rounds - 1):
            for name, done in builds.items():
                again = self._workers[name].build(kind.type, self._set.metric, arguments)
                assert again is not None
                done.append(again)
        figures = build_figures(builds)
        label = f"vectors {self._set.name} {kind.name}: build"
        bars = kind.build_bars, kind.numpy_build_bars
        self._add(
            label,
            figures.timings,
            bars,
            figures.remark,
            figures.values,
            by_processor=kind.by_processor,
        )

    def _copy_index(self, name: str, source: str) -> None:
        """Give a subject a table of links to the files of that of ``source``, with its index.

        The folder has a new name: processes keep what they have read of files, which never change.
        """
        worker = self._workers[name]
        copied = worker.path.with_name(f"{worker.path.name}-copy")
        shutil.copytree(self._workers[source].path, copied, copy_function=os.link)
        shutil.rmtree(worker.path)
        worker.open(copied)

    def _compare(self, kind: str, query: Query) -> None:
        """Time queries by all libraries; this library must find as many of the nearest rows."""
        queries = self._set.queries[: query.count]
        condition, limit = None, len(self._set.vectors)
        if query.share is not None:
            limit = max(K, round(query.share * limit))
            condition = f"place < {limit}"
        answers = self._answers(queries, query.options, condition, is_batch=query.is_batch)
        recalls = {
            name: self._recall(name, one, query.options, condition, limit)
            for name, one in answers.items()
        }
        label = f"vectors {self._set.name} {kind}: {query.name}"
        timings = {name: Timing(one.seconds, (one.processor,)) for name, one in answers.items()}
        remark = cells("recall", recalls, ".3f")
        bars = query.bars, query.numpy_bars
        self._add(label, timings, bars, remark, {"recall": recalls})
        least = max(query.min_recall, recalls[PEER] - MAX_RECALL_LOSS)
        if recalls[OURS] < least:
            self._report.missed.append(f"{label}: recall {recalls[OURS]:.3f} < {least:.3f}")

    def _answers(
        self,
        queries: Floats,
        options: Mapping[str, Any],
        condition: str | None = None,
        *,
        is_batch: bool = False,
    ) -> dict[str, Answers]:
        """The answers of each library in turn, several times; the shortest times count."""
        rounds: dict[str, list[Answers]] = {name: [] for name in self._workers}
        options = {"metric": self._set.metric, **options}
        for _ in range(1 if self._quick else 3):
            for name, worker in self._workers.items():
                answers = worker.answers(queries, options, condition, is_batch=is_batch)
                rounds[name].append(answers)
        answers_of = {}
        for name, done in rounds.items():
            fastest = min(done, key=lambda one: float(np.median(one.seconds)))
            answers_of[name] = replace(fastest, processor=min(one.processor for one in done))
        return answers_of

    def _recall(
        self,
        name: str,
        answers: Answers,
        options: Mapping[str, Any],
        condition: str | None = None,
        limit: int | None = None,
    ) -> float:
        """The recall of a library, by all queries: those after the timed ones are asked at once.

        A hundred queries are too few to compare two indices: their recalls would differ by more
        than `MAX_RECALL_LOSS` with the seed of the training alone.
        """
        rows = answers.rows
        others = self._set.queries[len(rows) :]
        if len(others) and not self._quick and options.get("use_index", True):
            options = {"metric": self._set.metric, **options}
            more = self._workers[name].answers(others, options, condition, is_batch=True)
            rows = np.concatenate([rows, more.rows])
        return self._exact.recall(rows, len(self._set.vectors) if limit is None else limit)

    def _compare_in_memory(self) -> None:
        """Report what libraries take that hold all vectors in memory."""
        for figures in in_memory_figures(self._set, self._set.queries[:BATCH]):
            median = float(np.median(figures.seconds))
            recall = self._exact.recall(figures.rows, len(self._set.vectors))
            self._report.say(
                f"vectors {self._set.name} in memory: {figures.name}",
                f"build {figures.build:6.2f} s  {1000 * median:9.3f} ms  recall {recall:.3f}",
                build=figures.build,
                medians={figures.name: median},
                recall={figures.name: recall},
            )

    def _point(self, kind: Kind, options: Mapping[str, Any]) -> None:
        """Recall and time of one choice of options, for charts."""
        queries = self._set.queries[:BATCH]
        given = {"metric": self._set.metric, **options}
        worker = self._workers[OURS]
        answers = worker.answers(queries, given)
        recall = self._recall(OURS, answers, options)
        median = float(np.median(answers.seconds))
        chosen = ", ".join(f"{name} {value}" for name, value in options.items())
        self._report.say(
            f"vectors {self._set.name} {kind.name}: {chosen}",
            f"{OURS} {1000 * median:9.3f} ms  recall {recall:.3f}",
            point={"kind": kind.name, "set": self._set.name, **options},
            medians={OURS: median},
            processor={OURS: answers.processor},
            recall={OURS: recall},
        )

    def _add(
        self,
        label: str,
        timings: Mapping[str, Timing],
        bars: tuple[Bars | None, Bars | None],
        remark: str,
        values: Mapping[str, object],
        *,
        by_processor: bool = False,
    ) -> None:
        """Report a comparison, and its ratios with their bars."""
        with_loops, with_numpy = (
            None if bar is None or self._quick else bar[self._bar] for bar in bars
        )
        self._report.add(
            label, timings, None if by_processor else with_loops, remark=remark, **values
        )
        ratios = {name: ratios_of(timings, name) for name in timings.keys() - {PEER}}
        if by_processor and OURS in ratios:
            self._report.ratio(f"{label}, processor time", ratios[OURS][1], with_loops)
        if NUMPY in ratios:
            self._report.ratio(f"{label}, {NUMPY}", ratios[NUMPY][by_processor], with_numpy)
        self._summary.add(self._set.name, label.partition(f"{self._set.name} ")[2], ratios, remark)
