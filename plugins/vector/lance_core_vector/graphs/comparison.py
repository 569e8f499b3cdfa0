"""`Comparison`: how a search in a graph compares a query with the stored codes of vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import UnsupportedFeatureError
from lance_core_vector.distances import Metric
from lance_core_vector.loops.graph import GraphVectors, Space
from lance_core_vector.quantizers.base import Quantizer, matrix
from lance_core_vector.quantizers.flat import FlatQuantizer
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.scalar import ScalarQuantizer

_SPACES = {
    "l2": Space.L2_FLOATS,
    "cosine": Space.DOT_FLOATS,  # the vectors have the length one
    "dot": Space.DOT_FLOATS,
    "hamming": Space.HAMMING,
}
"""How vectors that are stored as they are, are compared for each metric."""


class Comparison(ABC):
    """How the codes of an index are compared. Immutable and thread-safe."""

    @abstractmethod
    def vectors(self, arrays: Sequence[pa.Array]) -> GraphVectors:
        """The codes of a partition, from its part of the columns."""

    @abstractmethod
    def query(self, vector: npt.NDArray[Any], partition: int) -> npt.NDArray[Any]:
        """A query vector in the form that the codes of a partition are compared with."""

    @classmethod
    def of(cls, quantizer: Quantizer, metric: Metric) -> Comparison | None:
        """The comparison of codes of ``quantizer``; None for those that loops do not compare."""
        if isinstance(quantizer, FlatQuantizer):
            (data_type,) = quantizer.columns.values()
            return (
                None if pa.types.is_float64(data_type.value_type) else _Same(_SPACES[metric.name])
            )
        if isinstance(quantizer, ScalarQuantizer):
            match metric.name:
                case "dot":
                    return _Same(Space.DOT_BYTES)
                case "l2" | "cosine":
                    return _ScalarL2(quantizer)
            raise UnsupportedFeatureError(f"graphs of scalar codes for the metric {metric.name}")
        return _Product(quantizer) if isinstance(quantizer, ProductQuantizer) else None


class _Same(Comparison):
    """Vectors, or codes whose order does not change if they are taken for vectors."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def vectors(self, arrays: Sequence[pa.Array]) -> GraphVectors:
        rows = matrix(arrays[0], "")
        if rows.dtype != np.uint8:
            rows = rows.astype(np.float32, copy=False)
        return GraphVectors(self._space, np.ascontiguousarray(rows))

    def query(self, vector: npt.NDArray[Any], partition: int) -> npt.NDArray[Any]:
        return vector if self._space is Space.HAMMING else vector.astype(np.float32)


class _ScalarL2(Comparison):
    def __init__(self, quantizer: ScalarQuantizer) -> None:
        self._quantizer = quantizer

    def vectors(self, arrays: Sequence[pa.Array]) -> GraphVectors:
        return GraphVectors(Space.L2_BYTES, np.ascontiguousarray(matrix(arrays[0], "")))

    def query(self, vector: npt.NDArray[Any], partition: int) -> npt.NDArray[Any]:
        return self._quantizer.encode(vector)


class _Product(Comparison):
    def __init__(self, quantizer: ProductQuantizer) -> None:
        self._quantizer = quantizer

    def vectors(self, arrays: Sequence[pa.Array]) -> GraphVectors:
        rows = np.ascontiguousarray(self._quantizer.rows_of(arrays))
        return GraphVectors(Space.TABLES, rows)

    def query(self, vector: npt.NDArray[Any], partition: int) -> npt.NDArray[Any]:
        table: npt.NDArray[np.float32]
        table = self._quantizer.tables(vector.astype(np.float32), [partition])[0]
        if self._quantizer.bits == 4:  # a table for each byte, which has two codes
            table = (table[1::2, :, None] + table[0::2, None, :]).reshape(-1, 256)
        return table
