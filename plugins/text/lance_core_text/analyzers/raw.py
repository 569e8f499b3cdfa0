"""The analyzer ``raw``: a text is one word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Analyzer, Words
from lance_core.hookspecs.arrays import from_numpy, to_numpy, to_scalar


class RawAnalyzer(Analyzer):
    """Each text that is not empty is one word."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        lengths = to_numpy(pc.binary_length(texts).fill_null(to_scalar(0, pa.int64())))
        owners = np.flatnonzero(lengths)
        zeros = np.zeros(len(owners), np.int64)
        return Words(texts.take(from_numpy(owners)), owners, zeros, zeros, lengths[owners])
