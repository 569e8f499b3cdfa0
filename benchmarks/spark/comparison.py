"""Times the same work on a Lance table, on Parquet files, and through Spark's Arrow hop alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.measure import Action, interleaved
from benchmarks.report import OURS, Report
from benchmarks.spark.processes import PeakMemory, processor_seconds

PARQUET, HOP = "parquet", "arrow hop"
MAX_WORKER_MB = 1000.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """What all figures share."""

    spark: SparkSession
    report: Report
    folder: Path
    rows: int
    rounds: int

    def path(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def lance(self) -> str:
        """The path of the Lance table."""
        return self.path("table.lance")

    @property
    def parquet(self) -> str:
        """The path of the Parquet files of the same rows."""
        return self.path("table.parquet")

    def add(
        self,
        label: str,
        actions: Mapping[str, Action],
        bar: float | None = None,
        prepare: Callable[[str], None] | None = None,
        most_of_hop: float | None = None,
    ) -> None:
        """Time all actions in turn; those of a Lance table and of Parquet have the same result.

        ``bar``: the minimum of the time of Parquet to ours; ``most_of_hop``: the maximum of our
        time to that of an empty data source.
        """
        results: dict[str, object] = {}

        def act(name: str) -> None:
            results[name] = actions[name]()

        with PeakMemory() as peak:
            timed: dict[str, Action] = {name: lambda name=name: act(name) for name in actions}
            timings = interleaved(timed, self.rounds, prepare, processor_seconds)
        assert _is_same(results[OURS], results[PARQUET]), f"{label}: {results}"
        self.report.add(label, timings, bar, PARQUET)
        if most_of_hop is not None:
            ratio = timings[OURS].median / timings[HOP].median
            self.report.note(f"{label}: beside an empty source", ratio, "times", most_of_hop)
        if peak.megabytes:
            self.report.note(f"{label}: a worker's memory", peak.megabytes, "MB", MAX_WORKER_MB)


def partition_count(frame: DataFrame) -> int:
    """The number of tasks that read ``frame``, which this plans."""
    return frame._jdf.queryExecution().toRdd().getNumPartitions()  # noqa: SLF001


def _is_same(left: object, right: object) -> bool:
    """Whether two results are equal; sums of floats depend on the order of rows."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-6)
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(map(_is_same, left, right))
    return left == right
