"""Which partitions a query searches: those with the nearest centroids, and how many of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from lance_core_vector.options import NearestOptions

_BUCKETS = np.array([1, 10, 100, 200, 500, 1_000, 10_000, 100_000])
"""Numbers of rows to find; a query has the values of the first one that is not below its ``k``."""

_RULES: dict[str, tuple[tuple[float, ...], tuple[int, ...], tuple[int, ...]]] = {
    "l2": (
        (0.2175, 0.265, 0.33, 0.375, 0.3725, 0.4175, 0.57, 0.75),
        (5, 6, 11, 15, 22, 29, 98, 463),
        (19, 24, 38, 56, 81, 93, 238, 704),
    ),
    "cosine": (
        (0.235, 0.2875, 0.38, 0.415, 0.45, 0.47, 0.6475, 0.58),
        (3, 8, 7, 18, 28, 34, 104, 738),
        (50, 77, 106, 156, 192, 248, 447, 958),
    ),
    "dot": (
        (0.14, 0.055, 0.0625, 0.0675, 0.07, 0.0725, 0.0825, 0.21),
        (56, 144, 200, 211, 244, 279, 517, 1009),
        (112, 432, 768, 833, 971, 1092, 1824, 2528),
    ),
}
"""By metric: how much farther than the nearest centroid a centroid may be, as a share of its
distance, and the fewest and most partitions to search; for each of `_BUCKETS`. pylance searches
the same partitions by default, so that both libraries return the same rows."""
_RULES["hamming"] = _RULES["l2"]


def num_probes(
    distances: npt.NDArray[np.floating], metric: str, k: int, options: NearestOptions
) -> tuple[int, int]:
    """How many of the nearest partitions to search at first, and at most if rows are missing.

    ``distances``: those of all centroids, ascending.
    """
    count = len(distances)
    most = min(count, options.max_probes or count)
    least = min(most, options.min_probes or 1)
    if options.min_probes is not None and options.min_probes == options.max_probes:
        return most, most
    probes = options.probes or _automatic(distances, metric, k)
    effort = options.search_effort
    if effort is not None:
        probes = _with_effort(effort, least, min(max(probes, least), count), count)
    return min(max(probes, least), most), most


def _automatic(distances: npt.NDArray[np.floating], metric: str, k: int) -> int:
    margins, floors, caps = _RULES[metric]
    bucket = min(int(np.searchsorted(_BUCKETS, k)), len(_BUCKETS) - 1)
    nearest = float(distances[0])
    scale = abs(1 - nearest) if metric == "dot" else nearest
    limit = nearest + margins[bucket] * scale
    near = int(np.searchsorted(distances, limit, side="right"))
    return min(max(near, floors[bucket]), caps[bucket])


def _with_effort(effort: float, least: int, automatic: int, every: int) -> int:
    """From ``least`` (0) to ``automatic`` (one half) to ``every`` (1), in equal ratios between."""
    low, high, share = least, automatic, 2 * effort
    if share > 1:
        low, high, share = automatic, every, share - 1
    return math.ceil(float(low * (high / low) ** share) - 1e-9)
