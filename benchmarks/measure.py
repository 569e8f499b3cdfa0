"""Time several subjects in turn, so that all run in the same state of the machine."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Action = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """Elapsed seconds of one subject's runs, and processor seconds of all its threads."""

    seconds: tuple[float, ...]
    processor: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def quartile(self) -> float:
        """The lower quartile: of the times of scans it scatters by 1 %, the best one by 2 %."""
        return sorted(self.seconds)[len(self.seconds) // 4]


def interleaved(
    actions: Mapping[str, Action],
    rounds: int,
    prepare: Callable[[str], None] | None = None,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, Timing]:
    """Run every subject once to warm up, then in turn, ``rounds`` times.

    ``prepare`` is called with a subject's name before each of its runs, outside of the timing.
    ``clock`` tells the processor seconds that were used so far.
    """
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
    for turn in range(rounds + 1):
        for name, action in actions.items():
            if prepare is not None:
                prepare(name)
            gc.collect()
            start, used = time.perf_counter(), clock()
            result = action()
            spent = time.perf_counter() - start, clock() - used
            del result
            if turn:
                seconds[name].append(spent)
    return {name: Timing(*zip(*values, strict=True)) for name, values in seconds.items()}
