"""What the pipeline does, whatever runs it."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass

import pyarrow as pa

import lance_core as lance
from examples.flights.progress import Progress
from examples.flights.tables import GOLD, Lake

TAKEN = 1000
SEED = 2013
STEPS = 7
"""The steps of `Results.of`."""


class Engine(ABC):
    """Runs the steps of the pipeline."""

    @abstractmethod
    def write_bronze(self) -> None:
        """Write each CSV as a table; the flights are those of the history."""

    @abstractmethod
    def write_silver(self) -> None:
        """Join the flights of the history with weather, airports, airlines and planes."""

    @abstractmethod
    def take_in_arrivals(self) -> None:
        """Append each arriving file to bronze, and upsert its flights into silver."""

    @abstractmethod
    def compact(self) -> None:
        """Merge the fragments of silver."""

    @abstractmethod
    def write_gold(self, table: str) -> None:
        """Aggregate silver by the groups of a table of gold."""

    @abstractmethod
    def merge_gold(self, table: str) -> None:
        """Aggregate silver again, and merge the groups into a table of gold."""

    @abstractmethod
    def count(self, uri: str, version: int | None = None) -> int:
        """Rows of a version of a table, the newest one if None."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the engine holds."""


@dataclass(frozen=True, slots=True)
class Results:
    """What the pipeline found."""

    rows: int
    rows_of_first_version: int
    taken: pa.Table
    fragments: tuple[int, int]
    """Of silver, before its compaction and after."""

    @classmethod
    def of(cls, engine: Engine, lake: Lake, progress: Progress) -> Results:
        """Run the steps one after the other."""
        with progress.step("bronze: five tables"):
            engine.write_bronze()
        with progress.step("silver: join January to October"):
            engine.write_silver()
        with progress.step("gold: three tables"):
            for table in GOLD:
                engine.write_gold(table)
        with progress.step("stream: upsert October to December"):
            engine.take_in_arrivals()
        with progress.step("compact silver"):
            before = _fragments(lake)
            engine.compact()
            fragments = before, _fragments(lake)
        with progress.step("merge: gold of the whole year"):
            for table in GOLD:
                engine.merge_gold(table)
        with progress.step("take rows, travel in time"):
            rows = engine.count(lake.silver)
            positions = random.Random(SEED).sample(range(rows), TAKEN)
            taken = lance.dataset(lake.silver).take(positions)
            first = engine.count(lake.flights, version=1)
        return cls(rows, first, taken, fragments)


def _fragments(lake: Lake) -> int:
    return len(lance.dataset(lake.silver).get_fragments())
