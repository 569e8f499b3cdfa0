"""Buffers that are put together of pieces at known places."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.bit_packing import LANE_VALUES, pack

Bytes = npt.NDArray[np.uint8]


def widths_of(values: Integers) -> Integers:
    """The bits of the largest value of each row."""
    widths: Integers = np.frexp(values.max(axis=1, initial=0).astype(np.float64))[1]
    return widths.astype(np.int64)


def place_packed(out: Bytes, starts: Integers, values: Integers, widths: Integers) -> None:
    """Pack each row of ``values`` to its width, and place it in ``out`` at its start."""
    lanes = values.shape[1] // LANE_VALUES
    for width in np.unique(widths).tolist():
        rows = np.flatnonzero(widths == width)
        data = pack(values[rows], width, lanes)
        out[starts[rows, None] + np.arange(data.shape[1])] = data


def place_bytes(out: Bytes, starts: Integers, lengths: Integers, data: Bytes) -> None:
    """Place successive parts of ``data`` with these lengths at their starts."""
    firsts = np.cumsum(lengths) - lengths
    out[np.arange(len(data)) + np.repeat(starts - firsts, lengths)] = data
