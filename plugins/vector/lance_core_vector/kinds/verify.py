"""Compare the codes of an index with those of the vectors that the table has now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.indices import IndexPart, RowProblem
from lance_core_vector.kinds.ivf_index import IvfIndex
from lance_core_vector.kinds.move import stored_partitions
from lance_core_vector.kinds.stored_encoder import encoder_of
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer
from lance_core_vector.quantizers.rabit_layout import SIGNS, record_type
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training.build import vectors_of

MAX_SIGNS = 1 / 32
"""The share of signs of a vector that may differ: numbers near zero are rounded to either side."""

MAX_ERROR = 1e-2
"""How much numbers of vectors may differ, as a share of the greatest: float16 has three digits."""

MAX_RATIO = 1.001
"""A codeword is right if no other one is nearer by more than this factor."""

Codes = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


def verify(part: IndexPart) -> Iterator[RowProblem]:
    """The rows whose codes are missing, or are not those of their vectors.

    Differences by which other libraries may round are none. Of rows with several vectors, only
    whether the index has them is compared. Raises `IndexNotWrittenError` for codes of older
    releases, and `CorruptFileError`.
    """
    source = part.source
    assert isinstance(source, IvfIndex)
    assert part.rows is not None
    is_single = pa.types.is_fixed_size_list(part.rows.type)
    encoder, centroids = encoder_of(source), source.model.centroids.astype(np.float32)
    rows, owners, codes = _stored(source, part)
    if is_single:
        again = np.flatnonzero(rows[1:] == rows[:-1])
        yield from (RowProblem(row, "is in the index twice") for row in rows[again].tolist())
    for numbers, vectors in vectors_of(part.rows, source.metric):
        at = np.searchsorted(rows, numbers)
        there = at < len(rows)
        there[there] = rows[at[there]] == numbers[there]
        missing = np.unique(numbers[~there]).tolist()
        yield from (RowProblem(row, "is not in the index") for row in missing)
        if is_single:
            at, some = at[there], vectors[there]
            own = owners[at]
            is_other = _is_other(source, codes[at], encoder.encode(some, centroids, own), some, own)
            stale = numbers[there][is_other].tolist()
            yield from (RowProblem(row, "has the code of another vector") for row in stale)


def _stored(
    source: IvfIndex, part: IndexPart
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], Codes]:
    """The row numbers that the rows of the index have now, ascending, their partition and codes."""
    rows, owners, codes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], []
    for number, numbers, stored in stored_partitions(source):
        moved, is_kept = part.map.moved(numbers)
        rows.append(moved[is_kept])
        owners.append(np.full(int(is_kept.sum()), number))
        codes.append(source.quantizer.rows_of(stored)[is_kept])
    every = np.concatenate(rows)
    order = np.argsort(every, kind="stable")
    found = np.concatenate(codes)[order] if codes else np.empty((0, 0))
    return every[order], np.concatenate(owners)[order], found


def _is_other(
    source: IvfIndex,
    codes: Codes,
    expected: Codes,
    vectors: npt.NDArray[Any],
    owners: npt.NDArray[np.int64],
) -> Mask:
    """True for codes that are not those of ``vectors``, of which ``expected`` are computed."""
    quantizer = source.quantizer
    found: Mask
    if isinstance(quantizer, ScalarQuantizer):
        steps = np.abs(codes.astype(np.int16) - expected.astype(np.int16))
        found = np.asarray((steps > 1).any(axis=1))
    elif isinstance(quantizer, ProductQuantizer):
        centers = source.model.centroids[owners] if source.metric.name != "dot" else 0
        found = _is_other_word(quantizer, codes, expected, (vectors - centers).astype(np.float32))
    elif isinstance(quantizer, RabitQuantizer):
        kind = record_type(vectors.shape[1], quantizer.bits)
        signs = [np.ascontiguousarray(one).view(kind)[SIGNS] for one in (codes, expected)]
        bits = np.unpackbits(signs[0] ^ signs[1], axis=-1).reshape(len(codes), -1)
        found = bits.sum(axis=1) > max(2, MAX_SIGNS * vectors.shape[1])
    elif source.metric.of_bits:
        found = (codes != expected).any(axis=1)
    else:
        error = np.abs(codes.astype(np.float64) - expected.astype(np.float64)).max(axis=1)
        found = error > MAX_ERROR * np.abs(expected.astype(np.float64)).max(axis=1)
    return found


def _is_other_word(
    quantizer: ProductQuantizer, codes: Codes, expected: Codes, vectors: npt.NDArray[np.float32]
) -> Mask:
    """True for codes with a codeword that is farther than the one expected."""
    codebook = quantizer.codebook
    split = vectors.reshape(len(vectors), len(codebook), -1)
    found = np.zeros(len(codes), np.bool_)
    for part, words in enumerate(codebook):
        stored, best = (_words(one, part, quantizer.bits) for one in (codes, expected))
        rows = np.flatnonzero(stored != best)
        own = split[rows, part]
        far = ((own - words[stored[rows]]) ** 2).sum(axis=1)
        near = ((own - words[best[rows]]) ** 2).sum(axis=1)
        found[rows[far > MAX_RATIO * near + np.finfo(np.float32).tiny]] = True
    return found


def _words(codes: Codes, part: int, bits: int) -> Codes:
    """The codeword of a part in each code."""
    if bits == 8:
        return codes[:, part]
    return codes[:, part // 2] >> np.uint8(4 * (part % 2)) & np.uint8(15)
