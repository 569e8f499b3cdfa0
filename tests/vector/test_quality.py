"""Reports of recall, and advice which index to make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError
from lance_core.store import memory
from lance_core_vector.quality import recall_report, recommend_index
from lance_core_vector.quality import recommendation as recommend
from lance_core_vector.quality.recall_report import interval

ROWS, WIDTH = 1_500, 16


@pytest.fixture(scope="module")
def matrix() -> npt.NDArray[np.float32]:
    random = np.random.default_rng(4)
    centers = random.normal(size=(30, WIDTH))
    rows = centers[random.integers(0, 30, ROWS)] + random.normal(size=(ROWS, WIDTH)) * 0.5
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def table(
    tmp_path_factory: pytest.TempPathFactory, matrix: npt.NDArray[np.float32]
) -> lance.LanceDataset:
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), WIDTH)
    uri = tmp_path_factory.mktemp("t") / "t.lance"
    dataset = lance.write_dataset(pa.table({"v": column}), uri)
    dataset.create_index("v", "IVF_SQ", metric="cosine", num_partitions=8)
    return dataset


def test_a_report_counts_what_searches_find(
    table: lance.LanceDataset, matrix: npt.NDArray[np.float32]
) -> None:
    options = [{"nprobes": 8, "refine_factor": 4}, {"nprobes": 1}, {}]
    report = recall_report(table, "v", k=5, sample=40, options=options)
    every, one, default = report.measured
    assert (every.recall, every.high, every.worst) == (1.0, 1.0, 1.0)
    assert 0.9 < every.low < 1
    assert one.recall < default.recall <= 1
    assert one.low < one.recall < one.high
    assert "recall@5 of 'v', 40 queries" in repr(report)
    assert "nprobes=8, refine_factor=4" in repr(report)
    given = recall_report(table, "v", k=5, queries=matrix[:20], options=options[:1])
    assert (given.num_queries, given.measured[0].recall) == (20, 1.0)
    again = recall_report(table, "v", k=5, sample=40, options=options[1:2])
    assert again.measured[0].recall == one.recall


def test_an_interval_has_the_mean_and_shrinks_with_more_queries() -> None:
    shares = np.random.default_rng(1).binomial(10, 0.9, 400) / 10
    few, many = interval(shares[:40]), interval(shares)
    assert few[0] < shares[:40].mean() < few[1]
    assert many[1] - many[0] < few[1] - few[0] < 0.1
    assert interval(np.empty(0)) != (1.0, 1.0)


def test_advice_is_the_smallest_index_within_the_limits(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recommend, "QUERIES", 10)
    monkeypatch.setattr(recommend, "PROBES", (1, 10))
    monkeypatch.setattr(recommend, "FACTORS", (None, 10))
    every = recommend._candidates(WIDTH, np.dtype(np.float32))
    assert {one["index_type"] for one in every} == {"IVF_FLAT", "IVF_SQ", "IVF_RQ", "IVF_PQ"}
    assert len(recommend._candidates(WIDTH, np.dtype(np.uint8))) == 1
    monkeypatch.setattr(recommend, "_candidates", lambda *_: [every[0], every[1], every[-1]])
    advice = recommend_index(table, "v", recall=0.9, sample_rows=1_200)
    assert (advice.num_rows, advice.sample_rows) == (ROWS, 1_200)
    assert advice.best is not None
    assert advice.best.recall >= 0.89
    assert "* " in repr(advice)
    monkeypatch.setattr(recommend, "_candidates", lambda *_: every[:1])
    none = recommend_index(table, "v", recall=0.9, bytes=10, sample_rows=1_000)
    assert none.best is None
    assert "no index keeps the limits" in repr(none)


def test_advice_for_bytes_compares_them_by_bits_and_frees_the_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = recommend._table_of
    random = np.random.default_rng(1)
    flat = pa.array(random.integers(0, 256, 1_100 * 8).astype(np.uint8))
    column = pa.FixedSizeListArray.from_arrays(flat, 8)
    table = lance.write_dataset(pa.table({"v": column}), "memory://")
    places = []
    monkeypatch.setattr(recommend, "_table_of", lambda rows: places.append(of(rows)) or places[-1])
    advice = recommend_index(table, "v", sample_rows=1_000)
    assert [one.parameters["index_type"] for one in advice.candidates] == ["IVF_FLAT"]
    (sample,) = places
    assert not memory._unnamed[sample.uri.removeprefix("memory://")]._objects  # it is freed


def test_wrong_arguments_are_named(table: lance.LanceDataset, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="recall must be above 0"):
        recommend_index(table, "v", recall=0)
    with pytest.raises(InvalidInputError, match="k and sample must be 1 or more"):
        recall_report(table, "v", k=0)
    few = lance.write_dataset(table.to_table(limit=10), tmp_path / "few")
    with pytest.raises(InvalidInputError, match="10 vectors in the sample"):
        recommend_index(few, "v")


@pytest.mark.filterwarnings("error")
def test_vectors_that_nothing_is_near_are_no_queries_of_a_report(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)
    rows[:20], rows[20:30], rows[30] = 0, np.nan, np.inf
    nulls = pa.array(np.arange(60) >= 50)
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 4, mask=nulls)
    dataset = lance.write_dataset(pa.table({"v": column}), tmp_path / "t.lance")
    dataset.create_index("v", "IVF_FLAT", metric="cosine", num_partitions=2)
    report = recall_report(dataset, "v", k=3, sample=60)
    assert (report.num_queries, report.measured[0].recall) == (19, 1.0)
