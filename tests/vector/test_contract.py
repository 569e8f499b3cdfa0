"""Every kind of vector index that is built keeps the contract of ranked answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core_testing import RankedIndexTests
from lance_core_vector.plugin import KINDS, lance_index_types, lance_searches
from tests.examples import share

ROWS, WIDTH, PARTITIONS = 420, 8, 3
PARAMETERS: dict[str, dict[str, Any]] = {
    "IVF_PQ": {"num_sub_vectors": 4, "num_bits": 4},
    "IVF_HNSW_PQ": {"num_sub_vectors": 4, "num_bits": 4},
}
"""Parameters that a kind needs."""

METRICS = ("cosine", "l2", "dot")


class KindTests(RankedIndexTests):
    """Vectors with some that are equal, null, of zeros or not finite."""

    (spec,) = lance_index_types()
    (search,) = lance_searches()
    is_exact = False
    tolerance = 2e-5

    def values(self) -> pa.Array:
        random = np.random.default_rng(4)
        vectors = random.normal(size=(ROWS, WIDTH)).astype(np.float32) + 1
        vectors[200:230] = vectors[100:130]
        vectors[7::60], vectors[11::60, 3] = 0, np.nan
        flat = pa.array(vectors.ravel())
        nulls = pa.array(np.arange(ROWS) % 9 == 4)
        return pa.FixedSizeListArray.from_arrays(flat, WIDTH, mask=nulls)

    def targets(self) -> Sequence[Any]:
        return np.random.default_rng(5).normal(size=(3, WIDTH)).astype(np.float32)

    def argument(self, targets: Any, k: int) -> Any:
        every = {"nprobes": 100, "refine_factor": 2 + ROWS // k, "ef": 2 * ROWS + 4 * k}
        metric = self.parameters["metric"]
        return {"column": "value", "q": np.array(targets), "k": k, "metric": metric, **every}

    def naive_score(self, value: Any, target: Any) -> float:
        pairs = [(float(a), float(b)) for a, b in zip(value, target, strict=True)]
        product = sum(a * b for a, b in pairs)
        if self.parameters["metric"] == "l2":
            return sum((a - b) ** 2 for a, b in pairs)
        if self.parameters["metric"] == "dot":
            return 1 - product
        lengths = sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs)
        return 1 - product / lengths**0.5 if lengths else float("nan")

    @pytest.fixture
    def stable(self) -> bool:
        """Stable row ids for every other kind: random sequences have both for all."""
        return bool(KINDS.index(self.parameters["kind"]) % 2)

    def create_index(self, dataset: lance.LanceDataset) -> None:
        parameters = dict(self.parameters)
        dataset.create_index("value", parameters.pop("kind"), **parameters)


def _tests_of(number: int, kind: str) -> type[KindTests]:
    metric = METRICS[number % len(METRICS)]
    given = {"kind": kind, "metric": metric, "num_partitions": PARTITIONS}
    parameters = {**given, **PARAMETERS.get(kind, {})}
    name = "Test" + kind.title().replace("_", "")
    return type(name, (KindTests,), {"parameters": parameters})


TESTS = [_tests_of(number, kind) for number, kind in enumerate(KINDS)]
# Every third kind here, all of them in `tox -e matrix`.
globals().update({tests.__name__: tests for tests in share(TESTS, 3, turn=1)})
