"""The nearest codewords of the parts of vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.library import is_compiled, native
from lance_core_vector.loops.passes import sum_by_owner

Floats = npt.NDArray[np.float32]

BLOCK_ROWS = 1 << 14
"""Vectors whose products with codewords are computed at once by numpy."""

CODEWORDS = (16, 256)
"""How many codewords there may be."""

MAX_NUMBERS = 64
"""Numbers of a part up to which the codewords stay in the cache."""

_NONE = np.empty(0)


class Codebook:
    """Codewords, arranged for comparisons.

    ``words``: float32 of the shape (parts, codewords, numbers of a part). There are 16 or 256
    codewords.
    """

    def __init__(self, words: Floats) -> None:
        self.shape = words.shape
        self.turned = np.ascontiguousarray(words.transpose(0, 2, 1), np.float32)
        self.halves = np.einsum("mkd,mkd->mk", words, words) * np.float32(0.5)


def nearest_codewords(vectors: Floats, codebook: Codebook) -> npt.NDArray[np.uint8]:
    """The number of the nearest codeword of each part (columns) of ``vectors``, one a row.

    The first one if several are equally near.
    """
    parts, _, size = codebook.shape
    codes = np.empty((len(vectors), parts), np.uint8)
    if is_compiled():
        vectors = np.ascontiguousarray(vectors, np.float32)
        turned, halves = codebook.turned, codebook.halves
        native.nearest_codewords(
            vectors, parts, size, turned, halves, 0, parts, codes, _NONE, _NONE
        )
        return codes
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = vectors[start : start + BLOCK_ROWS]
        split = block.reshape(len(block), parts, size)
        for part in range(parts):
            with np.errstate(over="ignore", invalid="ignore"):  # of products that are no float32
                products = split[:, part] @ codebook.turned[part]
                products -= codebook.halves[part]
            codes[start : start + BLOCK_ROWS, part] = products.argmax(axis=1)
    return codes


def assigned_codewords(
    vectors: Floats, codebook: Codebook
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The nearest codeword of each vector, which is one part; the sum and number of those of each.

    Sums have 64 bits, and are made in the order of the vectors.
    """
    _, count, size = codebook.shape
    if is_compiled():
        vectors = np.ascontiguousarray(vectors, np.float32)
        codes = np.empty(len(vectors), np.uint8)
        sums, sizes = np.zeros((count, size)), np.zeros(count, np.int64)
        tables = codebook.turned, codebook.halves
        native.nearest_codewords(vectors, 1, size, *tables, 0, 1, codes, sums, sizes)
        return codes.astype(np.int64), sums, sizes
    owners = nearest_codewords(vectors, codebook)[:, 0].astype(np.int64)
    return owners, sum_by_owner(vectors, owners, count), np.bincount(owners, minlength=count)
