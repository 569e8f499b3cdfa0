"""Indices are compared with the vectors that the table has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import IndexNotFoundError, UnsupportedFeatureError
from lance_core_vector.kinds import verify
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from tests.each_case import each_case

ROWS, WIDTH = 600, 16
KINDS: list[dict[str, Any]] = [
    {"index_type": "IVF_FLAT"},
    {"index_type": "IVF_SQ"},
    {"index_type": "IVF_PQ", "num_sub_vectors": 4, "num_bits": 4},
    {"index_type": "IVF_PQ", "num_sub_vectors": 2, "max_iters": 2},
    {"index_type": "IVF_RQ", "num_bits": 3},
]


def vectors(seed: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(ROWS, WIDTH)).astype(np.float32)


def table(folder: Path, **options: Any) -> lance.LanceDataset:
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors(1).ravel()), WIDTH)
    rows = pa.table({"id": range(ROWS), "v": column})
    return lance.write_dataset(rows, folder / "t.lance", max_rows_per_file=250, **options)


@each_case(
    "parameters, metric, stable",
    [(one, ("l2", "cosine")[at % 2], at % 3 == 1) for at, one in enumerate(KINDS)],
)
def test_codes_of_other_vectors_and_missing_rows_are_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    parameters: dict[str, Any],
    metric: str,
    stable: bool,
) -> None:
    dataset = table(tmp_path, enable_stable_row_ids=stable)
    dataset.create_index("v", metric=metric, num_partitions=3, **parameters)
    dataset.delete("id % 9 = 2")
    assert dataset.verify_index("v_idx") == []
    dataset.optimize.compact_files()
    assert dataset.verify_index("v_idx") == []
    other, true = vectors(2), verify.vectors_of

    def changed(*given: Any) -> Any:
        for numbers, stored in true(*given):
            matrix = stored.copy()
            matrix[[5, 70]] = other[:2] / np.linalg.norm(other[:2], axis=1, keepdims=True)
            yield numbers, matrix

    with monkeypatch.context() as patch:
        patch.setattr(verify, "vectors_of", changed)
        problems = dataset.verify_index("v_idx")
        assert [one.text for one in problems] == ["has the code of another vector"] * 2
        assert {one.offset for one in problems} <= set(range(ROWS))
        assert "row" in str(problems[0])
        assert len(dataset.verify_index("v_idx", limit=1)) == 1
        patch.setattr(verify, "stored_partitions", lambda _: iter(()))
        patch.setattr(verify, "vectors_of", true)
        missing = dataset.verify_index("v_idx", limit=10)
        assert [one.text for one in missing] == ["is not in the index"] * 10


@each_case("metric", ["l2", "cosine", "dot"])
def test_rows_in_other_partitions_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str
) -> None:
    dataset = table(tmp_path)
    dataset.create_index("v", "IVF_FLAT", metric=metric, num_partitions=5)
    assert dataset.verify_index("v_idx") == []
    true = verify.stored_partitions

    def moved(source: Any) -> Any:
        for number, rows, codes in true(source):
            yield (4 - number, rows, codes)

    with monkeypatch.context() as patch:
        patch.setattr(verify, "stored_partitions", moved)
        problems = dataset.verify_index("v_idx", limit=ROWS)
    assert {one.text for one in problems} == {"is not in the partition of its nearest centroid"}
    assert len(problems) > ROWS / 4


def test_rows_of_several_vectors_are_compared_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors(1).ravel()), WIDTH)
    ends = np.sort(np.random.default_rng(2).integers(0, ROWS, 199)).tolist()
    column = pa.ListArray.from_arrays(pa.array([0, *ends, ROWS], pa.int32()), flat)
    dataset = lance.write_dataset(pa.table({"v": column}), tmp_path / "t.lance")
    dataset.create_index("v", "IVF_SQ", metric="cosine", num_partitions=4)
    monkeypatch.setattr(verify, "MAX_PAIRS", 64)
    assert dataset.verify_index("v_idx") == []
    true = verify.vectors_of

    def changed(*given: Any) -> Any:
        for numbers, stored in true(*given):
            matrix = stored.copy()
            matrix[17] = -matrix[17]
            yield np.append(numbers, numbers[-1:]), np.append(matrix, matrix[-1:], axis=0)

    monkeypatch.setattr(verify, "vectors_of", changed)
    texts = [one.text for one in dataset.verify_index("v_idx")]
    assert texts == ["has fewer vectors in the index", "has the code of another vector"]


def test_an_index_of_another_type_cannot_be_verified(tmp_path: Path) -> None:
    dataset = table(tmp_path)
    dataset.create_scalar_index("id", "BTREE")
    with pytest.raises(UnsupportedFeatureError, match="cannot be verified"):
        dataset.verify_index("id_idx")
    with pytest.raises(IndexNotFoundError):
        dataset.verify_index("v_idx")


def test_scalar_codes_may_differ_by_one_step_of_rounding() -> None:
    source: Any = SimpleNamespace(quantizer=ScalarQuantizer(WIDTH, -1.0, 1.0, "l2", "x"))
    stored = np.arange(2 * WIDTH, dtype=np.uint8).reshape(2, WIDTH) + np.uint8(2)
    expected = stored.copy()
    expected[0, 3] -= 1
    expected[1, 5] += 2
    found = verify._is_other(source, stored, expected, stored, np.zeros(2, np.int64))
    assert found.tolist() == [False, True]
