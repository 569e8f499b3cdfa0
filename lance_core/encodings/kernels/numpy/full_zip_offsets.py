"""Locate the levels of full-zip pages, in which each level precedes its value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError

Bytes = npt.NDArray[np.uint8]

# Below this number of rows a Python loop over levels is faster than numpy calls per level.
_FEW_ROWS = 8
_WORDS = (0, 1, 2, 4)
_LENGTHS = (4, 8)


class ZippedForm(NamedTuple):
    """The layout of levels zipped with values.

    A control word takes ``word`` bytes (0, 1, 2 or 4); its lowest ``bits_def`` bits are the
    definition level. If the definition is at most ``limit``, a value follows the word. It takes
    ``value_width`` bytes, or, if ``value_width`` is 0, a length of ``length_width`` bytes (4 or 8)
    and as many bytes as that length states. ``single``: True if each row has one level.
    """

    word: int
    bits_def: int
    limit: int
    value_width: int
    length_width: int
    single: bool


def check_form(form: ZippedForm) -> None:
    """Raise `CorruptFileError` unless the control-word, definition and value widths are valid.

    See `ZippedForm`.
    """
    if form.word not in _WORDS or not 0 <= form.bits_def <= 16 or form.bits_def > 8 * form.word:
        raise CorruptFileError(
            f"control words of {form.word} bytes cannot have definitions of {form.bits_def} bits"
        )
    if form.value_width < 0 or (not form.value_width and form.length_width not in _LENGTHS):
        raise CorruptFileError(
            f"invalid value width {form.value_width} or length width {form.length_width} "
            "(must be 4 or 8)"
        )


def zipped_places(
    data: Bytes, starts: Int64Array, stops: Int64Array, form: ZippedForm
) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.zipped_places`."""
    check_form(form)
    if len(starts) != len(stops):
        raise CorruptFileError(f"{len(starts)} rows start and {len(stops)} stop")
    if len(starts) and (starts.min() < 0 or stops.max() > len(data) or (starts > stops).any()):
        raise CorruptFileError(f"a row is not within {len(data)} bytes")
    if (starts[1:] < stops[:-1]).any():
        raise CorruptFileError("rows descend or overlap")
    has_bytes = starts < stops
    parts, positions, ends = [starts[:0]], starts[has_bytes], stops[has_bytes]
    while len(positions) > _FEW_ROWS:  # each iteration advances all rows by one level
        parts.append(positions)
        following = positions + _steps(data, positions, ends, form)
        if (following > ends).any() or (form.single and (following < ends).any()):
            raise _too_long()
        going_on = following < ends
        positions, ends = following[going_on], ends[going_on]
    for position, end in zip(positions.tolist(), ends.tolist(), strict=True):
        parts.append(_places_of_row(data, position, end, form))
    joined = np.concatenate(parts)
    joined.sort()
    return joined


def _steps(data: Bytes, positions: Int64Array, ends: Int64Array, form: ZippedForm) -> Int64Array:
    """Bytes of each level at ``positions``, including its value."""
    if (ends - positions < form.word).any():
        raise _too_long()
    present = np.ones(len(positions), np.bool_)
    if form.word:
        mask = (1 << form.bits_def) - 1
        words = windows(data, positions, form.word).view(f"<u{form.word}").reshape(-1)
        present = (words & mask) <= form.limit
    elif form.limit < 0:
        present = ~present
    steps = np.full(len(positions), form.word, np.int64)
    if form.value_width:
        # A width above the size of the data only needs to exceed it; the limit avoids an overflow.
        steps[present] += min(form.value_width, len(data) + 1)
        return _going_on(steps)
    at = positions[present] + form.word
    if (ends[present] - at < form.length_width).any():
        raise _too_long()
    stored = windows(data, at, form.length_width).view(f"<u{form.length_width}").reshape(-1)
    if len(stored) and int(stored.max()) > len(data):
        raise _too_long()
    steps[present] += stored.astype(np.int64) + form.length_width
    return _going_on(steps)


def _going_on(steps: Int64Array) -> Int64Array:
    """``steps``; raises `CorruptFileError` for a step of 0, which would never end."""
    if not steps.all():
        raise _too_long()
    return steps


def _places_of_row(data: Bytes, position: int, end: int, form: ZippedForm) -> Int64Array:
    """The positions of the levels of one row. Used for the few rows with the most levels."""
    positions = []
    view, mask = data.data, (1 << form.bits_def) - 1
    while position < end:
        positions.append(position)
        level = int.from_bytes(view[position : position + form.word], "little") & mask
        position += form.word
        if level <= form.limit:
            if form.value_width:
                position += form.value_width
            else:
                head = view[position : position + form.length_width]
                position += form.length_width + int.from_bytes(head, "little")
        if position == positions[-1]:
            raise _too_long()
    if position != end or (len(positions) > 1 and form.single):
        raise _too_long()
    return np.array(positions, np.int64)


def windows(data: Bytes, positions: Int64Array, width: int) -> Bytes:
    """A table whose row i has the ``width`` bytes at ``positions[i]``, all within ``data``."""
    if not width or not len(positions):
        return np.empty((len(positions), width), np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(data, width)
    return np.ascontiguousarray(windows[positions])


def _too_long() -> CorruptFileError:
    return CorruptFileError("the values of a row do not end where the row does")
