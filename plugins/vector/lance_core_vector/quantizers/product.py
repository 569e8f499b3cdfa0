"""`ProductQuantizer`: a vector is cut into parts, each encoded as its nearest codeword.

A code has 8 or 4 bits. Codes are of the residual, the difference from the centroid, for l2 and
cosine, and of the vector itself for dot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.searches import Hits
from lance_core_vector.loops.best_rows import Masks
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.loops.product_scan import (
    arranged,
    best_by_product,
    product_scores,
    table_indices,
)
from lance_core_vector.partitions.index_files import (
    QUANTIZER_KEY,
    IndexFiles,
    IvfModel,
    buffer_tensor,
    tensor,
    whole,
)
from lance_core_vector.quantizers.base import (
    Codes,
    Distances,
    Quantizer,
    Scorer,
    Vector,
    check_metric,
    fixed_bytes,
    matrix,
)

if TYPE_CHECKING:
    from lance_core_vector.partitions.partition_cache import Partition

COLUMN = "__pq_code"


_PART_LOOKUPS = {
    (True, 8): 3 << 20,
    (True, 4): 48 << 20,
    (False, 8): 3 << 18,
    (False, 4): 3 << 18,
}
"""Bytes of codes that are compared in a millisecond, by whether loops are compiled, and the bits;
see `Scorer.rows_of_part`."""


class ProductQuantizer(Quantizer):
    """A codebook and the layout of codes.

    ``codebook``: float32 of the shape (parts, codewords, numbers of a part). ``transposed``: the
    codes of a partition are stored part by part instead of row by row. ``num_bytes``: of a code.
    """

    def __init__(
        self,
        codebook: npt.NDArray[np.float32],
        bits: int,
        *,
        transposed: bool,
        metric: str,
        model: IvfModel,
        path: str,
    ) -> None:
        check_metric(metric)
        self.refinement = 10
        self.codebook = codebook
        self.bits = bits
        self.transposed = transposed
        self.num_bytes = len(codebook) * bits // 8
        self.columns = {COLUMN: fixed_bytes(self.num_bytes)}
        self.bytes_per_row = self.num_bytes * (1 if is_compiled() else 2)
        # For a vector that a one follows, the product is the distance without its own square.
        squares = np.einsum("mkd,mkd->mk", codebook, codebook)
        turned = codebook.transpose(0, 2, 1)
        with np.errstate(over="ignore"):  # damaged files have numbers of any size
            self._words = np.concatenate([np.float32(-2) * turned, squares[:, None]], axis=1)
        self._turned = -np.ascontiguousarray(turned)
        self.metric = metric
        self._model = model
        self._path = path

    @classmethod
    def of(cls, files: IndexFiles, model: IvfModel) -> ProductQuantizer:
        """The quantizer of stored codes. Raises `CorruptFileError`."""
        stored, path = files.quantizer, files.codes.path
        bits, parts = whole(stored, "nbits", path), whole(stored, "num_sub_vectors", path)
        width = model.centroids.shape[1]
        if (
            bits not in (4, 8)
            or width != stored.get("dimension")
            or width % parts
            or parts * bits % 8
        ):
            raise CorruptFileError(
                f"{parts} codes of {bits} bits for vectors of {width} numbers",
                path,
                field=QUANTIZER_KEY,
            )
        return cls(
            codebook(files, bits, parts, width),
            bits,
            transposed=_flag(stored, "transposed", path),
            metric=files.metric,
            model=model,
            path=path,
        )

    def load(self, arrays: Sequence[pa.Array]) -> Codes:
        return (arranged(self._by_part(matrix(arrays[0], self._path)), self.bits),)

    def _by_part(self, stored: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The bytes of a partition, one row for each byte of a code."""
        if self.transposed:
            return np.ascontiguousarray(stored).reshape(self.num_bytes, len(stored))
        return stored.T

    def scorer(self, query: Vector) -> Scorer:
        return _Scorer(self, query.astype(np.float32))

    def decode(
        self, partition: Partition, rows: slice, out: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """The vectors for which the codes of some rows of a partition stand, one a row.

        They are in the first rows of ``out``.
        """
        words = self.codebook
        if self.bits == 4:  # a byte has two codes, the first one in its lower half
            low, high = words[0::2, None], words[1::2, :, None]
            pairs = np.broadcast_arrays(low, high)
            words = np.concatenate(pairs, axis=3)
        indices = table_indices(partition.codes[0], len(partition.rows))[:, rows]
        vectors = out[: indices.shape[1]]
        parts = vectors.reshape(len(vectors), len(indices), -1)
        words.reshape(-1, words.shape[-1]).take(indices.T, axis=0, out=parts, mode="clip")
        if self.metric != "dot":
            vectors += self._model.centroids[partition.number].astype(np.float32)
        return vectors

    def tables(
        self, query: npt.NDArray[np.float32], numbers: Sequence[int]
    ) -> npt.NDArray[np.float32]:
        """The distances of all codewords from a query in the partitions with these numbers.

        The shape is (partitions, parts, codewords). Partitions share one table for dot products.
        """
        parts, words, size = self.codebook.shape
        if self.metric == "dot":
            return (query.reshape(parts, 1, size) @ self._turned).reshape(1, parts, words)
        vectors = (query - self._model.centroids[list(numbers)]).astype(np.float32)
        split = np.ones((len(vectors), parts, size + 1), np.float32)
        split[:, :, :size] = vectors.reshape(len(vectors), parts, size)
        tables = np.empty((len(vectors), parts, words), np.float32)
        np.matmul(split.transpose(1, 0, 2), self._words, out=tables.transpose(1, 0, 2))
        tables += np.einsum("pmd,pmd->pm", split[:, :, :size], split[:, :, :size])[:, :, None]
        return tables

    @property
    def base(self) -> float:
        """What distances are above the sums of the tables."""
        return 1.0 if self.metric == "dot" else 0.0

    def rows_of(self, arrays: Sequence[pa.Array]) -> npt.NDArray[Any]:
        return self._by_part(matrix(arrays[0], self._path)).T

    def without(
        self, arrays: Sequence[pa.Array], order: npt.NDArray[np.intp]
    ) -> Sequence[pa.Array]:
        stored = matrix(arrays[0], self._path)
        if not self.transposed:
            return super().without(arrays, order)
        rows = self._by_part(stored)[:, order]
        flat = from_numpy(np.ascontiguousarray(rows).reshape(-1))
        return [pa.FixedSizeListArray.from_arrays(flat, self.num_bytes)]


class _Scorer(Scorer):
    def __init__(self, quantizer: ProductQuantizer, query: npt.NDArray[np.float32]) -> None:
        self._quantizer = quantizer
        self._query = query
        self.rows_of_part = _PART_LOOKUPS[is_compiled(), quantizer.bits] // quantizer.num_bytes

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        codes = [partition.codes[0] for partition in partitions]
        sizes = [len(partition.rows) for partition in partitions]
        return product_scores(codes, sizes, self._tables(partitions), self._quantizer.base)

    def top(self, partitions: Sequence[Partition], count: int, masks: Masks | None) -> Hits:
        codes = [partition.codes[0] for partition in partitions]
        rows = [partition.rows for partition in partitions]
        tables, base = self._tables(partitions), self._quantizer.base
        best = best_by_product(codes, rows, masks, tables, base, count)
        return Hits(best.rows, best.scores)

    def _tables(self, partitions: Sequence[Partition]) -> npt.NDArray[np.float32]:
        return self._quantizer.tables(self._query, [partition.number for partition in partitions])


def codebook(files: IndexFiles, bits: int, parts: int, width: int) -> npt.NDArray[np.float32]:
    """The codewords, of the shape (parts, codewords, numbers of a part)."""
    path, field = files.codes.path, "codebook"
    message = buffer_tensor(files.codes, files.quantizer.get("codebook_position"), field)
    codewords = tensor(message, path, field)
    if len(codewords) != (width << bits) or codewords.dtype == np.uint8:
        raise CorruptFileError(
            f"{len(codewords)} numbers of type {codewords.dtype} for {1 << bits} codewords of "
            f"{width}",
            path,
            field=field,
        )
    if not np.isfinite(codewords).all():
        raise CorruptFileError("a number is not finite", path, field=field)
    return codewords.astype(np.float32).reshape(parts, 1 << bits, width // parts)


def _flag(values: Mapping[str, Any], name: str, path: str) -> bool:
    value = values.get(name, False)
    if not isinstance(value, bool):
        raise CorruptFileError(f"{name} is {value!r}", path, field=QUANTIZER_KEY)
    return value
