"""Split block Bloom filters: a filter for each zone of rows, built and searched for many at once.

Layout rules: the Parquet format, "Split Block Bloom Filters". A filter is a number of blocks of
eight little-endian 32-bit words. The upper half of a hash selects a block; its lower half, times
one odd constant for each word, selects a bit of each of the eight words.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from lance_core.lazy_dataclass import dataclass

Hashes = npt.NDArray[np.uint64]
Blocks = npt.NDArray[np.uint32]
"""Blocks of filters; the second axis has the eight words."""

BLOCK_BYTES = 32
"""Bytes of a block: a filter has whole blocks."""

_MIN_BYTES = BLOCK_BYTES
_MAX_BYTES = 128 << 20

_SALTS = np.array(
    [
        *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
        *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
    ],
    np.uint32,
)

_TERMS = 750
"""Terms of the series of false positives; later ones do not change its sum."""

_TESTS = 1 << 16
"""Maximum blocks of filters that are compared at a time."""


@functools.lru_cache(64)
def filter_bytes(items: int, probability: float) -> int:
    """The size of a filter of ``items`` values with at most this ``probability`` of a false hit.

    This is the smallest power of two between 32 bytes and 128 MiB with this property, or 128 MiB.
    """
    size = _MIN_BYTES
    while size < _MAX_BYTES and _false_positives(items, size) > probability:
        size *= 2
    return size


def _false_positives(items: int, size: int) -> float:
    """Equation 3 of Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters".

    The number of values in a block has a Poisson distribution; a value that is not in a block with
    i values is found if its bit is set in all eight words.
    """
    if items > 16 * size:
        return 1.0  # more than two values for each bit, where the series has too few terms
    mean = 8 * BLOCK_BYTES * items / (8 * size)
    values = np.arange(1, _TERMS)
    distribution = values * math.log(mean) - mean - np.cumsum(np.log(values))
    hit = 8 * np.log1p(-((1 - 1 / 32) ** values))
    return min(1.0, float(np.exp(distribution + hit).sum()))


def build_filters(
    hashes: Hashes, zones: npt.NDArray[np.int64], num_zones: int, num_blocks: int
) -> Blocks:
    """The filters of ``num_zones`` zones, one after the other, each with ``num_blocks`` blocks.

    ``zones`` has the zone of each of ``hashes``. Temporary memory is that of the result.
    """
    filters = np.empty((num_zones * num_blocks, 8), np.uint32)
    block = ((hashes >> np.uint64(32)) * np.uint64(num_blocks)) >> np.uint64(32)
    first_bit = (zones * num_blocks + block.view(np.int64)) << 5
    low = hashes.astype(np.uint32)
    # One byte for each bit: unlike an OR, an assignment may set a bit several times.
    bits = np.zeros(len(filters) * 32, np.bool_)
    for word, salt in enumerate(_SALTS):
        bits[first_bit + ((low * salt) >> np.uint32(27))] = True
        filters[:, word] = np.packbits(bits, bitorder="little").view("<u4")
        bits[:] = False
    return filters


@dataclass(frozen=True, slots=True, eq=False)
class FilterSet:
    """The filters of zones. ``first`` and ``counts``: which of ``blocks`` a zone has."""

    blocks: Blocks
    first: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    def may_contain(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """True for each zone that may have a value with one of ``hashes``."""
        masks = np.uint32(1) << ((hashes.astype(np.uint32)[:, None] * _SALTS) >> np.uint32(27))
        upper = hashes >> np.uint64(32)
        matches = np.zeros(len(self.first), np.bool_)
        start = 0
        # Zones in which a value was found are not searched again.
        while start < len(hashes) and len(zones := np.flatnonzero(~matches)):
            stop = start + max(1, _TESTS // len(zones))
            counts = self.counts[zones].astype(np.uint64)
            block = (upper[start:stop] * counts[:, None]) >> np.uint64(32)
            read = self.blocks[self.first[zones][:, None] + block.view(np.int64)]
            mask = masks[start:stop]
            matches[zones] = ((read & mask) == mask).all(axis=2).any(axis=1)
            start = stop
        return matches
