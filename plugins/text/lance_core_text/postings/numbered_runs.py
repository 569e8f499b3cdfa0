"""Items of runs, each with the number of its run and its own within it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers


def numbered_runs(counts: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """For each item of successive runs of ``counts`` items, its run, and its number from 0 on."""
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
