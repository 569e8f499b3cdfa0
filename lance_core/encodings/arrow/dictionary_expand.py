"""Expand dictionary-encoded strings into plain strings.

Arrow's take costs the same per value, however short the value is. If the dictionary is small and
there are many rows, the code combines several neighbouring indices into one index into a table of
all sequences of that many items, and takes each sequence as one value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.strings import offset_dtype
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

# Limits on the table of sequences.
_MAX_SEQUENCES = 1 << 15
"""Maximum entries: numbers must fit uint16, and a larger table costs more than it saves."""
_SEQUENCE_BYTES = 64
"""Maximum mean bytes of an entry: longer entries are no cheaper than single takes."""
_ROWS_PER_SEQUENCE = 16
"""Minimum rows to take for each entry: fewer do not pay for building the table."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Items of a string or binary type by index; index 0 stands for null."""

    items: pa.Array
    lengths: npt.NDArray[np.integer[Any]]

    @classmethod
    def of(cls, items: list[pa.Array], type_: pa.DataType) -> Lookup:
        """A lookup over ``items``; the null at index 0 is added here."""
        array = pa.concat_arrays([pa.nulls(1, type_), *items])
        offsets = np.frombuffer(array.buffers()[1], offset_dtype(type_), len(array) + 1)
        lengths = np.diff(offsets)
        return cls(array, lengths.astype(np.uint8) if lengths.max() < 256 else lengths)

    def take(self, indices: npt.NDArray[np.integer[Any]]) -> pa.Array:
        """The items at ``indices``, which must all be in range.

        Raises `CorruptFileError` if the result exceeds 2 GiB.
        """
        if len(indices) == 1:
            return self.items.slice(int(indices[0]), 1)
        if int(self.lengths.max()) * len(indices) > MAX_OFFSET:
            total = int(self.lengths.take(indices).sum(dtype=np.int64))
            if total > MAX_OFFSET:
                raise CorruptFileError(
                    f"a page of dictionary strings would expand to {total} bytes; the limit is "
                    f"{MAX_OFFSET}"
                )
        many = self.sequence_length(len(indices))
        if many == 1 or self.items.null_count > 1:
            return self.items.take(pa.array(indices))
        return self._take_sequences(indices, many)

    def sequence_length(self, rows: int) -> int:
        """How many adjacent indices to look up at once, for ``rows`` indices; 1: a plain take.

        It grows while the table of sequences stays within its limits.
        """
        many, count, base = 1, len(self.items), max(2, len(self.items))
        average = int(self.lengths.sum(dtype=np.int64)) / base
        while (
            count * base <= _MAX_SEQUENCES
            and count * base * _ROWS_PER_SEQUENCE <= rows
            and average * (many + 1) <= _SEQUENCE_BYTES
        ):
            many, count = many + 1, count * base
        return many

    def _take_sequences(self, indices: npt.NDArray[np.integer[Any]], many: int) -> pa.Array:
        padded = np.zeros(-(-len(indices) // many) * many, np.uint16)
        padded[: len(indices)] = indices  # padding is index 0, the null, whose text is empty
        digits = padded.reshape(-1, many)
        # The indices of a sequence are the digits of a number with base len(items). The number is
        # below _MAX_SEQUENCES, so uint16 holds it.
        numbers = digits[:, 0].copy()
        for place in range(1, many):
            numbers *= np.uint16(len(self.items))
            numbers += digits[:, place]
        joined = self._table(many).take(pa.array(numbers))
        # The sequences contain the text of all single values. Only their offsets are missing.
        offsets = np.empty(len(indices) + 1, offset_dtype(self.items.type))
        offsets[0] = 0
        np.cumsum(self.lengths.take(indices), out=offsets[1:], dtype=offsets.dtype)
        bitmap = None
        if not indices.all():
            bitmap = pa.py_buffer(np.packbits(indices != 0, bitorder="little"))
        nulls = 0 if bitmap is None else -1
        data = joined.buffers()[2].slice(0, int(offsets[-1]))
        buffers = [bitmap, pa.py_buffer(offsets), data]
        return pa.Array.from_buffers(self.items.type, len(indices), buffers, nulls)

    def _table(self, many: int) -> pa.Array:
        """The texts of all sequences of ``many`` items; the last item varies fastest."""
        single = pa.array([item or b"" for item in self.items.cast(pa.large_binary()).to_pylist()])
        table, last = single, np.arange(len(single))
        for _ in range(many - 1):
            first = table.take(pa.array(np.repeat(np.arange(len(table)), len(single))))
            second = single.take(pa.array(np.tile(last, len(table))))
            table = pc.binary_join_element_wise(first, second, b"")
        return table
