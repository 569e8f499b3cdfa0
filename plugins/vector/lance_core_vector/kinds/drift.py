"""`Drift`: whether the rows that are added to an index are like those that it was trained with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lance_core.errors import IndexWarning, LanceError
from lance_core.hookspecs.options import warn_caller
from lance_core_vector.kinds.ivf_index import IvfIndex
from lance_core_vector.kinds.move import stored_codes
from lance_core_vector.kinds.stored_encoder import encoder_of
from lance_core_vector.loops.passes import unit
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer

if TYPE_CHECKING:
    from lance_core_vector.distances import Metric

MAX_RATIO = 2.5
"""How many times as far from their centroids as the others new rows may be, in squared distances.
Product codes stand for vectors that are nearer to the centroids, down to about half as far."""

FEW_ROWS = 100
"""New rows below which nothing is said of them."""

BATCH_ROWS = 256
"""Rows of a batch whose distances are measured."""

PARTITIONS = 32
PARTITION_ROWS = 64
"""Partitions, and rows of each, to measure the rows that the index has."""


class Drift:
    """The mean squared distance of new rows from their centroids, beside that of an index's rows.

    For hamming, the number of different bits; for dot, the distance of vectors of the length one,
    whose centroids are chosen by the angle. It is not measured for IVF_RQ with dot, of whose codes
    the angles are not known.
    """

    def __init__(self, source: IvfIndex) -> None:
        self._source = source
        self._total = 0.0
        self._count = 0

    def add(
        self, vectors: npt.NDArray[Any], centroids: npt.NDArray[Any], owners: npt.NDArray[np.int64]
    ) -> None:
        """Measure new rows: their vectors, and the partition of each."""
        some = slice(BATCH_ROWS)
        losses = _losses(self._source.metric, vectors[some], centroids[owners[some]])
        self._total += float(losses.sum())
        self._count += len(losses)

    def ratio(self) -> float | None:
        """How many times as far the new rows are; None if it is not known."""
        source, metric = self._source, self._source.metric.name
        if self._count < FEW_ROWS:
            return None
        if metric == "dot" and isinstance(source.quantizer, RabitQuantizer):
            return None
        try:
            known = _stored_loss(source)
        except (LanceError, OSError):
            return None  # the codes are not needed to add rows
        if metric in ("l2", "cosine"):
            # The loss of the training is exact, and too low for an index that has grown since.
            known = max(known, (source.model.loss or 0.0) / max(1, int(source.model.lengths.sum())))
        return self._total / self._count / known if known > 0 else None

    def warn(self) -> None:
        """Issue an `IndexWarning` if the new rows fit the training much worse."""
        ratio = self.ratio()
        if ratio is not None and ratio > MAX_RATIO:
            warn_caller(
                f"rows that are added to the index in {self._source.files.index.path!r} are "
                f"{ratio:.1f} times as far from its centroids as its others (squared distances): "
                "searches may miss them; optimize_indices(retrain=True) trains it again",
                IndexWarning,
            )


def _losses(
    metric: Metric, vectors: npt.NDArray[Any], centroids: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """How far each vector is from the centroid in the same row, see `Drift`."""
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


def _stored_loss(source: IvfIndex) -> float:
    """The mean loss of some rows of an index, by their codes."""
    lengths = source.model.lengths
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(lengths))[:PARTITIONS]
    total = 0.0
    for number in np.sort(chosen).tolist():
        total += float(np.mean(_stored_losses(source, number))) * int(lengths[number])
    return total / max(1, int(lengths[chosen].sum()))


def _stored_losses(source: IvfIndex, number: int) -> npt.NDArray[np.floating]:
    """The losses of some rows of a partition."""
    centroid, quantizer = source.model.centroids[number], source.quantizer
    if isinstance(quantizer, RabitQuantizer):
        # Whose estimate of the distance from the centroid of the partition is exact.
        distances = source.distances_in(number, centroid)
        return distances * (distances > 0)
    stored = quantizer.rows_of(stored_codes(source, number)[1])[:PARTITION_ROWS]
    vectors = encoder_of(source).decode(stored)
    if isinstance(quantizer, ProductQuantizer) and source.metric.name != "dot":
        vectors = vectors + centroid  # codes are of differences
    return _losses(source.metric, vectors, np.broadcast_to(centroid, vectors.shape))
