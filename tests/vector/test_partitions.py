"""How many partitions are searched, and which rows are the lowest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.index.ranking import RankedQuery, best_of, lowest
from lance_core_vector.distances import STORED_METRICS
from lance_core_vector.flat_search import rounding_errors, terms
from lance_core_vector.graphs.comparison import _SPACES
from lance_core_vector.options import NearestOptions
from lance_core_vector.partitions import partition_cache
from lance_core_vector.partitions.index_files import IVF_KEY, IvfModel, _graph_rows, _ivf
from lance_core_vector.partitions.partition_cache import PartitionCache
from lance_core_vector.partitions.probing import num_probes
from lance_core_vector.training import index_writer
from lance_core_vector.training.details import details_of, version_of
from lance_core_vector.training.index_writer import PartitionPages
from lance_core_vector.training.parameters import BuildParameters


def options(**keys: object) -> NearestOptions:
    return NearestOptions.of({"column": "v", "q": [1.0], **keys})


def test_near_centroids_decide_how_many_partitions_are_searched() -> None:
    distances = np.concatenate([np.linspace(1, 1.265, 12), np.linspace(2, 9, 88)])
    assert num_probes(distances, "l2", 10, options()) == (12, 100)
    assert num_probes(distances, "l2", 1, options()) == (10, 100)
    assert num_probes(np.full(100, 2.0), "l2", 10, options()) == (24, 100)
    assert num_probes(np.array([1.0, 9, 9, 9, 9, 9, 9, 9]), "l2", 10, options()) == (6, 8)
    assert num_probes(distances[:4], "l2", 10, options()) == (4, 4)
    assert num_probes(np.linspace(-5, 5, 500), "dot", 10, options()) == (144, 500)


def test_given_numbers_of_partitions_bound_the_rule() -> None:
    distances = np.full(100, 2.0)
    assert num_probes(distances, "l2", 10, options(nprobes=7)) == (7, 7)
    assert num_probes(distances, "l2", 10, options(minimum_nprobes=40)) == (40, 100)
    assert num_probes(distances, "l2", 10, options(maximum_nprobes=5)) == (5, 5)
    assert num_probes(distances, "l2", 10, options(maximum_nprobes=50)) == (24, 50)
    assert num_probes(distances, "l2", 10, options(nprobes=700)) == (100, 100)


@pytest.mark.parametrize(
    ("effort", "expected"), [(0.0, 1), (0.25, 5), (0.5, 24), (0.75, 49), (1.0, 100)]
)
def test_effort_goes_from_few_partitions_to_all(effort: float, expected: int) -> None:
    found = num_probes(np.full(100, 2.0), "l2", 10, options(search_effort=effort))
    assert found == (expected, 100)


@pytest.mark.parametrize(("most", "loaded"), [(299, 1), (300, 3), (10_000, 4)])
def test_as_many_partitions_are_read_at_once_as_are_cached(
    monkeypatch: pytest.MonkeyPatch, most: int, loaded: int
) -> None:
    model = IvfModel(np.zeros((4, 1)), np.array([0, 10, 30, 30]), np.array([10, 20, 0, 30]), None)
    quantizer: Any = SimpleNamespace(columns={}, bytes_per_row=2)
    cache = PartitionCache(SimpleNamespace(), model, quantizer)  # type: ignore[arg-type]
    asked: list[list[int]] = []
    monkeypatch.setattr(partition_cache, "MAX_CACHED_BYTES", most)
    monkeypatch.setattr(cache, "get", lambda numbers: asked.append([*numbers]))
    cache.load_all()
    assert asked == [[0, 1, 2, 3][:loaded]]


def test_the_lowest_keys_are_those_of_a_sort() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        size = int(random.integers(0, 5_000))
        keys = random.integers(0, 300, size).astype(np.float32)
        keys[random.random(size) < random.choice([0, 0.1, 0.999, 1])] = np.nan
        rows = random.permutation(size).astype(np.uint64)
        count = int(random.integers(1, 100))
        order = np.lexsort((rows, keys))
        order = order[~np.isnan(keys[order])][:count]
        hits = best_of(rows, keys, count, ascending=True)
        assert (hits.rows == rows[order]).all()
        near = lowest(keys, count, 2.0)
        limit = keys[order[-1]] + 2 if len(order) == count else np.inf
        assert near.tolist() == np.flatnonzero(keys <= limit).tolist()


def test_a_metric_without_a_rule_or_scores_is_refused() -> None:
    distances, squares = np.full(100, 2.0), np.ones(3, np.float32)
    assert num_probes(distances, "hamming", 10, options()) == (24, 100)
    with pytest.raises(KeyError, match="l1"):
        num_probes(distances, "l1", 10, options())
    with pytest.raises(UnsupportedFeatureError, match="metric l1"):
        terms("l1", squares)
    with pytest.raises(UnsupportedFeatureError, match="metric hamming"):
        rounding_errors("hamming", 1.0, squares, 8)
    assert set(_SPACES) == set(STORED_METRICS)


@pytest.mark.parametrize("number", ["", "x", "-1", "1.0", "1" * 10])
def test_partitions_in_no_buffer_are_corrupt(number: str) -> None:
    reader: Any = SimpleNamespace(metadata={IVF_KEY: number}, path="index.idx")
    with pytest.raises(CorruptFileError, match="not the number of a buffer"):
        _ivf(reader)


def test_pages_end_with_the_partition_that_makes_them_long_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends: list[int] = []
    written: list[pa.RecordBatch] = []
    writer: Any = SimpleNamespace(write=written.append, end_pages=lambda: ends.append(len(written)))
    monkeypatch.setattr(index_writer, "_MIN_PAGE_BYTES", 800)
    pages = PartitionPages(writer, 0, pa.schema({"_rowid": pa.uint64()}))
    for rows in (100, 99, 1, 50, 50, 200):
        column = np.arange(rows, dtype=np.uint64)
        pages.write(pa.RecordBatch.from_arrays([pa.array(column)], ["_rowid"]))
        pages.end_partition()
    assert ends == [1, 3, 5, 6]


@pytest.mark.parametrize(("rows", "are_read"), [(1 << 18, True), ((1 << 18) + 1, False)])
def test_columns_of_one_number_a_row_are_read_at_once_where_they_are_short(
    rows: int, are_read: bool
) -> None:
    columns = {"codes": pa.list_(pa.uint8(), 4), "factor": pa.float64()}
    quantizer: Any = SimpleNamespace(columns=columns, bytes_per_row=12)
    reader: Any = SimpleNamespace(num_rows=rows, arrays=lambda names: [*names])
    model = IvfModel(np.zeros((1, 1)), np.array([0]), np.array([rows]), None)
    narrow = PartitionCache(reader, model, quantizer)._narrow
    assert narrow == ({"_rowid": "_rowid", "factor": "factor"} if are_read else {})


def test_codes_of_rabitq_have_a_version_of_their_own() -> None:
    versions = {
        kind: version_of(details_of(BuildParameters.of({"kind": kind, "metric": "l2", **more})))
        for kind, more in (("IVF_FLAT", {}), ("IVF_SQ", {}), ("IVF_RQ", {"num_bits": 3}))
    }
    assert versions["IVF_RQ"] > versions["IVF_FLAT"] == versions["IVF_SQ"]


def test_queries_without_parts_combine_no_answers() -> None:
    query: Any = SimpleNamespace()
    with pytest.raises(NotImplementedError):
        RankedQuery.combined(query, [])


@pytest.mark.parametrize(
    ("offsets", "lengths"),
    [([0], [3, 4]), ([0, 1 << 62], [3, 4]), ([0, 7], [3, 4]), ([0, 3, 7], [3, 4, 1])],
)
def test_graphs_beyond_the_rows_of_the_file_are_corrupt(
    offsets: list[int], lengths: list[int]
) -> None:
    files: Any = SimpleNamespace(
        graph=({}, {}), index=SimpleNamespace(num_rows=10, path="index.idx")
    )
    with pytest.raises(CorruptFileError, match="index"):
        _graph_rows(SimpleNamespace(offsets=offsets, lengths=lengths), files)
    own = _graph_rows(SimpleNamespace(offsets=[], lengths=[3, 4]), files)
    assert own is not None
    assert own.tolist() == [[0, 3], [3, 7]]
