"""The analyzer ``raw``: a text is one word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Analyzer, Words


class RawAnalyzer(Analyzer):
    """Each text that is not empty is one word."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        lengths = pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False)
        owners = np.flatnonzero(lengths)
        zeros = np.zeros(len(owners), np.int64)
        return Words(texts.take(pa.array(owners)), owners, zeros, zeros, lengths[owners])
