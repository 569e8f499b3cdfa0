"""All pairs and triples, one after the other and interleaved, and a text of what came of them."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.explore.pairs.cases import Case, Summary, pairs, run_all, triples
from tests.explore.pairs.exploring import (
    MOST_CONTESTED,
    Explored,
    configuration,
    explore_pairs,
    unordered,
)

_PART = 40
"""Pairs that one task explores; each keeps its states only as long."""


@dataclass(frozen=True, slots=True)
class PairsSummary:
    """What came of everything. ``triples`` are sequences of three transactions."""

    pairs: Summary
    triples: Summary
    explored: Explored
    faulty: Explored
    seconds: float

    @property
    def violations(self) -> list[str]:
        """Everything that broke a promise."""
        return [
            *self.pairs.violations,
            *self.triples.violations,
            *self.explored.violations,
            *self.faulty.violations,
        ]

    def lines(self) -> list[str]:
        """The summary as text."""
        refused = sorted(self.pairs.careful.items(), key=lambda item: (-item[1], item[0]))
        return [
            sequences("operation pairs", self.pairs),
            sequences("operation triples", self.triples),
            interleavings("operation pairs, all interleavings", self.explored),
            interleavings("operation pairs, all interleavings with a fault", self.faulty),
            f"refused although they would commute, by ordered pairs: {len(refused)}",
            *(f"  {count:3} {name}" for name, count in refused),
            f"{self.seconds:.0f} s",
            *self.violations,
        ]


def sequences(title: str, summary: Summary) -> str:
    """One line about commits that follow each other."""
    ends = summary.ends
    return (
        f"{title}: {summary.cases:,} cases, {ends['R'] + ends['X']:,} refused "
        f"({ends['R']:,} retryable), {ends['I']:,} not applicable any more, "
        f"{ends['.']:,} merged, {len(summary.violations)} violations"
    )


def interleavings(title: str, explored: Explored) -> str:
    """One line about commits at the same time."""
    return (
        f"{title}: {explored.pairs:,} pairs, {explored.states:,} states, {explored.ends:,} ends, "
        f"{len(explored.violations)} violations"
    )


def run_pairs(processes: int = 1) -> PairsSummary:
    """Everything there is; minutes of work."""
    started = time.monotonic()
    quiet, contested = list(unordered()), list(unordered(MOST_CONTESTED))
    return PairsSummary(
        run_all(pairs()),
        run_all(triples(MOST_CONTESTED)),
        _explored(quiet, 0, processes),
        _explored(contested, 1, processes),
        time.monotonic() - started,
    )


def _explored(cases: Sequence[Case], faults: int, processes: int) -> Explored:
    tasks = [(cases[start : start + _PART], faults) for start in range(0, len(cases), _PART)]
    found: list[Explored]
    if processes == 1:
        found = [_explore(task) for task in tasks]
    else:
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            found = pool.map(_explore, tasks, chunksize=1)
    return Explored(
        sum(one.pairs for one in found),
        sum(one.states for one in found),
        sum(one.ends for one in found),
        tuple(violation for one in found for violation in one.violations),
    )


def _explore(task: tuple[Sequence[Case], int]) -> Explored:
    cases, faults = task
    return explore_pairs([configuration(case, faults) for case in cases])


def main(write: Callable[[str], object], processes: int) -> bool:
    """Run everything and write the summary; whether nothing broke a promise."""
    summary = run_pairs(processes)
    for line in summary.lines():
        write(f"{line}\n")
    return not summary.violations
