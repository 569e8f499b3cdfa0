"""All pairs and triples, one after the other and interleaved, and a text of what came of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.explore.pairs.cases import Case, Summary, joined, pairs, run_all, triples
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
        f"({ends['R']:,} retryable), {ends['.']:,} merged, {len(summary.violations)} violations"
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
    with _tasks(processes) as each:
        return PairsSummary(
            joined(each(run_all, _parts(list(pairs()), 10 * _PART))),
            joined(each(run_all, _parts(list(triples(MOST_CONTESTED)), 10 * _PART))),
            _sum(each(_explore, [(p, 0) for p in _parts(list(unordered()), _PART)])),
            _sum(each(_explore, [(p, 1) for p in _parts(list(unordered(MOST_CONTESTED)), 8)])),
            time.monotonic() - started,
        )


@contextlib.contextmanager
def _tasks(processes: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A function that maps, here or in several processes."""
    if processes == 1:
        yield map
        return
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield pool.imap


def _parts(cases: Sequence[Case], size: int) -> list[Sequence[Case]]:
    return [cases[start : start + size] for start in range(0, len(cases), size)]


def _sum(found: Iterable[Explored]) -> Explored:
    parts = list(found)
    return Explored(
        sum(one.pairs for one in parts),
        sum(one.states for one in parts),
        sum(one.ends for one in parts),
        tuple(violation for one in parts for violation in one.violations),
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
