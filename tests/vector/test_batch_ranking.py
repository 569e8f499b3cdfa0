"""Batches of queries against all vectors: as the exact distances of all rows say."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from lance_core_vector import batch_ranking
from lance_core_vector.batch_ranking import BatchRanking
from lance_core_vector.distances import METRICS
from lance_core_vector.loops.library import numpy_loops
from lance_core_vector.options import NearestOptions
from lance_core_vector.query import VectorQuery

WIDTH, COUNT = 20, 7


def windows() -> list[npt.NDArray[np.float32]]:
    """Among others, with equal vectors, of zeros, with infinite numbers, and of few rows."""
    random = np.random.default_rng(4)
    found = [random.normal(0, 1, (size, WIDTH)).astype(np.float32) for size in (300, 3, 900, 400)]
    found[0][50:120] = found[0][3]
    found[2][::100], found[2][5] = 0, 1e-30
    found[3][9, 2], found[3][10:90] = np.inf, found[0][3]
    return found


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("most", [1 << 27, 1])
def test_windows(
    metric: str, is_compiled: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no vectors may wait for the end."""
    monkeypatch.setattr(batch_ranking, "MAX_WAITING_BYTES", most)
    parts = windows()
    queries = np.concatenate([parts[0][:5], parts[2][30:33] + np.float32(0.1)])
    nearest = {"column": "x", "q": queries, "k": COUNT, "metric": metric}
    query = VectorQuery(
        NearestOptions.of(nearest), queries.astype("f8"), METRICS[metric], is_multivector=False
    )
    columns = [pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), WIDTH) for part in parts]
    rows = np.split(np.arange(sum(map(len, parts))), np.cumsum([*map(len, parts)])[:-1])
    with nullcontext() if is_compiled else numpy_loops():
        if most > 1:
            answers = query.rank(zip(columns, rows, strict=True), COUNT)
        else:
            rules = batch_ranking.RowRules(query.accepts, query.best)
            ranking = BatchRanking(METRICS[metric], queries, COUNT, rules)
            for column, own in zip(columns, rows, strict=True):
                ranking.add(column, own)
            answers = ranking.hits()
    every = np.concatenate(parts)
    for number, hits in enumerate(answers):
        with np.errstate(all="ignore"):
            exact = METRICS[metric].exact(every, queries[number])
        order = np.lexsort((np.arange(len(every)), exact))[:COUNT]
        assert hits.rows.tolist() == order.tolist()
        np.testing.assert_array_equal(hits.scores, exact[order])
