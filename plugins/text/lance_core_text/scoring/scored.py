"""`Scored`: documents of a partition with their scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.scoring.bm25 import Floats


class Scored(NamedTuple):
    """Distinct documents, and the score of each."""

    documents: Integers
    scores: Floats


NOTHING = Scored(np.empty(0, np.int64), np.empty(0, np.float32))
