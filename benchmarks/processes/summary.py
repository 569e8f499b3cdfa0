"""The table at the end: ratios to pylance for each table and measure, with a remark.

A second ratio is that of processor time, which other programs on the machine disturb less.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.measure import Timing
from benchmarks.processes.subject import Build
from benchmarks.report import OURS, PEER


class Summary:
    """Collects a line for each set and measure."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, str, str, str]] = []

    def add(
        self,
        set_name: str,
        measure: str,
        ratios: Mapping[str, tuple[float, float]],
        remark: str,
    ) -> None:
        """``ratios`` of elapsed and processor time by subject: with and without compiled loops."""
        cells = {name: f"{elapsed:.2f} {used:.2f}" for name, (elapsed, used) in ratios.items()}
        loops = cells.pop(OURS, "-")
        numpy = "".join(cells.values()) or "-"
        self._lines.append((f"{set_name} {measure}", loops, numpy, remark.strip()))

    def print(self) -> None:
        """Write the table to the standard output."""
        heads = ("ratios to pylance", "loops", "numpy", "pylance / lance_core / numpy")
        for measure, loops, numpy, remark in (heads, *self._lines):
            sys.stdout.write(f"{measure:42} {loops:>12} {numpy:>12}  {remark}\n")
        sys.stdout.flush()


def ratios_of(timings: Mapping[str, Timing], name: str) -> tuple[float, float]:
    """The ratios of pylance's time to that of ``name``: elapsed, and of the processor."""
    own, peer = timings[name], timings[PEER]
    return peer.median / own.median, min(peer.processor) / min(own.processor)


def cells(title: str, values: Mapping[str, float], form: str) -> str:
    """A remark: a value of each subject."""
    return f"  {title}: " + " / ".join(format(value, form) for value in values.values())


class BuildFigures(NamedTuple):
    """What is reported of the builds of each subject: ``values`` go to the file of figures."""

    timings: dict[str, Timing]
    remark: str
    values: dict[str, dict[str, float]]


def build_figures(builds: Mapping[str, Sequence[Build]]) -> BuildFigures:
    """The times of all builds, the size of the first index and the largest memory."""
    timings = {
        subject: Timing(
            tuple(build.seconds for build in own), tuple(build.processor for build in own)
        )
        for subject, own in builds.items()
    }
    sizes = {subject: own[0].index_bytes / 1e6 for subject, own in builds.items()}
    memory = {subject: max(build.memory for build in own) / 1e6 for subject, own in builds.items()}
    remark = cells("MB of files", sizes, ".1f") + cells("MB of memory", memory, ".0f")
    return BuildFigures(timings, remark, {"megabytes": sizes, "memory": memory})
