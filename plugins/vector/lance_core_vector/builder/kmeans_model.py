"""`KMeans`: clusters of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_numpy
from lance_core_vector.distances import METRICS
from lance_core_vector.loops.passes import unit
from lance_core_vector.training import kmeans
from lance_core_vector.vectors import matrix_of

Floats = npt.NDArray[np.float32]


class KMeans:
    """``k`` clusters of vectors of float32.

    ``metric_type``: ``l2``, ``cosine`` or ``dot``. ``max_iters``: iterations of a training at most.
    ``centroids``: those of an earlier training. The same vectors give the same clusters. Raises
    `InvalidInputError`.
    """

    def __init__(
        self,
        k: int,
        metric_type: str = "l2",
        max_iters: int = 50,
        centroids: pa.FixedSizeListArray | None = None,
    ) -> None:
        metric = METRICS.get(metric_type.lower())
        if metric is None or metric.of_bits:
            raise InvalidInputError(f"Invalid metric_type: {metric_type}")
        self.k = k
        self._metric = metric.name
        self._max_iters = max_iters
        self._centroids = None if centroids is None else _checked_matrix(centroids)

    def __repr__(self) -> str:
        return f"KMeans(k={self.k}, metric_type={self._metric})"

    @property
    def centroids(self) -> pa.FixedShapeTensorArray | None:
        """The centroids, None before a training."""
        if self._centroids is None:
            return None
        return pa.FixedShapeTensorArray.from_numpy_ndarray(self._centroids)

    def fit(self, data: pa.FixedSizeListArray | pa.FixedShapeTensorArray | Floats) -> None:
        """Train the centroids by vectors, an array with two dimensions."""
        vectors = self._vectors(data)
        if not len(vectors):
            raise InvalidInputError("there are no vectors")
        self._centroids, _ = kmeans.train(
            vectors,
            self.k,
            iterations=self._max_iters,
            random=np.random.default_rng(0),
            by_angle=self._metric == "dot",
        )

    def predict(
        self, data: pa.FixedSizeListArray | pa.FixedShapeTensorArray | Floats
    ) -> pa.UInt32Array:
        """The number of the nearest centroid of each vector."""
        if self._centroids is None:
            raise InvalidInputError("KMeans is not trained: call fit first")
        vectors, by_angle = self._vectors(data), self._metric == "dot"
        owners = kmeans.nearest(vectors, self._centroids, by_angle=by_angle)
        return from_numpy(owners.astype(np.uint32))

    def _vectors(self, data: Any) -> Floats:
        vectors = _checked_matrix(data)
        prepared: Floats = unit(vectors) if self._metric == "cosine" else vectors
        return prepared


def _checked_matrix(data: Any) -> Floats:
    """The vectors of an array of numpy or Arrow."""
    if isinstance(data, np.ndarray):
        if data.ndim != 2:
            raise InvalidInputError(f"Numpy array must be a 2-D array, got {data.ndim}-D")
        if data.dtype != np.float32:
            raise InvalidInputError(f"Numpy array must be float32 type, got: {data.dtype}")
        return np.ascontiguousarray(data)
    if isinstance(data, pa.FixedShapeTensorArray):
        if len(data.type.shape) != 1:
            raise InvalidInputError(
                f"Fixed shape tensor array must be a 1-D array, got {len(data.type.shape)}-D"
            )
        data = data.storage
    if not isinstance(data, pa.FixedSizeListArray):
        raise InvalidInputError("Data must be a FixedSizeListArray, Tensor or numpy array")
    if data.type.value_type != pa.float32():
        raise InvalidInputError(f"Array must be float32 type, got: {data.type.value_type}")
    flat = data.flatten()
    if data.null_count or flat.null_count:
        raise InvalidInputError("the vectors have null values")
    return matrix_of(data)
