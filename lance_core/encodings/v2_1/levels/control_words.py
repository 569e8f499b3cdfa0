"""Control words of full-zip pages: the levels of a value, stored before the value.

A word is ``repetition << bits_def | definition`` in 0, 1, 2 or 4 bytes, little endian. With
fixed-width values, each visible level is followed by a value, even if the value is null. With
variable-width values, only a level with definition 0 is followed by the length and bytes of a
value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.kernels.numpy.full_zip_offsets import ZippedForm, windows
from lance_core.encodings.v2_1.levels.repdef import LayerKinds, Levels
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

Bytes = npt.NDArray[np.uint8]


class ZippedLevels(NamedTuple):
    """Levels, and the start and stop of the value bytes of each visible level."""

    levels: Levels
    starts: Int64Array
    stops: Int64Array


@dataclass(frozen=True, slots=True)
class ControlWords:
    """The format in which the levels of a page are zipped with its values.

    ``value_width``: bytes of a value, or 0 if a length of ``length_width`` bytes precedes each
    value.
    """

    kinds: LayerKinds
    bits_rep: int
    bits_def: int
    value_width: int
    length_width: int

    def __post_init__(self) -> None:
        if self.bits_rep > 16 or self.bits_def > 16:
            raise CorruptFileError(
                f"control words cannot have {self.bits_rep} repetition and {self.bits_def} "
                "definition bits"
            )
        if bool(self.bits_rep) < bool(self.kinds.max_rep):
            raise CorruptFileError(
                "a page has lists but no repetition levels", field="FullZipLayout"
            )

    @property
    def width(self) -> int:
        """Bytes of a control word."""
        bits = self.bits_rep + self.bits_def
        return 0 if not bits else 1 if bits <= 8 else 2 if bits <= 16 else 4

    def levels(self, words: Bytes) -> Levels:
        """Decode the levels from a table of bytes with a row for each control word."""
        if not self.width:
            return Levels(self.kinds, None, None, len(words))
        word = words.view(f"<u{self.width}").reshape(-1).astype(np.uint32)
        rep = (word >> self.bits_def).astype(np.uint16) if self.kinds.max_rep else None
        mask = np.uint32((1 << self.bits_def) - 1)
        definition = (word & mask).astype(np.uint16) if self.bits_def else None
        if not self.kinds.max_rep and (word >> self.bits_def).any():
            raise CorruptFileError("a page has repetition levels but no lists")
        return Levels(self.kinds, rep, definition, len(word))

    def parse(
        self, data: Bytes, starts: Int64Array, stops: Int64Array, kernels: Kernels
    ) -> ZippedLevels:
        """Decode the ascending rows ``starts[i]`` to ``stops[i]`` of ``data``.

        Raises `CorruptFileError` if a row does not end at the end of a value.
        """
        if (stops - starts < max(1, self.width)).any():
            raise CorruptFileError("a row has no control word")
        positions = self._positions(data, starts, stops, kernels)
        levels = self.levels(windows(data, positions, self.width))
        expected = np.searchsorted(positions, starts)
        row_starts = levels.row_starts()
        if not np.array_equal(
            expected, np.arange(len(starts)) if row_starts is None else row_starts
        ):
            raise CorruptFileError("levels and repetition index do not agree")
        visible = levels.visible()
        at = (positions if visible is None else positions[visible]) + self.width
        if self.value_width:
            return ZippedLevels(levels, at, at + self.value_width)
        definition = levels.definition
        if definition is not None and visible is not None:
            definition = definition[visible]
        present = np.ones(len(at), np.bool_) if definition is None else definition == 0
        lengths = np.zeros(len(at), np.int64)
        lengths[present] = self._lengths(data, at[present])
        at = at + present * self.length_width
        return ZippedLevels(levels, at, at + lengths)

    def _positions(
        self, data: Bytes, starts: Int64Array, stops: Int64Array, kernels: Kernels
    ) -> Int64Array:
        """The positions of all levels of the rows."""
        # Every level has a value of the same width, so positions follow from the sizes of the rows.
        if self.value_width and self.kinds.max_visible_def == self.kinds.max_def:
            stride = self.width + self.value_width
            counts, rest = np.divmod(stops - starts, stride)
            if rest.any():
                raise CorruptFileError("a row does not end where a value does")
            order = spans_index(np.zeros_like(counts), counts)
            return np.repeat(starts, counts) + order * stride
        limit = self.kinds.max_visible_def if self.value_width else 0
        lengths, single = self.length_width, not self.kinds.max_rep
        form = ZippedForm(self.width, self.bits_def, limit, self.value_width, lengths, single)
        return kernels.zipped_places(data, starts, stops, form)

    def _lengths(self, data: Bytes, at: Int64Array) -> Int64Array:
        """The stored lengths at the positions ``at``."""
        stored = windows(data, at, self.length_width).view(f"<u{self.length_width}").reshape(-1)
        if len(stored) and int(stored.max()) > len(data):
            raise too_long()
        return stored.astype(np.int64)


def too_long() -> CorruptFileError:
    """The error for a row with bytes after its value."""
    return CorruptFileError("the values of a row do not end where the row does")
