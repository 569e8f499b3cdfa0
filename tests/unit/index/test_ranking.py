"""The best rows of a search."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.index.ranking import best_of


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("rows_ascend", [True, False])
def test_the_best_rows_of_many_are_those_of_a_sort(ascending: bool, rows_ascend: bool) -> None:
    random = np.random.default_rng(4)
    count = 3_000
    rows = np.arange(count, dtype=np.uint64) * 5
    if not rows_ascend:
        rows = random.permutation(rows)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40], np.float32)
    for values in (special, random.normal(size=700).astype(np.float32)):
        scores = random.choice(values, count)
        there = ~np.isnan(scores)
        keys = scores if ascending else -scores
        order = np.lexsort((rows[there], keys[there]))
        for limit in (count, 1_000):
            hits = best_of(rows, scores, limit, ascending=ascending)
            np.testing.assert_array_equal(hits.rows, rows[there][order][:limit])
            np.testing.assert_array_equal(hits.scores, scores[there][order][:limit])
