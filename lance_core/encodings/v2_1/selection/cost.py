"""What integers would take in each encoding, without encoding them."""

from __future__ import annotations

import numpy as np

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, WIDTHS, packed_bytes
from lance_core.encodings.v2_1.codecs.bitpacking import packs_tail
from lance_core.encodings.v2_1.codecs.rle import entries, run_starts
from lance_core.encodings.v2_1.codecs.values import FixedWidth, Words
from lance_core.lazy_dataclass import dataclass

_CHUNK_VALUES = 4096
_SAMPLE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """Integers and, of each 1024 of them, the bits of the largest."""

    words: Words
    widths: Int64Array
    kernels: Kernels

    @classmethod
    def of(cls, values: FixedWidth, kernels: Kernels) -> Integers | None:
        """None for values that are no integers of 8 to 64 bits, or none at all."""
        if values.bits not in WIDTHS or not values.count:
            return None
        words = values.words()
        return cls(words, kernels.chunk_widths(words), kernels)

    @property
    def size(self) -> int:
        """Bytes as they are."""
        return self.words.nbytes

    @property
    def inline_size(self) -> int:
        """Bytes packed in chunks of 1024, each with its width; as many as `size` if not fewer."""
        packed = int(self.widths.sum()) * packed_bytes(1) + len(self.widths) * self.words.itemsize
        return min(packed, self.size)

    @property
    def block_size(self) -> int:
        """Bytes packed as one block; as many as `size` if not fewer."""
        width, word = int(self.widths.max()), self.words.itemsize
        if len(self.widths) == 1:
            return min(word + width * packed_bytes(1), self.size)
        whole, rest = divmod(len(self.words), CHUNK)
        tail = width * packed_bytes(1) if packs_tail(width, 8 * word, rest) else rest * word
        return min(whole * width * packed_bytes(1) + tail, self.size)

    @property
    def packs_in_block(self) -> bool:
        """Whether a block of them is packed at all. The width of up to 1024 is not counted."""
        width = int(self.widths.max())
        if len(self.widths) == 1:
            return width * packed_bytes(1) < self.size
        return width < 8 * self.words.itemsize

    def passes(self, threshold: float | None) -> bool:
        """Whether there are fewer runs than ``threshold`` allows, as a part of the values."""
        return threshold is None or self.run_count < len(self.words) * threshold

    @property
    def run_count(self) -> int:
        """Runs of equal values, however long."""
        return max(1, int(self.kernels.count_runs(self.words, max(1, len(self.words))).sum()))

    def runs_beat(self, most: int, in_chunks: bool) -> bool:
        """Whether runs take less than `size` and at most ``most`` bytes.

        Runs have up to 255 values; those of chunks do not go beyond multiples of 4096 values. A
        block has 8 bytes besides.
        """
        # As many entries of a value and a length fit in. Runs of any length are counted first: they
        # are no more than entries, and seldom so few that entries have to be counted.
        each, head = self.words.itemsize + 1, 0 if in_chunks else 8
        room = (min(most, self.size - 1) - head) // each
        if self.run_count > room:
            return False
        cuts = slice(None, None, _CHUNK_VALUES) if in_chunks else None
        starts = run_starts(self.words, cuts)
        lengths = np.diff(starts, append=len(self.words))
        return int(entries(lengths).sum()) <= room


def byte_entropy(values: FixedWidth) -> float:
    """Bits of entropy of the bytes of the first 64 values, the mean over their places.

    Entropies count in whole thousandths.
    """
    width = values.bits // 8
    count = min(values.count, _SAMPLE)
    octets = values.octets()[: count * width].reshape(count, width)
    total = 0
    for place in range(width):  # each place of a word has a distribution of its own
        shares = np.bincount(octets[:, place]) / count
        shares = shares[shares > 0]
        total += int(-(shares * np.log2(shares)).sum() * 1000)
    return total / width / 1000
