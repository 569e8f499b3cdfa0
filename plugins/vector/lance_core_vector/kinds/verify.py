"""Compare the codes of an index with those of the vectors that the table has now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.indices import IndexPart, RowProblem
from lance_core_vector.distances import sum_rounding
from lance_core_vector.kinds.ivf_index import IvfIndex
from lance_core_vector.kinds.move import stored_partitions
from lance_core_vector.kinds.stored_encoder import encoder_of
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer
from lance_core_vector.quantizers.rabit_layout import SIGNS, record_type
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training.build import vectors_of
from lance_core_vector.training.sample import as_floats

MAX_SIGNS = 1 / 32
"""The share of signs of a vector that may differ: numbers near zero are rounded to either side."""

MAX_ERROR = 1e-2
"""How much numbers of vectors may differ, as a share of the greatest: float16 has three digits."""

MAX_RATIO = 1.001
MAX_RATIO_OF_HALVES = 1.03
"""A codeword is right if no other one is nearer by more than this factor; of float16 vectors, of
which other libraries round the differences from the centroids to float16."""

MAX_PAIRS = 1 << 15
"""Vectors that are compared with codes at once. Bounds memory."""

Codes = npt.NDArray[Any]
Positions = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


def verify(part: IndexPart) -> Iterator[RowProblem]:
    """The rows whose codes are missing, or are not those of their vectors, or stand elsewhere.

    Differences by which other libraries may round are none. The vectors of a row with several may
    stand in any order. Raises `IndexNotWrittenError` for codes of older releases, and
    `CorruptFileError`.
    """
    source = part.source
    assert isinstance(source, IvfIndex)
    assert part.rows is not None
    stored = _Stored.of(source, part)
    if pa.types.is_fixed_size_list(part.rows.type):
        again = np.flatnonzero(stored.rows[1:] == stored.rows[:-1])
        yield from (RowProblem(row, "is in the index twice") for row in stored.rows[again].tolist())
    for numbers, vectors in vectors_of(part.rows, source.metric):
        rows, counts = np.unique(numbers, return_counts=True)
        first, stop = stored.range_of(rows)
        yield from _problems(rows, first == stop, "is not in the index")
        is_other = (first < stop) & (stop - first < counts)
        yield from _problems(rows, is_other, "has fewer vectors in the index")
        is_known, is_near = stored.compared(source, numbers, vectors)
        stale = np.isin(rows, numbers[~is_known]) & (first < stop) & ~is_other
        yield from _problems(rows, stale, "has the code of another vector")
        far = np.isin(rows, numbers[is_known & ~is_near]) & ~stale & ~is_other
        yield from _problems(rows, far, "is not in the partition of its nearest centroid")


def _problems(rows: npt.NDArray[np.uint64], mask: Mask, text: str) -> Iterator[RowProblem]:
    return (RowProblem(row, text) for row in rows[mask].tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """The rows of an index by the numbers that they have now, ascending.

    ``owners``: the partition of each, ``codes``: its code.
    """

    rows: npt.NDArray[np.uint64]
    owners: npt.NDArray[np.int64]
    codes: Codes

    @classmethod
    def of(cls, source: IvfIndex, part: IndexPart) -> _Stored:
        rows, owners, codes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], []
        for number, numbers, stored in stored_partitions(source):
            moved, is_kept = part.map.moved(numbers)
            rows.append(moved[is_kept])
            owners.append(np.full(int(is_kept.sum()), number))
            codes.append(source.quantizer.rows_of(stored)[is_kept])
        every = np.concatenate(rows)
        order = np.argsort(every, kind="stable")
        ordered = np.concatenate(codes)[order] if codes else np.empty((0, 0))
        return cls(every[order], np.concatenate(owners)[order], ordered)

    def range_of(self, rows: npt.NDArray[np.uint64]) -> tuple[Positions, Positions]:
        """The first position of each row, and the one after its last."""
        return np.searchsorted(self.rows, rows), np.searchsorted(self.rows, rows, side="right")

    def compared(
        self, source: IvfIndex, numbers: npt.NDArray[np.uint64], vectors: npt.NDArray[Any]
    ) -> tuple[Mask, Mask]:
        """For each vector, whether its row has its code, and has it in the right partition.

        Each is compared with all codes of its row, some pairs at a time.
        """
        encoder, centroids = encoder_of(source), source.model.centroids.astype(np.float32)
        first, stop = self.range_of(numbers)
        ends = np.cumsum(stop - first)
        is_known, is_near = np.zeros(len(numbers), np.bool_), np.zeros(len(numbers), np.bool_)
        cuts = np.searchsorted(ends, np.arange(MAX_PAIRS, ends[-1:].sum() + MAX_PAIRS, MAX_PAIRS))
        for some in np.split(np.arange(len(numbers)), np.unique(cuts)):
            lengths = (stop - first)[some]
            which = np.repeat(some, lengths)
            if not len(which):
                continue
            at = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            at += first[which]
            own, owners = vectors[which], self.owners[at]
            expected = encoder.encode(own, centroids, owners)
            is_same = ~_is_other(source, self.codes[at], expected, own, owners)
            is_known[which[is_same]] = True
            is_near[which[is_same & _is_near(source, own, owners)]] = True
        return is_known, is_near


def _is_near(source: IvfIndex, vectors: npt.NDArray[Any], owners: npt.NDArray[np.int64]) -> Mask:
    """True for vectors to which no centroid with a lower number than their own is nearer.

    Those with higher numbers may be: a partition that is split gets centroids after all others,
    and the rows of its neighbours stay where they are.
    """
    centroids, is_near = source.model.centroids, np.empty(len(vectors), np.bool_)
    dtype = centroids.dtype
    if source.metric.of_bits:
        centroids, vectors = as_floats(centroids), as_floats(vectors)
    centroids = centroids.astype(np.float64)
    squares = np.einsum("ij,ij->i", centroids, centroids)
    rounding = 0.0
    if not source.metric.of_bits:
        sums = sum_rounding(centroids.shape[1])
        rounding = max(sums, 8 * float(np.finfo(dtype).eps))
    step = max(1, MAX_PAIRS * 16 // len(centroids))
    for start in range(0, len(vectors), step):
        some, own = vectors[start : start + step].astype(np.float64), owners[start : start + step]
        distances = -2 * (some @ centroids.T)
        scale = np.einsum("ij,ij->i", some, some) + squares[own]
        if source.metric.name != "dot":
            distances += squares
        mine = distances[np.arange(len(own)), own]
        distances[np.arange(len(centroids)) > own[:, None]] = np.inf
        is_near[start : start + step] = mine <= distances.min(axis=1) + rounding * scale
    return is_near


def _is_other(
    source: IvfIndex,
    codes: Codes,
    expected: Codes,
    vectors: npt.NDArray[Any],
    owners: npt.NDArray[np.int64],
) -> Mask:
    """True for codes that are not those of ``vectors``, of which ``expected`` are computed."""
    quantizer = source.quantizer
    is_other: Mask
    if isinstance(quantizer, ScalarQuantizer):
        steps = np.abs(codes.astype(np.int16) - expected.astype(np.int16))
        is_other = np.asarray((steps > 1).any(axis=1))
    elif isinstance(quantizer, ProductQuantizer):
        centers = source.model.centroids[owners] if source.metric.name != "dot" else 0
        own = (vectors - centers).astype(np.float32)
        ratio = MAX_RATIO_OF_HALVES if pa.types.is_float16(source.vector.value_type) else MAX_RATIO
        is_other = _is_other_word(quantizer, codes, expected, own, ratio)
    elif isinstance(quantizer, RabitQuantizer):
        record = record_type(vectors.shape[1], quantizer.bits)
        signs = [np.ascontiguousarray(records).view(record)[SIGNS] for records in (codes, expected)]
        bits = np.unpackbits(signs[0] ^ signs[1], axis=-1).reshape(len(codes), -1)
        is_other = bits.sum(axis=1) > max(2, MAX_SIGNS * vectors.shape[1])
    elif source.metric.of_bits:
        is_other = (codes != expected).any(axis=1)
    else:
        error = np.abs(codes.astype(np.float64) - expected.astype(np.float64)).max(axis=1)
        is_other = error > MAX_ERROR * np.abs(expected.astype(np.float64)).max(axis=1)
    return is_other


def _is_other_word(
    quantizer: ProductQuantizer,
    codes: Codes,
    expected: Codes,
    vectors: npt.NDArray[np.float32],
    ratio: float,
) -> Mask:
    """True for codes with a codeword that is farther than the one expected, by ``ratio``."""
    codebook = quantizer.codebook
    split = vectors.reshape(len(vectors), len(codebook), -1)
    is_other = np.zeros(len(codes), np.bool_)
    for part, words in enumerate(codebook):
        stored, best = (_words(code, part, quantizer.bits) for code in (codes, expected))
        rows = np.flatnonzero(stored != best)
        own = split[rows, part]
        far = ((own - words[stored[rows]]) ** 2).sum(axis=1)
        near = ((own - words[best[rows]]) ** 2).sum(axis=1)
        is_other[rows[far > ratio * near + np.finfo(np.float32).tiny]] = True
    return is_other


def _words(codes: Codes, part: int, bits: int) -> Codes:
    """The codeword of a part in each code."""
    if bits == 8:
        return codes[:, part]
    return codes[:, part // 2] >> np.uint8(4 * (part % 2)) & np.uint8(15)
