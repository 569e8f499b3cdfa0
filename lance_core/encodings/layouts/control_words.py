"""Control words of full-zip pages: the levels of a value, in front of it.

A word is ``repetition << bits_def | definition`` in 0, 1, 2 or 4 bytes, little endian. A visible
level of fixed width is followed by its value even if that is null; of variable width, only a level
that is not null at all is, by the length and the bytes of its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.layouts.layout import spans_index
from lance_core.encodings.repdef import LayerKinds, Levels
from lance_core.errors import CorruptFileError

_FEW_ROWS = 8

Bytes = npt.NDArray[np.uint8]


class Zipped(NamedTuple):
    """Levels, and where the bytes of each visible one's value are."""

    levels: Levels
    starts: Int64Array
    stops: Int64Array


@dataclass(frozen=True, slots=True)
class ControlWords:
    """How the levels of a page are zipped with its values.

    ``value_width``: bytes of a value, or 0 if a length of ``length_width`` bytes comes before it.
    """

    kinds: LayerKinds
    bits_rep: int
    bits_def: int
    value_width: int
    length_width: int

    def __post_init__(self) -> None:
        if self.bits_rep > 16 or self.bits_def > 16:
            raise CorruptFileError(f"control words of {self.bits_rep} and {self.bits_def} bits")
        if bool(self.bits_rep) < bool(self.kinds.max_rep):
            raise CorruptFileError("lists without repetition levels", field="FullZipLayout")

    @property
    def width(self) -> int:
        """Bytes of a control word."""
        bits = self.bits_rep + self.bits_def
        return 0 if not bits else 1 if bits <= 8 else 2 if bits <= 16 else 4

    def levels(self, words: Bytes) -> Levels:
        """The levels that a table of bytes, one row for each word, stands for."""
        if not self.width:
            return Levels(self.kinds, None, None, len(words))
        word = words.view(f"<u{self.width}").reshape(-1).astype(np.uint32)
        rep = (word >> self.bits_def).astype(np.uint16) if self.kinds.max_rep else None
        mask = np.uint32((1 << self.bits_def) - 1)
        definition = (word & mask).astype(np.uint16) if self.bits_def else None
        if not self.kinds.max_rep and (word >> self.bits_def).any():
            raise CorruptFileError("repetition levels where there are no lists")
        return Levels(self.kinds, rep, definition, len(word))

    def parse(self, data: Bytes, starts: Int64Array, stops: Int64Array) -> Zipped:
        """The levels of rows from ``starts[i]`` to ``stops[i]`` of ``data``, all ascending.

        Raises `CorruptFileError` unless values and rows end together.
        """
        if (stops - starts < max(1, self.width)).any():
            raise CorruptFileError("a row without a control word")
        places = self._places(data, starts, stops)
        levels = self.levels(windows(data, places, self.width))
        expected = np.searchsorted(places, starts)
        found = levels.row_starts()
        if not np.array_equal(expected, np.arange(len(starts)) if found is None else found):
            raise CorruptFileError("levels and repetition index do not agree")
        visible = levels.visible()
        at = (places if visible is None else places[visible]) + self.width
        if self.value_width:
            return Zipped(levels, at, at + self.value_width)
        definition = levels.definition
        if definition is not None and visible is not None:
            definition = definition[visible]
        present = np.ones(len(at), np.bool_) if definition is None else definition == 0
        lengths = np.zeros(len(at), np.int64)
        lengths[present] = self._lengths(data, at[present])
        at = at + present * self.length_width
        return Zipped(levels, at, at + lengths)

    def _places(self, data: Bytes, starts: Int64Array, stops: Int64Array) -> Int64Array:
        """Where all levels of the rows begin."""
        if self.value_width and self.kinds.max_visible_def == self.kinds.max_def:
            stride = self.width + self.value_width
            counts, rest = np.divmod(stops - starts, stride)
            if rest.any():
                raise CorruptFileError("a row does not end where a value does")
            order = spans_index(np.zeros_like(counts), counts)
            return np.repeat(starts, counts) + order * stride
        found, places, ends = [], starts, stops
        while len(places) > _FEW_ROWS:  # one level of each row at a time
            found.append(places)
            following = places + self._steps(data, places, ends)
            if (following > ends).any():
                raise _too_long()
            going_on = following < ends
            if not self.kinds.max_rep and going_on.any():
                raise _too_long()
            places, ends = following[going_on], ends[going_on]
        for place, end in zip(places.tolist(), ends.tolist(), strict=True):
            found.append(self._places_of_row(data, place, end))
        joined = np.concatenate(found)
        joined.sort()
        return joined

    def _steps(self, data: Bytes, places: Int64Array, ends: Int64Array) -> Int64Array:
        """Bytes that the levels at ``places`` take with their values."""
        if (places + self.width > ends).any():
            raise _too_long()
        definition = self.levels(windows(data, places, self.width)).definition
        steps = np.full(len(places), self.width, np.int64)
        if self.value_width:
            visible = self.kinds.max_visible_def
            has_value = True if definition is None else definition <= visible
            return steps + np.where(has_value, self.value_width, 0)
        present = np.ones(len(places), np.bool_) if definition is None else definition == 0
        at = places[present] + self.width
        if (at + self.length_width > ends[present]).any():
            raise _too_long()
        steps[present] += self._lengths(data, at) + self.length_width
        return steps

    def _places_of_row(self, data: Bytes, place: int, end: int) -> Int64Array:
        """Where the levels of one row begin, level by level: a few long rows are left over."""
        places = []
        view, mask = data.data, (1 << self.bits_def) - 1
        limit = self.kinds.max_visible_def if self.value_width else 0
        width, length_width = self.width, self.length_width
        while place < end:
            places.append(place)
            level = int.from_bytes(view[place : place + width], "little") & mask
            place += width
            if level <= limit:
                if not self.value_width:
                    length = int.from_bytes(view[place : place + length_width], "little")
                    place += length_width + length
                else:
                    place += self.value_width
        if place != end or (len(places) > 1 and not self.kinds.max_rep):
            raise _too_long()
        return np.array(places, np.int64)

    def _lengths(self, data: Bytes, at: Int64Array) -> Int64Array:
        """The lengths that are stored at the places ``at``."""
        stored = windows(data, at, self.length_width).view(f"<u{self.length_width}").reshape(-1)
        if len(stored) and int(stored.max()) > len(data):
            raise _too_long()
        return stored.astype(np.int64)


def windows(data: Bytes, places: Int64Array, width: int) -> Bytes:
    """The ``width`` bytes at each of ``places``, all within ``data``, as rows of a table."""
    if not width or not len(places):
        return np.empty((len(places), width), np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(data, width)
    return np.ascontiguousarray(windows[places])


def _too_long() -> CorruptFileError:
    return CorruptFileError("the values of a row do not end where the row does")
