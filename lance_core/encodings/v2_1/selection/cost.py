"""Estimate the size of integers in each encoding without encoding them."""

from __future__ import annotations

import numpy as np

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.v2_1.codecs.bitpacking import packs_tail
from lance_core.encodings.v2_1.codecs.rle import entries, run_starts
from lance_core.encodings.v2_1.codecs.values import FixedWidth, Words
from lance_core.lazy_dataclass import dataclass

CHUNK_VALUES = 4096
"""Maximum number of values of a chunk."""

_BIT_BYTES = packed_bytes(1)
"""Bytes of 1024 values that are packed in one bit each."""

_SAMPLE = 64
_BLOCK_HEAD = 8
"""Bytes of a run-length encoded block besides its entries."""


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """Integers, and the bit length of the largest of each 1024 of them."""

    words: Words
    widths: Int64Array
    kernels: Kernels

    @classmethod
    def of(cls, values: FixedWidth, kernels: Kernels) -> Integers | None:
        """``values`` as integers; None if empty or not 8, 16, 32 or 64 bits wide."""
        if values.bits not in WIDTHS or not values.count:
            return None
        words = values.words()
        return cls(words, kernels.chunk_widths(words), kernels)

    @property
    def size(self) -> int:
        """Uncompressed bytes."""
        return self.words.nbytes

    @property
    def inline_size(self) -> int:
        """Bytes if packed in chunks of 1024, each with a width word; at most `size`."""
        packed = _BIT_BYTES * int(sum(self.widths.tolist()))
        packed += len(self.widths) * self.words.itemsize
        return min(packed, self.words.nbytes)

    @property
    def block_size(self) -> int:
        """Bytes if packed as one block; at most `size`."""
        width, word = int(self.widths.max()), self.words.itemsize
        if len(self.widths) == 1:
            return min(word + width * packed_bytes(1), self.size)
        whole, rest = divmod(len(self.words), CHUNK)
        tail = width * packed_bytes(1) if packs_tail(width, 8 * word, rest) else rest * word
        return min(whole * width * packed_bytes(1) + tail, self.size)

    @property
    def packs_in_block(self) -> bool:
        """True if packing as a block saves bytes; up to 1024 values need no bytes for the width."""
        width = int(self.widths.max())
        if len(self.widths) == 1:
            return width * packed_bytes(1) < self.size
        return width < 8 * self.words.itemsize

    def passes(self, threshold: float | None) -> bool:
        """True if runs per value are below ``threshold``."""
        return threshold is None or self.run_count < len(self.words) * threshold

    @property
    def run_count(self) -> int:
        """The number of runs of equal values, of any length."""
        runs = self.kernels.count_runs(self.words, max(1, len(self.words)))
        return max(1, int(np.add.reduce(runs)))

    @property
    def most_block_runs(self) -> int:
        """The most runs of equal values for which `runs_beat` may be true for a block."""
        return self._most_runs(self.block_size, _BLOCK_HEAD)

    def _most_runs(self, most: int, head: int) -> int:
        """The number of (value, length) entries in less than `size` and at most ``most`` bytes."""
        return (min(most, self.words.nbytes - 1) - head) // (self.words.itemsize + 1)

    def runs_beat(self, most: int, in_chunks: bool) -> bool:
        """True if run-length encoding takes less than `size` and at most ``most`` bytes.

        A stored run has at most 255 values. In chunks, runs end at multiples of 4096 values. A
        block has 8 bytes in addition.
        """
        # Count runs of any length first: there are at most as many of them as entries, and they
        # usually decide the comparison.
        max_entries = self._most_runs(most, 0 if in_chunks else _BLOCK_HEAD)
        if self.run_count > max_entries:
            return False
        cuts = slice(None, None, CHUNK_VALUES) if in_chunks else None
        starts = run_starts(self.words, cuts)
        lengths = np.diff(starts, append=len(self.words))
        return int(entries(lengths).sum()) <= max_entries


def byte_entropy(values: FixedWidth) -> float:
    """The entropy in bits of the bytes of the first 64 values, averaged over the byte positions.

    The entropy of each position is rounded down to thousandths.
    """
    width = values.bits // 8
    count = min(values.count, _SAMPLE)
    octets = values.octets()[: count * width].reshape(count, width)
    total = 0
    for byte in range(width):  # each byte position has a distribution of its own
        shares = np.bincount(octets[:, byte]) / count
        shares = shares[shares > 0]
        total += int(-(shares * np.log2(shares)).sum() * 1000)
    return total / width / 1000
