"""`TrainingFit`: how far rows are from the centroids of an index, when it was trained and since."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError, IndexWarning
from lance_core.hookspecs.options import warn_caller
from lance_core_vector.loops.passes import unit

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexFileReader
    from lance_core_vector.distances import Metric

FIT_KEY = "lance_core.training_fit"
"""The metadata of the file of the centroids that has a fit as JSON; other libraries write none."""

MAX_DRIFT = 2.5
"""How many times as far from their centroids rows may be that were added after the training, in
squared distances."""

FEW_ROWS = 100
"""Added rows below which nothing is said of them."""

_BATCH_ROWS = 256
"""Vectors of a batch whose distances are measured."""


@dataclass(frozen=True, slots=True)
class TrainingFit:
    """Mean squared distances of rows from the centroids of their partitions.

    ``trained``: that of the rows with which the index was built; ``added``: that of the
    ``num_added`` rows that were added with the same centroids, also of those deleted since.

    For hamming, the distance is the number of different bits; for dot, that of vectors of the
    length one, since the angle decides which centroid a vector has.
    """

    trained: float
    added: float = 0.0
    num_added: int = 0

    @classmethod
    def of(cls, reader: IndexFileReader) -> TrainingFit | None:
        """That of the file of an index; None if it has none. Raises `CorruptFileError`."""
        text = reader.metadata.get(FIT_KEY)
        if text is None:
            return None
        try:
            trained, added, num_added = json.loads(text)
            is_fit = type(num_added) is int and 0 <= num_added < 1 << 63
            is_fit &= all(type(mean) is float and 0 <= mean < math.inf for mean in (trained, added))
        except (ValueError, TypeError, RecursionError):
            is_fit = False
        if not is_fit:
            raise CorruptFileError(f"is {text[:80]!r}", reader.path, field=FIT_KEY)
        return cls(trained, added, num_added)

    def to_json(self) -> str:
        """The text for a file."""
        return json.dumps([self.trained, self.added, self.num_added])

    def plus(self, mean: float, count: int) -> TrainingFit:
        """This fit with ``count`` further rows at this mean distance."""
        total = self.num_added + count
        added = (self.added * self.num_added + mean * count) / total if total else 0.0
        return replace(self, added=added, num_added=total)

    @property
    def drift(self) -> float | None:
        """How many times as far as rows of the training added ones are; None for few of them."""
        if self.num_added < FEW_ROWS or self.trained <= 0:
            return None
        return self.added / self.trained


def warn_of_drift(drift: float | None, path: str) -> None:
    """Issue an `IndexWarning` if the drift of the index in the file ``path`` is above the limit."""
    if drift is not None and drift > MAX_DRIFT:
        warn_caller(
            f"rows added to the index in {path!r} are {drift:.1f} times as far from its centroids "
            "as those of its training (squared distances): searches may miss them; "
            "optimize_indices(retrain=True) trains it again",
            IndexWarning,
        )


class DistanceMeter:
    """The mean distance of vectors from their centroids, by some of each batch; see `TrainingFit`.

    ``count``: the vectors of all batches.
    """

    def __init__(self, metric: Metric) -> None:
        self._metric = metric
        self._total = 0.0
        self.count = 0

    def add(
        self, vectors: npt.NDArray[Any], centroids: npt.NDArray[Any], owners: npt.NDArray[np.int64]
    ) -> None:
        """Measure a batch: its vectors, and the partition of each."""
        if not len(vectors):
            return
        sampled = slice(None, None, -(-len(vectors) // _BATCH_ROWS))
        distances = centroid_distances(self._metric, vectors[sampled], centroids[owners[sampled]])
        self._total += float(distances.mean()) * len(vectors)
        self.count += len(vectors)

    @property
    def mean(self) -> float:
        """The mean distance; 0 without vectors."""
        return self._total / self.count if self.count else 0.0


def centroid_distances(
    metric: Metric, vectors: npt.NDArray[Any], centroids: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """How far each vector is from the centroid in the same row, see `TrainingFit`."""
    if metric.of_bits:
        pairs = (packed.astype(np.uint8) for packed in (vectors, centroids))
        bits = np.unpackbits(np.bitwise_xor(*pairs), axis=1)
        different: npt.NDArray[np.float64] = bits.sum(axis=1, dtype=np.float64)
        return different
    if metric.name == "dot":
        vectors, centroids = unit(vectors), unit(centroids)
    differences = vectors - centroids
    squares: npt.NDArray[np.float64]
    squares = np.einsum("ij,ij->i", differences, differences, dtype=np.float64)
    return squares
