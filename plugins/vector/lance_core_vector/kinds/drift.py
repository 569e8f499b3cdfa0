"""`Drift`: whether the rows that are added to an index are like those that it was trained with."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from lance_core.errors import LanceError
from lance_core_vector.kinds.ivf_index import IvfIndex
from lance_core_vector.kinds.move import stored_codes
from lance_core_vector.kinds.stored_encoder import encoder_of
from lance_core_vector.partitions.training_fit import (
    FEW_ROWS,
    DistanceMeter,
    TrainingFit,
    centroid_distances,
    warn_of_drift,
)
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer

PARTITIONS = 32
PARTITION_ROWS = 64
"""Partitions, and rows of each, to measure the rows of an index of which no fit is stored."""


class Drift:
    """The distances of new rows from their centroids, beside those of an index's rows.

    An index of another library has no `TrainingFit`: its codes say about how far its rows are.
    Those of IVF_RQ with dot do not, since they do not have the angles.
    """

    def __init__(self, source: IvfIndex) -> None:
        self._source = source
        self._meter = DistanceMeter(source.metric)
        self.add = self._meter.add

    def fit_with(self, sources: Iterable[IvfIndex]) -> TrainingFit | None:
        """The fit of an index of the rows of ``sources``, which have these centroids, and new ones.

        None if that of the training is not known. Issues an `IndexWarning` if the new rows fit the
        training much worse.
        """
        trained = self._trained()
        if trained is None:
            return None
        fit = TrainingFit(trained)
        warn_of_drift(self._with_new_rows(fit).drift, self._source.files.index.path)
        for source in sources:
            own = _stored_fit(source)
            if own is not None:
                fit = fit.plus(own.added, own.num_added)
        return self._with_new_rows(fit)

    def _with_new_rows(self, fit: TrainingFit) -> TrainingFit:
        return fit.plus(self._meter.mean, self._meter.count)

    def _trained(self) -> float | None:
        """The mean distance of the training: stored, or by codes if there are rows to compare."""
        source = self._source
        stored = _stored_fit(source)
        if stored is not None:
            return stored.trained
        if self._meter.count < FEW_ROWS:
            return None
        metric = source.metric.name
        if metric == "dot" and isinstance(source.quantizer, RabitQuantizer):
            return None
        try:
            known = _loss_of_codes(source)
        except (LanceError, OSError):
            return None  # the codes are not needed to add rows
        if metric in ("l2", "cosine"):
            # Codewords are nearer to the centroids than the vectors, down to about half as far. The
            # loss of the training is exact, and too low for an index that has grown since.
            known = max(known, (source.model.loss or 0.0) / max(1, int(source.model.lengths.sum())))
        return known


def _stored_fit(source: IvfIndex) -> TrainingFit | None:
    """The fit in the files of an index; None also if it is damaged: no search needs it."""
    try:
        return source.fit
    except LanceError:
        return None


def _loss_of_codes(source: IvfIndex) -> float:
    """The mean distance of some rows of an index from their centroids, by their codes."""
    lengths = source.model.lengths
    sampled = np.random.default_rng(0).permutation(np.flatnonzero(lengths))[:PARTITIONS]
    total = 0.0
    for number in np.sort(sampled).tolist():
        total += float(np.mean(_losses_of_codes(source, number))) * int(lengths[number])
    return total / max(1, int(lengths[sampled].sum()))


def _losses_of_codes(source: IvfIndex, number: int) -> npt.NDArray[np.floating]:
    """The distances of some rows of a partition."""
    centroid, quantizer = source.model.centroids[number], source.quantizer
    if isinstance(quantizer, RabitQuantizer):
        # Whose estimate of the distance from the centroid of the partition is exact.
        distances = source.distances_in(number, centroid)
        return distances * (distances > 0)
    stored = quantizer.rows_of(stored_codes(source, number)[1])[:PARTITION_ROWS]
    vectors = encoder_of(source).decode(stored)
    if isinstance(quantizer, ProductQuantizer) and source.metric.name != "dot":
        vectors = vectors + centroid  # codes are of differences
    return centroid_distances(source.metric, vectors, np.broadcast_to(centroid, vectors.shape))
