"""What the pipeline does, whatever runs it."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass

import pyarrow as pa

from examples.flights.progress import Progress

LONG_FLIGHT = 500
"""Miles."""

TAKEN = 1000
SEED = 2013

Delay = tuple[str, int, float]
"""Carrier, number of flights that arrived, mean delay of their arrival in minutes."""


class Engine(ABC):
    """Runs the steps of the pipeline."""

    @abstractmethod
    def write_first(self) -> None:
        """Write the flights of the first months as a new table."""

    @abstractmethod
    def append_rest(self) -> None:
        """Append the flights of the other months."""

    @abstractmethod
    def worst_delays(self) -> list[Delay]:
        """Carriers by the mean delay of their flights of more than `LONG_FLIGHT` miles."""

    @abstractmethod
    def take(self, indices: list[int]) -> pa.Table:
        """Rows of the table by position."""

    @abstractmethod
    def count(self, version: int | None = None) -> int:
        """Rows of a version, the newest one if None."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the engine holds."""


@dataclass(frozen=True, slots=True)
class Results:
    """What the pipeline found."""

    delays: list[Delay]
    taken: pa.Table
    rows: int
    rows_of_first_version: int

    @classmethod
    def of(cls, engine: Engine, progress: Progress) -> Results:
        """Run the steps one after the other."""
        with progress.step("write January to October"):
            engine.write_first()
        with progress.step("append November and December"):
            engine.append_rest()
        with progress.step("query"):
            delays = engine.worst_delays()
        with progress.step("take rows, travel in time"):
            rows = engine.count()
            taken = engine.take(random.Random(SEED).sample(range(rows), TAKEN))
            first = engine.count(version=1)
        return cls(delays, taken, rows, first)
