"""Rows in any order, for reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.decoding import RowIndices


def sequence(numbers: Sequence[int]) -> OrderedRows:
    """The rows of these numbers, in that order."""
    distinct, places = np.unique(np.array(numbers, np.int64), return_inverse=True)
    return OrderedRows(RowIndices(distinct), places)
