"""Full-text search by this library, with and without compiled loops, by pylance, and by engines.

Each has the same table and makes an index of its own. Queries are answered in turn, each library
in a process of its own; the shortest time of each query counts. Answers are compared: the same
rows and scores where all rows are wanted, and the same scores where rows of equal ones may be any.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

from benchmarks.measure import Timing
from benchmarks.processes.subject import NUMPY, Build, subject_processes
from benchmarks.processes.summary import Summary, build_figures, ratios_of
from benchmarks.report import OURS, PEER, Report
from benchmarks.texts.corpora import Corpus, corpus
from benchmarks.texts.engines import EngineProcess, engine_processes
from benchmarks.texts.questions import COLUMN, Questions
from benchmarks.texts.shapes import BUILDS, FILTERED, LEAST_TO_ENGINES, SHAPES, Shape
from benchmarks.texts.worker import Answers, Hits, Timings, Worker

_NUMPY_VARIABLES = {"LANCE_CORE_TEXT_LOOPS": "numpy", "LANCE_CORE_DISABLE_PLUGINS": "kernels"}

FILE_ROWS = 50_000
BUILD_ROUNDS, ROUNDS = 3, 5
QUERIES = 20
"""Of each shape."""

TOLERANCE = 1e-5
"""The relative difference of scores that may be."""


def text(report: Report, folder: Path, quick: bool) -> None:
    """Measure builds and queries; at the end, print a table of all ratios."""
    summary = Summary()
    found, path = corpus(quick=quick), folder / "text"
    table = pa.table({"id": np.arange(len(found.texts)), COLUMN: found.texts})
    lance.write_dataset(table, str(path / PEER), max_rows_per_file=FILE_ROWS)
    with (
        subject_processes(Worker, path, _NUMPY_VARIABLES) as workers,
        engine_processes(path, found.texts) as engines,
    ):
        _TextBenchmark(report, summary, found, workers, engines, quick).run()
    shutil.rmtree(path)
    summary.print()


class _TextBenchmark:
    """The benchmark of one set of texts."""

    def __init__(
        self,
        report: Report,
        summary: Summary,
        given: Corpus,
        workers: Mapping[str, Worker],
        engines: Mapping[str, EngineProcess],
        quick: bool,
    ) -> None:
        self._report, self._summary, self._corpus = report, summary, given
        self._workers, self._engines, self._quick = workers, engines, quick

    def run(self) -> None:
        """Measure builds, and queries of the index that was built last."""
        megabytes = self._corpus.texts.nbytes / 1e6
        self._report.note(self._label("rows"), len(self._corpus.texts), f"of {megabytes:.1f} MB")
        for name, (arguments, bar, numpy_bar) in BUILDS.items():
            self._build(name, arguments, (bar, numpy_bar))
        questions = Questions(self._corpus.texts, QUERIES)
        for shape in SHAPES:
            self._compare(shape, questions)

    def _build(
        self, name: str, arguments: Mapping[str, object], bars: tuple[float, float | None]
    ) -> None:
        builds: dict[str, list[Build]] = {subject: [] for subject in self._workers}
        for _ in range(1 if self._quick else BUILD_ROUNDS):
            for subject, worker in self._workers.items():
                builds[subject].append(worker.build(arguments))
            for subject, engine in self._engines.items():
                build = engine.build(arguments)
                if build is not None:
                    builds.setdefault(subject, []).append(build)
        figures = build_figures(builds)
        self._add(name, figures.timings, bars, figures.remark, figures.values)
        self._compare_engines(name, figures.timings, LEAST_TO_ENGINES["build"])

    def _compare(self, shape: Shape, questions: Questions) -> None:
        """Time the queries of a shape by all libraries, and compare what they find."""
        asked = shape.choose(questions)
        if not asked:  # of few texts
            return
        options: dict[str, object] = {"limit": shape.limit}
        if shape.filtered:
            limit = round(FILTERED * len(self._corpus.texts))
            number = " + {}" if shape.differs else ""
            options |= {"filter": f"id < {limit}{number}", "prefilter": True}
        rounds: dict[str, list[Answers]] = {subject: [] for subject in self._workers}
        times: dict[str, list[Timings]] = {subject: [] for subject in self._workers}
        for _ in range(1 if self._quick else ROUNDS):
            for subject, worker in self._workers.items():
                rounds[subject].append(worker.answers(asked, options))
                times[subject].append(rounds[subject][-1].timings)
            for subject, engine in self._engines.items():
                of_engine = engine.timings(shape, asked)
                if of_engine is not None:
                    times.setdefault(subject, []).append(of_engine)
        timings = {
            subject: Timing(
                tuple(np.min([one.seconds for one in own], axis=0).tolist()),
                (min(one.processor for one in own),),
            )
            for subject, own in times.items()
        }
        rows = np.mean([len(ids) for ids, _ in rounds[PEER][0].hits])
        remark = f"  {len(asked)} queries, {rows:.1f} rows"
        theirs = rounds[PEER][0].hits
        for subject in rounds.keys() - {PEER}:
            pairs = zip(theirs, rounds[subject][0].hits, strict=True)
            others = sum(not _alike(*pair, is_whole=shape.limit is None) for pair in pairs)
            if others:
                remark += f", {others} answers of {subject} differ"
                if not shape.may_differ:
                    text = f"{self._label(shape.name)}: {others} answers differ"
                    self._report.missed.append(text)
        self._add(shape.name, timings, (shape.bar, shape.numpy_bar), remark, {})
        self._compare_engines(shape.name, timings, LEAST_TO_ENGINES["queries"])

    def _compare_engines(self, name: str, timings: Mapping[str, Timing], bar: float) -> None:
        """Report ratios to the engines that were measured."""
        for engine in self._engines:
            if engine not in timings:
                continue
            ratio = timings[engine].median / timings[OURS].median
            label = f"{self._label(name)}, to {engine}"
            self._report.ratio(label, ratio, None if self._quick else bar)

    def _label(self, name: str) -> str:
        return f"text {self._corpus.name}: {name}"

    def _add(
        self,
        name: str,
        timings: Mapping[str, Timing],
        bars: tuple[float, float | None],
        remark: str,
        values: Mapping[str, object],
    ) -> None:
        """Report a comparison, and its ratios with their bars."""
        bar, numpy_bar = (None, None) if self._quick else bars
        self._report.add(self._label(name), timings, bar, remark=remark, **values)
        ratios = {subject: ratios_of(timings, subject) for subject in (OURS, NUMPY)}
        self._report.ratio(f"{self._label(name)}, {NUMPY}", ratios[NUMPY][0], numpy_bar)
        self._summary.add(self._corpus.name, name, ratios, remark)


def _alike(theirs: Hits, own: Hits, *, is_whole: bool) -> bool:
    """True if two answers are the same; of one that is not whole, only scores are compared."""
    if len(theirs[0]) != len(own[0]):
        return False
    if is_whole:
        theirs, own = _by_id(theirs), _by_id(own)
        if not np.array_equal(theirs[0], own[0]):
            return False
    return bool(np.allclose(theirs[1], own[1], rtol=TOLERANCE, atol=TOLERANCE))


def _by_id(hits: Hits) -> Hits:
    order = np.argsort(hits[0])
    return hits[0][order], hits[1][order]
