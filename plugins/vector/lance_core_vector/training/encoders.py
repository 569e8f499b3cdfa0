"""`Encoder`: how each kind of index trains and stores the vectors of its partitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.indices import VectorIndexDetails
from lance_core_vector.quantizers import flat, product, scalar
from lance_core_vector.quantizers.base import fixed_bytes
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training import kmeans
from lance_core_vector.training.parameters import BuildParameters

PQ_ROWS = 64
PQ_ITERATIONS = 25
"""Rows of the sample for each codeword, and iterations: more of both change recalls by less than a
hundredth (measured on 152,286 SIFT descriptors and 100,000 text embeddings)."""

_NUMBERS: dict[pa.DataType, Any] = {
    pa.float16(): np.float16,
    pa.float64(): np.float64,
    pa.uint8(): np.uint8,
}

Floats = npt.NDArray[np.float32]


class Encoder(ABC):
    """The codes of one new index."""

    column: str
    type: pa.DataType
    """The column of codes, and its type."""

    @abstractmethod
    def encode(self, vectors: npt.NDArray[Any], centers: Floats) -> npt.NDArray[Any]:
        """The codes of vectors, one a row; ``centers``: the centroid of each."""

    @abstractmethod
    def metadata(self) -> dict[str, Any]:
        """The metadata of the codes, without the number of the buffer of a codebook."""

    @abstractmethod
    def describe(self, details: VectorIndexDetails) -> None:
        """Write the kind into the details of the index."""

    def stored(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The numbers of a partition as they are stored."""
        return codes

    codebook: Floats | None = None
    """Of the shape (parts, codewords, numbers of a part)."""


class FlatEncoder(Encoder):
    """Vectors as they are."""

    column = flat.COLUMN

    def __init__(self, width: int, item: pa.DataType) -> None:
        self._width = width
        self._dtype = np.dtype(_NUMBERS.get(item, np.float32))
        self.type = pa.list_(item, width)

    def encode(self, vectors: npt.NDArray[Any], centers: Floats) -> npt.NDArray[Any]:
        return vectors.astype(self._dtype)

    def metadata(self) -> dict[str, Any]:
        return {"dim": self._width}

    def describe(self, details: VectorIndexDetails) -> None:
        details.flat.SetInParent()


class ScalarEncoder(Encoder):
    """One byte a number; the range is that of the sample."""

    column = scalar.COLUMN

    def __init__(self, sample: Floats) -> None:
        self._width = sample.shape[1]
        self._low, self._high = float(sample.min()), float(sample.max())
        self._quantizer = ScalarQuantizer(self._width, self._low, self._high, "l2", "")
        self.type = fixed_bytes(self._width)

    def encode(self, vectors: npt.NDArray[Any], centers: Floats) -> npt.NDArray[Any]:
        return self._quantizer.encode(vectors)

    def metadata(self) -> dict[str, Any]:
        bounds = {"start": self._low, "end": self._high}
        return {"dim": self._width, "num_bits": 8, "bounds": bounds}

    def describe(self, details: VectorIndexDetails) -> None:
        details.sq.num_bits = 8


class ProductEncoder(Encoder):
    """A codeword for each part of a vector, or of its difference from the centroid."""

    column = product.COLUMN

    def __init__(
        self,
        sample: Floats,
        centers: Floats,
        parameters: BuildParameters,
        random: np.random.Generator,
    ) -> None:
        self._parts, self._bits = parameters.num_parts or 1, parameters.bits
        self._width = sample.shape[1]
        if self._width % self._parts:
            raise InvalidInputError(
                f"dimension ({self._width}) must be divisible by num_sub_vectors ({self._parts})"
            )
        self._residual = parameters.metric.name != "dot"
        self.type = fixed_bytes(self._parts * self._bits // 8)
        shape = self._parts, 1 << self._bits, self._width // self._parts
        if parameters.codebook is not None:
            if parameters.codebook.size != np.prod(shape):
                raise InvalidInputError(
                    f"pq_codebook has the shape {parameters.codebook.shape}, not {shape}"
                )
            self.codebook = parameters.codebook.reshape(shape)
            return
        count = 1 << self._bits
        if len(sample) < count:
            raise InvalidInputError(
                f"Not enough rows to train PQ: {count} rows with a vector are needed, and there "
                f"are {len(sample)}"
            )
        vectors = self._split(sample[: PQ_ROWS * count], centers[: PQ_ROWS * count])
        iterations = min(PQ_ITERATIONS, parameters.iterations)
        self.codebook = np.stack(
            [kmeans.train(part, count, iterations=iterations, random=random)[0] for part in vectors]
        )

    def _split(self, vectors: npt.NDArray[Any], centers: Floats) -> Floats:
        """The parts of vectors, of the shape (parts, vectors, numbers of a part)."""
        found = vectors - centers if self._residual else vectors
        split = found.astype(np.float32).reshape(len(found), self._parts, -1)
        return np.ascontiguousarray(split.transpose(1, 0, 2))

    def encode(self, vectors: npt.NDArray[Any], centers: Floats) -> npt.NDArray[Any]:
        assert self.codebook is not None
        codes: npt.NDArray[Any] = np.empty((len(vectors), self._parts), np.uint8)
        for number, part in enumerate(self._split(vectors, centers)):
            codes[:, number] = kmeans.nearest(part, self.codebook[number])
        if self._bits == 4:
            codes = codes[:, 0::2] | codes[:, 1::2] << 4
        return codes

    def stored(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(codes.T).reshape(codes.shape)

    def metadata(self) -> dict[str, Any]:
        return {
            "nbits": self._bits,
            "num_sub_vectors": self._parts,
            "dimension": self._width,
            "codebook_tensor": [],
            "transposed": True,
        }

    def describe(self, details: VectorIndexDetails) -> None:
        details.pq.num_bits, details.pq.num_sub_vectors = self._bits, self._parts
