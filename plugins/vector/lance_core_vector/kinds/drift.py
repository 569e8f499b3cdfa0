"""`Drift`: whether the rows that are added to an index are like those that it was trained with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core.errors import IndexWarning, LanceError
from lance_core.hookspecs.options import warn_caller
from lance_core_vector.kinds.ivf_index import IvfIndex
from lance_core_vector.kinds.move import stored_codes
from lance_core_vector.kinds.stored_encoder import encoder_of
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer

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

    It is measured for l2 and cosine, and for codes that can be decoded: not for RaBitQ.
    """

    def __init__(self, source: IvfIndex) -> None:
        self._source = source
        self._total = 0.0
        self._count = 0

    def add(
        self, vectors: npt.NDArray[Any], centroids: npt.NDArray[Any], owners: npt.NDArray[np.int64]
    ) -> None:
        """Measure new rows: their vectors, and the partition of each."""
        differences = vectors[:BATCH_ROWS] - centroids[owners[:BATCH_ROWS]]
        self._total += float(np.einsum("ij,ij->", differences, differences, dtype=np.float64))
        self._count += len(differences)

    def ratio(self) -> float | None:
        """How many times as far the new rows are; None if it is not known."""
        source = self._source
        is_measured = source.metric.name in ("l2", "cosine")
        if not is_measured or isinstance(source.quantizer, RabitQuantizer):
            return None
        if self._count < FEW_ROWS:
            return None
        try:
            known = _stored_loss(source)
        except (LanceError, OSError):
            return None  # the codes are not needed to add rows
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


def _stored_loss(source: IvfIndex) -> float:
    """The mean squared distance of some rows of an index from their centroids, by their codes."""
    lengths, encoder = source.model.lengths, encoder_of(source)
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(lengths))[:PARTITIONS]
    total = 0.0
    for number in np.sort(chosen).tolist():
        codes = source.quantizer.rows_of(stored_codes(source, number)[1])[:PARTITION_ROWS]
        found = encoder.decode(codes)
        if not isinstance(source.quantizer, ProductQuantizer):  # whose codes are of differences
            found = found - source.model.centroids[number]
        total += float(np.mean(np.einsum("ij,ij->i", found, found))) * int(lengths[number])
    return total / max(1, int(lengths[chosen].sum()))
