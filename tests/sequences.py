"""Rows in any order, for reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lance_core.encodings.decoding import RowIndices
from lance_core.encodings.row_sequence import RowSequence


def sequence(numbers: Sequence[int]) -> RowSequence:
    """The rows of these numbers, in that order."""
    distinct, places = np.unique(np.array(numbers, np.int64), return_inverse=True)
    return RowSequence(RowIndices(distinct), places)
