"""Which documents are among others, where both ascend."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers

_TABLE_DOCUMENTS = 64
"""Documents for each value that is looked up, up to which a table of all is made for it."""


def contains(documents: Integers, values: Integers) -> npt.NDArray[np.bool_]:
    """For each of ``values``, True if it is among ``documents``; both ascend."""
    if not len(documents) or not len(values):
        return np.zeros(len(values), np.bool_)
    end = max(int(documents[-1]), int(values[-1])) + 1
    if end <= _TABLE_DOCUMENTS * len(values):
        table = np.zeros(end, np.bool_)
        table[documents] = True
        return table[values]
    indices = np.searchsorted(documents, values)
    indices[indices == len(documents)] = 0
    is_there: npt.NDArray[np.bool_] = documents[indices] == values
    return is_there
