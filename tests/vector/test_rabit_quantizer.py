"""What is stored beside the codes of RaBitQ, and codes of older releases."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core_vector.partitions.index_files import IvfModel
from lance_core_vector.partitions.partition_cache import Partition
from lance_core_vector.quantizers.rabit import RabitQuantizer, ResidualRabitQuantizer
from lance_core_vector.quantizers.rabit_layout import pack_signs
from lance_core_vector.quantizers.rotation import FastRotation, num_sign_bytes, rotate
from tests.each_case import each_case

WIDTH = 24
SIGNS = [0, 255] * (num_sign_bytes(WIDTH) // 2)
STORED = {
    "num_bits": 3,
    "packed": True,
    "query_estimator": "raw_query",
    "rotation_type": "fast",
    "fast_rotation_signs": SIGNS,
    "code_dim": WIDTH,
}


def model(width: int = WIDTH) -> IvfModel:
    centroids = np.random.default_rng(1).normal(size=(2, width)).astype(np.float32)
    return IvfModel(centroids, np.zeros(2, np.int64), np.zeros(2, np.int64), None)


def files(**changes: Any) -> Any:
    codes = SimpleNamespace(path="auxiliary.idx")
    return SimpleNamespace(quantizer={**STORED, **changes}, codes=codes, metric="l2")


@each_case(
    "changes, error",
    [
        ({"code_dim": 16}, CorruptFileError),
        ({"num_bits": 10}, CorruptFileError),
        ({"num_bits": 0}, CorruptFileError),
        ({"packed": False}, UnsupportedFeatureError),
        ({"packed": None}, UnsupportedFeatureError),
        ({"query_estimator": "residual_query"}, UnsupportedFeatureError),
        ({"query_estimator": "other"}, UnsupportedFeatureError),
    ],
)
def test_metadata_of_other_codes_is_refused(
    changes: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match="auxiliary"):
        RabitQuantizer.of(files(**changes), model())


def test_metadata_of_codes_names_their_kind() -> None:
    assert RabitQuantizer.of(files(), model()).bits == 3
    assert type(RabitQuantizer.of(files(code_dim=0, num_bits=9), model())) is RabitQuantizer
    older = files(num_bits=1, query_estimator="residual_query")
    assert type(RabitQuantizer.of(older, model())) is ResidualRabitQuantizer
    odd = files(code_dim=20, fast_rotation_signs=[0] * num_sign_bytes(20))
    with pytest.raises(CorruptFileError, match="auxiliary"):
        RabitQuantizer.of(odd, model(20))


@pytest.mark.parametrize("metric", ["l2", "dot"])
def test_codes_of_older_releases_are_compared_with_differences_of_the_query(metric: str) -> None:
    random, count = np.random.default_rng(2), 40
    quantizer = ResidualRabitQuantizer(
        WIDTH, 1, FastRotation(SIGNS), metric=metric, model=model(), path="x"
    )
    signs = random.integers(0, 2, (count, WIDTH))
    packed = pack_signs(np.packbits(signs, axis=1, bitorder="little"))
    add, scale = random.normal(size=(2, count)).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(packed.reshape(-1)), WIDTH // 8)
    codes = quantizer.load([column, *(pa.array(one) for one in (add, scale, add))])
    query = random.normal(size=WIDTH).astype(np.float32)
    stored = Partition(1, np.arange(count, dtype=np.uint64), codes)
    center = quantizer.model.centroids[1].astype(np.float64)
    difference = rotate((query - center)[None], SIGNS)[0]
    base = -(query @ center) if metric == "dot" else ((query - center) ** 2).sum()
    expected = add + base + scale * ((signs - 0.5) @ difference) * 2 / np.sqrt(WIDTH)
    found = quantizer.scorer(query).top([stored], 10, None)
    np.testing.assert_allclose(found.scores, np.sort(expected)[:10], rtol=1e-4, atol=1e-4)
    assert found.rows.tolist() == np.argsort(expected)[:10].tolist()
