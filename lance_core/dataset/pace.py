"""How many rows a window of a stream has: as many as the bytes of those before it suggest.

What a file says of its size tells little: a page may hold one long value for a million rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from lance_core.dataset.scan import Span
    from lance_core.schema import Field

_GROWTH = 8
"""How many times the rows of the window before one may have: few windows are small ones at the
beginning, and rows that are longer than those before them do not take much more than they may."""


class Pace:
    """Cuts spans into windows, whose rows it chooses anew for each.

    It begins with ``first`` rows; `saw` tells it what a window took in memory, of which it wants
    ``target`` bytes. A window has at most ``most`` rows, and whole multiples of ``unit`` if that
    many fit. With a target of None all windows have ``first`` rows. `saw` may be called by any
    thread.
    """

    __slots__ = ("_most", "_rows", "_target", "_unit")

    def __init__(self, first: int, most: int, unit: int = 1, target: int | None = None) -> None:
        self._most, self._unit, self._target = most, unit, target
        self._rows = self._whole(min(first, most))

    def windows(self, spans: Iterable[Span]) -> Iterator[Span]:
        """The windows, each of as many rows as seems right when it is asked for."""
        for span in spans:
            start = span.start
            while start < span.stop:
                stop = min(start + self._rows, span.stop)
                yield replace(span, start=start, stop=stop)
                start = stop

    def saw(self, rows: int, size: int) -> None:
        """A window of so many rows took ``size`` bytes."""
        if self._target is None or not rows:
            return
        fitting = self._target * rows // max(1, size)
        self._rows = self._whole(min(fitting, _GROWTH * rows, self._most))

    def _whole(self, rows: int) -> int:
        return max(1, rows if rows < self._unit else rows - rows % self._unit)


def fixed_bytes(fields: Sequence[Field]) -> int | None:
    """Bytes of a row of the fields in memory, None if rows differ."""
    widths = [_fixed_bits(field.storage_type) for field in fields]
    known = [width for width in widths if width is not None]
    return sum(known) // 8 + 1 if len(known) == len(widths) else None


def _fixed_bits(type_: pa.DataType) -> int | None:
    if pa.types.is_fixed_size_list(type_):
        width = _fixed_bits(type_.value_type)
        return None if width is None else width * type_.list_size
    if pa.types.is_struct(type_):
        widths = [_fixed_bits(field.type) for field in type_]
        known = [width for width in widths if width is not None]
        return sum(known) if len(known) == len(widths) else None
    has_width = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_fixed_size_binary)
    if any(check(type_) for check in has_width):
        return int(type_.bit_width)
    return 0 if pa.types.is_null(type_) else None
