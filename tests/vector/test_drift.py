"""Rows of another distribution than those that trained an index are warned of."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CorruptFileError, IndexWarning
from lance_core_vector.partitions.training_fit import TrainingFit
from lance_core_vector.quality import recall_report
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


def fits(dataset: lance.LanceDataset) -> list[tuple[float | None, int | None]]:
    """The drift of each segment, and the rows that were added to it."""
    segments = dataset.stats.index_stats("v_idx")["segments"]
    return [(own["drift"], own["num_added_rows"]) for own in segments]


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
        if not merged:  # else partitions may be split
            assert fits(dataset)[-1][0] == pytest.approx(1, abs=0.2)
    dataset.insert(rows(4, shift=4.0))
    with pytest.warns(IndexWarning, match=r"times as far .* optimize_indices\(retrain=True\)"):
        dataset.optimize.optimize_indices(num_indices_to_merge=merged)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndexWarning)
        dataset.optimize.optimize_indices(retrain=True)
        assert fits(dataset) == [(None, 0)]


def table_with_index(path: Path, partitions: int) -> lance.LanceDataset:
    dataset = lance.write_dataset(rows(1), path)
    dataset.create_index("v", "IVF_FLAT", metric="l2", num_partitions=partitions)
    return dataset


def test_the_drift_is_that_of_all_rows_added_since_the_training(tmp_path: Path) -> None:
    dataset = table_with_index(tmp_path / "t.lance", partitions=2)
    assert fits(dataset) == [(None, 0)]
    dataset.insert(rows(2).slice(0, 60))
    dataset.optimize.optimize_indices()
    assert fits(dataset) == [(None, 60)]  # too few
    dataset.insert(rows(2).slice(60, 340))
    dataset.optimize.optimize_indices()
    ((drift, count),) = fits(dataset)
    assert count == 400
    assert drift == pytest.approx(1, abs=0.2)
    dataset.insert(rows(3, shift=4.0).slice(0, 100))
    with pytest.warns(IndexWarning, match="times as far"):
        dataset.optimize.optimize_indices()
    ((higher, count),) = fits(dataset)
    assert count == 500
    assert higher > 1.2 * drift
    dataset.optimize.compact_files()
    assert fits(dataset) == [(higher, 500)]


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


def test_a_report_of_recall_has_the_drift_of_all_segments(tmp_path: Path) -> None:
    dataset = table_with_index(tmp_path / "t.lance", partitions=4)
    assert recall_report(dataset, "v", k=3, sample=5).drift is None
    for seed, shift in ((2, 0.0), (3, 4.0)):
        dataset.insert(rows(seed, shift))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndexWarning)
            dataset.optimize.optimize_indices(num_indices_to_merge=0)
    with pytest.warns(IndexWarning, match="times as far"):
        report = recall_report(dataset, "v", k=3, sample=5)
    with pytest.warns(IndexWarning, match="times as far"):
        (_, _), (low, _), (high, _) = fits(dataset)
    assert report.drift == pytest.approx((low + high) / 2)
    assert f"{report.drift:.1f} times as far" in repr(report)


def test_partitions_that_are_split_begin_the_count_anew(tmp_path: Path) -> None:
    dataset = table_with_index(tmp_path / "t.lance", partitions=16)
    dataset.insert(rows(3, shift=4.0))
    with pytest.warns(IndexWarning, match="times as far"):
        dataset.optimize.optimize_indices()
    assert len(dataset.stats.index_stats("v_idx")["segments"][0]["partitions"]) > 16
    assert fits(dataset) == [(None, 0)]


@each_case("text", ["null", "[1.0, 0.0]", "[1.0, 0.0, -1]", "[NaN, 0.0, 0]", "[-1.0, 0.0, 0]", "{"])
def test_a_damaged_fit_is_corrupt_for_statistics_and_no_obstacle_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(TrainingFit, "to_json", lambda fit: text)
        dataset = table_with_index(tmp_path / "t.lance", partitions=2)
    with pytest.raises(CorruptFileError, match="training_fit"):
        fits(dataset)
    nearest = {"column": "v", "q": np.zeros(WIDTH), "k": 3}
    assert dataset.to_table(nearest=nearest).num_rows == 3
    dataset.insert(rows(2))
    dataset.optimize.optimize_indices()
    ((drift, count),) = fits(dataset)
    assert drift == pytest.approx(1, abs=0.2)
    assert count == ROWS


@each_case(
    "kind, metric, known",
    [("IVF_RQ", "l2", True), ("IVF_RQ", "dot", False), ("IVF_SQ", "dot", True)],
)
def test_codes_say_how_far_rows_are_where_no_fit_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, metric: str, known: bool
) -> None:
    """As those of other libraries. RaBitQ codes for dot products have no angles."""
    with monkeypatch.context() as patched:
        patched.setattr(TrainingFit, "to_json", lambda fit: "null")
        dataset = lance.write_dataset(rows(1), tmp_path / "t.lance")
        dataset.create_index("v", kind, metric=metric, num_partitions=8)
    dataset.insert(rows(2))
    dataset.optimize.optimize_indices()
    ((drift, _),) = fits(dataset)
    assert drift == (pytest.approx(1, abs=0.3) if known else None)
