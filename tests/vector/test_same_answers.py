"""Queries have the same answers with the compiled loops and with numpy, also of batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core_vector.kinds import query_batch
from lance_core_vector.loops.library import numpy_loops

ROWS, WIDTH = 3000, 16
KINDS: dict[str, dict[str, Any]] = {
    "IVF_FLAT": {},
    "IVF_SQ": {},
    "IVF_RQ": {},
    "IVF_PQ": {"num_sub_vectors": 4},
    "IVF_PQ of 4 bits": {"num_sub_vectors": 8, "num_bits": 4},
}
OPTIONS: list[dict[str, Any]] = [
    {"nprobes": 3},
    {"nprobes": 3, "refine_factor": 4},
    {"distance_range": (0.5, 9.0)},
    {"use_index": False},
]


@pytest.fixture(scope="module")
def vectors() -> npt.NDArray[np.float32]:
    """Also vectors that several rows have, of zeros, and of infinite numbers."""
    found = np.random.default_rng(3).normal(0, 1, (ROWS, WIDTH)).astype(np.float32)
    found[40:80], found[80], found[81, 3] = found[7], 0, np.inf
    return found


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("IVF_FLAT", "cosine"),
        ("IVF_FLAT", "dot"),
        ("IVF_SQ", "dot"),
        ("IVF_PQ of 4 bits", "dot"),
        *zip(KINDS, ("l2", "cosine", "dot", "cosine", "l2"), strict=True),
    ],
)
def test_answers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    vectors: npt.NDArray[np.float32],
    kind: str,
    metric: str,
) -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH)
    uri = str(tmp_path / "table")
    rows = pa.table({"id": range(ROWS), "vector": column})
    table = lance.write_dataset(rows, uri, max_rows_per_file=1700)
    parameters = {"num_partitions": 5, "max_iters": 3, **KINDS[kind]}
    table.create_index("vector", kind.split(maxsplit=1)[0], metric=metric, **parameters)
    table.delete("id % 9 = 4")

    def answers() -> list[pa.Table]:
        opened = lance.dataset(uri)
        nearest = {"column": "vector", "k": 25, "metric": metric}
        return [
            opened.to_table(columns=["id"], nearest=nearest | {"q": q} | one, filter=text)
            for one in OPTIONS
            for q in (vectors[7], vectors[90:96] + np.float32(0.1))
            for text in (None, "id % 50 < 2")
        ]

    found = answers()
    monkeypatch.setattr(query_batch, "_DECODED_BYTES", 4 * WIDTH * 200)
    with numpy_loops():
        for ours, theirs in zip(found, answers(), strict=True):
            assert ours == theirs
