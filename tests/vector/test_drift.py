"""Rows of another distribution than those that trained an index are warned of."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import IndexWarning
from tests.each_case import each_case

ROWS, WIDTH = 800, 16


def rows(seed: int, shift: float = 0.0) -> pa.Table:
    random = np.random.default_rng(seed)
    centers = np.random.default_rng(99).normal(size=(8, WIDTH)) * 3 + shift
    if shift:
        centers = centers[:, ::-1]
    matrix = centers[random.integers(0, 8, ROWS)] + random.normal(size=(ROWS, WIDTH)) * 0.5
    flat = pa.array(matrix.astype(np.float32).ravel())
    return pa.table({"v": pa.FixedSizeListArray.from_arrays(flat, WIDTH)})


@each_case(
    "kind, metric, merged",
    [
        ({"index_type": "IVF_FLAT"}, "l2", 1),
        ({"index_type": "IVF_SQ"}, "cosine", 0),
        ({"index_type": "IVF_PQ", "num_sub_vectors": 4, "num_bits": 4}, "cosine", 1),
        ({"index_type": "IVF_PQ", "num_sub_vectors": 4, "num_bits": 4}, "l2", 0),
        ({"index_type": "IVF_RQ", "num_bits": 1}, "l2", 0),
        ({"index_type": "IVF_RQ"}, "cosine", 1),
        ({"index_type": "IVF_FLAT"}, "dot", 0),
        ({"index_type": "IVF_PQ", "num_sub_vectors": 8}, "dot", 1),
    ],
)
def test_rows_of_another_distribution_are_warned_of(
    tmp_path: Path, kind: dict[str, Any], metric: str, merged: int
) -> None:
    dataset = lance.write_dataset(rows(1), tmp_path / "t.lance")
    dataset.create_index("v", metric=metric, num_partitions=8, **kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexWarning)
        for seed in (2, 3):
            dataset.insert(rows(seed))
            dataset.optimize.optimize_indices(num_indices_to_merge=merged)
    dataset.insert(rows(4, shift=4.0))
    with pytest.warns(IndexWarning, match=r"times as far .* optimize_indices\(retrain=True\)"):
        dataset.optimize.optimize_indices(num_indices_to_merge=merged)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexWarning)
        dataset.optimize.optimize_indices(retrain=True)


def test_bytes_of_another_distribution_are_warned_of(tmp_path: Path) -> None:
    def bytes_like(byte: int, seed: int) -> pa.Table:
        random = np.random.default_rng(seed)
        flips = np.packbits(random.random((300, 8 * WIDTH)) < 0.02, axis=1)
        flat = pa.array((flips ^ np.uint8(byte)).ravel())
        return pa.table({"v": pa.FixedSizeListArray.from_arrays(flat, WIDTH)})

    dataset = lance.write_dataset(bytes_like(5, 1), tmp_path / "t.lance")
    dataset.create_index("v", "IVF_FLAT", metric="hamming", num_partitions=2)
    dataset.insert(bytes_like(5, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexWarning)
        dataset.optimize.optimize_indices()
    dataset.insert(bytes_like(250, 3))
    with pytest.warns(IndexWarning, match="times as far"):
        dataset.optimize.optimize_indices()
