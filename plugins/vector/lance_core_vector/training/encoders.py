"""`Encoder`: how each kind of index trains and stores the vectors of its partitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.indices import TooFewRowsError
from lance_core_vector.distances import Metric
from lance_core_vector.loops.codewords import Codebook, nearest_codewords
from lance_core_vector.loops.graph import GraphVectors, Space
from lance_core_vector.loops.threads import in_threads
from lance_core_vector.quantizers import flat, product, scalar
from lance_core_vector.quantizers.base import fixed_bytes
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training import kmeans
from lance_core_vector.training.parameters import BuildParameters
from lance_core_vector.vectors import NUMBERS

PQ_ROWS = {4: 256, 8: 64}
PQ_ITERATIONS = 25
"""Rows of the sample for each codeword, by bits, and iterations: more of both change recalls by
less than a hundredth (measured on 152,286 SIFT descriptors and 100,000 text embeddings)."""

Floats = npt.NDArray[np.float32]


class Encoder(ABC):
    """The codes of one new index.

    Codes are an array with an item, or a row, for each vector: numbers, or records of several
    fields.
    """

    columns: Mapping[str, pa.DataType]
    """The columns with the codes, and the type of each."""

    codebook: Floats | None = None
    """Of the shape (parts, codewords, numbers of a part)."""

    is_row_by_row = True
    """True if `arrays` of some rows of a partition are a part of those of all its rows."""

    @abstractmethod
    def encode(
        self, vectors: npt.NDArray[Any], centroids: Floats, owners: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        """The codes of vectors; vector i is in the partition of ``centroids[owners[i]]``."""

    @abstractmethod
    def metadata(self) -> dict[str, Any]:
        """The metadata of the codes, without the number of the buffer of a codebook."""

    def arrays(self, codes: npt.NDArray[Any]) -> Sequence[pa.Array]:
        """The `columns` of a partition with these codes."""
        (codes_type,) = self.columns.values()
        return [fixed_size_lists(codes, codes_type)]

    def graph_vectors(self, codes: npt.NDArray[Any], metric: Metric) -> GraphVectors:
        """The vectors for which codes stand, as a graph compares them."""
        vectors = self.decode(codes)
        if metric.of_bits:
            return GraphVectors(Space.HAMMING, vectors)
        if metric.name == "l2":
            return GraphVectors(Space.L2_FLOATS, vectors)
        return GraphVectors(Space.DOT_FLOATS, vectors, base=1.0)

    def decode(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The vectors for which codes stand, in float32, or their differences from a centroid."""
        raise UnsupportedFeatureError(f"codes of {type(self).__name__} have no graph")


class FlatEncoder(Encoder):
    """Vectors as they are."""

    def __init__(self, width: int, item: pa.DataType) -> None:
        self._width = width
        self._dtype = NUMBERS[item]
        self.columns = {flat.COLUMN: pa.list_(item, width)}

    def encode(
        self, vectors: npt.NDArray[Any], centroids: Floats, owners: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        return vectors.astype(self._dtype)

    def decode(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return codes if codes.dtype == np.uint8 else codes.astype(np.float32, copy=False)

    def metadata(self) -> dict[str, Any]:
        return {"dim": self._width}


class ScalarEncoder(Encoder):
    """One byte a number; ``bounds``: the lowest and the highest number of the sample."""

    def __init__(self, width: int, low: float, high: float) -> None:
        self._width = width
        self.bounds = low, high
        self._quantizer = ScalarQuantizer(width, low, high, "l2", "")
        self.columns = {scalar.COLUMN: fixed_bytes(self._width)}

    @classmethod
    def trained(cls, sample: Floats) -> ScalarEncoder:
        """The range of a sample. Raises `InvalidInputError` for one that is too large."""
        low, high = float(sample.min()), float(sample.max())
        if scalar.usable_bounds(low, high) is None:
            raise InvalidInputError(
                f"vectors have numbers from {low:g} to {high:g}: codes of IVF_SQ have a range of "
                f"at most {scalar.MAX_RANGE:g}"
            )
        return cls(sample.shape[1], low, high)

    def encode(
        self, vectors: npt.NDArray[Any], centroids: Floats, owners: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        return self._quantizer.encode(vectors)

    def graph_vectors(self, codes: npt.NDArray[Any], metric: Metric) -> GraphVectors:
        if metric.name == "dot":
            return super().graph_vectors(codes, metric)
        return GraphVectors(Space.L2_BYTES, codes, scale=self._quantizer.step**2)

    def decode(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        quantizer = self._quantizer
        decoded = codes.astype(np.float32) * np.float32(quantizer.step)
        decoded += np.float32(quantizer.low)
        return decoded

    def metadata(self) -> dict[str, Any]:
        low, high = self.bounds
        return {"dim": self._width, "num_bits": 8, "bounds": {"start": low, "end": high}}


class ProductEncoder(Encoder):
    """A codeword for each part of a vector, or of its difference from the centroid."""

    def __init__(
        self, codebook: Floats, bits: int, *, is_residual: bool, transposed: bool = True
    ) -> None:
        """``transposed``: codes of a partition are stored part by part, else row by row."""
        self.codebook = codebook
        self._words = Codebook(codebook)
        self.is_row_by_row = not transposed
        self._bits = bits
        self._parts = len(codebook)
        self._width = self._parts * codebook.shape[2]
        self._residual = is_residual
        self.columns = {product.COLUMN: fixed_bytes(self._parts * bits // 8)}

    @classmethod
    def trained(
        cls,
        sample: Floats,
        centers: Floats,
        parameters: BuildParameters,
        random: np.random.Generator,
    ) -> ProductEncoder:
        """The codewords of a sample; ``centers``: the centroid of each of its vectors."""
        parts, count = parameters.num_parts or 1, 1 << parameters.bits
        is_residual, transposed = parameters.metric.name != "dot", parameters.transposed
        if parameters.models.codebook is not None:
            codebook = parameters.models.codebook.reshape(parts, count, -1)
            return cls(codebook, parameters.bits, is_residual=is_residual, transposed=transposed)
        if len(sample) < count:
            raise TooFewRowsError(
                f"Not enough rows to train PQ: {count} rows with a vector are needed, and there "
                f"are {len(sample)}"
            )
        some = slice(PQ_ROWS[parameters.bits] * count)
        vectors = _split(sample[some], centers[some] if is_residual else None, parts)
        iterations = min(PQ_ITERATIONS, parameters.iterations)
        starts = [kmeans.first_vectors(len(part), count, random) for part in vectors]

        def trained(number: int) -> Floats:
            part = vectors[number]
            return kmeans.improved(part, part[starts[number]], iterations=iterations)[0]

        codebook = np.stack([*in_threads(trained, range(parts))])
        return cls(codebook, parameters.bits, is_residual=is_residual, transposed=transposed)

    def encode(
        self, vectors: npt.NDArray[Any], centroids: Floats, owners: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        residuals = vectors - centroids[owners] if self._residual else vectors
        codes: npt.NDArray[Any] = nearest_codewords(residuals.astype(np.float32), self._words)
        if self._bits == 4:
            codes = codes[:, 0::2] | codes[:, 1::2] << 4
        return codes

    def decode(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        assert self.codebook is not None
        if self._bits == 4:
            codes = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), self._parts)
        vectors = np.empty((len(codes), self._parts, self.codebook.shape[2]), np.float32)
        for number, words in enumerate(self.codebook):
            vectors[:, number] = words[codes[:, number]]
        return vectors.reshape(len(codes), self._width)

    def arrays(self, codes: npt.NDArray[Any]) -> Sequence[pa.Array]:
        if self.is_row_by_row:
            return super().arrays(codes)
        return super().arrays(np.ascontiguousarray(codes.T).reshape(codes.shape))

    def metadata(self) -> dict[str, Any]:
        return {
            "nbits": self._bits,
            "num_sub_vectors": self._parts,
            "dimension": self._width,
            "codebook_tensor": [],
            "transposed": not self.is_row_by_row,
        }


def fixed_size_lists(rows: npt.NDArray[Any], list_type: pa.DataType) -> pa.Array:
    """A matrix as an array of the type ``list_type``, one row a list."""
    flat = from_numpy(np.ascontiguousarray(rows).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, list_type.list_size).cast(list_type)


def _split(vectors: npt.NDArray[Any], centers: Floats | None, parts: int) -> Floats:
    """The parts of vectors less their centers, of the shape (parts, vectors, numbers of a part)."""
    residuals = vectors if centers is None else vectors - centers
    split = residuals.astype(np.float32).reshape(len(residuals), parts, -1)
    return np.ascontiguousarray(split.transpose(1, 0, 2))
