"""Vector indices that pylance builds: the same rows and distances here as there."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core
from tests.examples import share

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

ROWS, WIDTH, PARTITIONS, K = 1_500, 32, 5, 10
Matrix = npt.NDArray[Any]

KINDS: dict[str, dict[str, Any]] = {
    "flat": {"index_type": "IVF_FLAT"},
    "pq8": {"index_type": "IVF_PQ", "num_sub_vectors": 8},
    "pq4": {"index_type": "IVF_PQ", "num_sub_vectors": 8, "num_bits": 4},
    "sq": {"index_type": "IVF_SQ"},
    **{f"rq{bits}": {"index_type": "IVF_RQ", "num_bits": bits} for bits in range(1, 10)},
    "hnsw-flat": {"index_type": "IVF_HNSW_FLAT"},
    "hnsw-pq": {"index_type": "IVF_HNSW_PQ", "num_sub_vectors": 8},
    "hnsw-sq": {"index_type": "IVF_HNSW_SQ"},
}
METRICS = ("l2", "cosine", "dot")
SOME = ("flat", "pq8", "sq", "rq5", "hnsw-pq")


def metrics(kind: str, *, most: Sequence[str] = ()) -> Sequence[str]:
    """The metrics to try with a kind: all in a full run and for kinds of ``most``, else in turn."""
    return METRICS if kind in most else share(METRICS, 3, turn=list(KINDS).index(kind))


def clusters(rows: int = ROWS, seed: int = 3) -> Matrix:
    random = np.random.default_rng(seed)
    centers = np.random.default_rng(1).normal(size=(12, WIDTH)) * 3
    return (centers[random.integers(0, 12, rows)] + random.normal(size=(rows, WIDTH))).astype("f4")


def table(vectors: Matrix, first: int = 0) -> pa.Table:
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    numbers = np.arange(first, first + len(vectors))
    return pa.table({"id": numbers, "v": column, "tenth": numbers % 10})


_indexed_tables: dict[object, Path] = {}
"""Tables with an index, which tests copy: to build an index takes longer than to search it."""


@pytest.fixture(scope="module", autouse=True)
def _folder_of_indexed_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    _indexed_tables["folder"] = tmp_path_factory.mktemp("indexed")
    yield
    _indexed_tables.clear()


def create(path: Path, vectors: Matrix, kind: str, metric: str = "l2", **options: Any) -> str:
    key = (vectors.tobytes(), vectors.dtype, kind, metric, *options.items())
    if key not in _indexed_tables:
        built = _indexed_tables["folder"] / str(len(_indexed_tables))
        lance.write_dataset(table(vectors), str(built), max_rows_per_file=500, **options)
        index(str(built), kind, metric)
        _indexed_tables[key] = built
    shutil.copytree(_indexed_tables[key], path)
    return str(path)


def index(uri: str, kind: str, metric: str = "l2", **more: Any) -> None:
    options = {"num_partitions": PARTITIONS, "metric": metric, **KINDS[kind], **more}
    lance.dataset(uri).create_index("v", **options)


def queries(vectors: Matrix, count: int = 4) -> Matrix:
    random = np.random.default_rng(7)
    near = vectors[random.integers(0, len(vectors), count)]
    noise = random.normal(size=near.shape) * 0.3
    return (near.astype("f8") + noise).astype(vectors.dtype)


def nearest(library: Any, uri: str, query: Any, **keys: Any) -> tuple[list[int], Matrix]:
    """The ids and the distances of the rows that a search of a freshly opened table returns."""
    return search(library.dataset(uri), query, **keys)


def search(dataset: Any, query: Any, **keys: Any) -> tuple[list[int], Matrix]:
    scan = {name: keys.pop(name) for name in ("filter", "prefilter") if name in keys}
    with warnings.catch_warnings():
        if isinstance(dataset, lance_core.LanceDataset):
            warnings.simplefilter("error")
        found = dataset.to_table(
            columns=["id", "_distance"], nearest={"column": "v", "q": query, "k": K, **keys}, **scan
        )
    return found["id"].to_pylist(), found["_distance"].to_numpy()


def both(uri: str) -> tuple[Any, Any]:
    """The table as pylance and as this library open it, for several searches."""
    return lance.dataset(uri), lance_core.dataset(uri)


def all_rows(kind: str) -> dict[str, Any]:
    """The keys with which pylance compares the codes of all rows."""
    keys: dict[str, Any] = {"nprobes": PARTITIONS}
    if "hnsw" in kind:
        keys["ef"] = ROWS
    if "rq" in kind:
        keys["approx_mode"] = "accurate"
    return keys


def check_same(
    opened: tuple[Any, Any], query: Matrix, kind: str, tolerance: float = 0, **keys: Any
) -> None:
    """Both libraries return the same distances, and the same rows but for equal distances.

    pylance compares the signs of RQ codes first, by which it may lose a row, and rounds products.
    """
    tolerance = tolerance or (2e-2 if "rq" in kind else 1e-4)
    (theirs, expected), (ours, found) = (search(dataset, query, **keys) for dataset in opened)
    assert len(ours) == len(theirs) == len(set(ours))
    scale = tolerance * max(1.0, float(np.abs(expected).max(initial=0)))
    if "rq" in kind:
        assert (found <= expected + 2 * scale).all()
        by_row = dict(zip(theirs, expected, strict=True))
        common = [(by_row[row], at) for row, at in zip(ours, found, strict=True) if row in by_row]
        assert len(common) >= 0.7 * len(ours) - 1
        expected, found = np.array(common).reshape(-1, 2).T
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=scale)
    if "rq" not in kind:
        surely = {
            row for row, at in zip(theirs, expected, strict=True) if at < expected[-1] - scale
        }
        assert surely <= set(ours)


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_compared_as_pylance_compares_them(tmp_path: Path, kind: str) -> None:
    for metric in metrics(kind, most=SOME):
        vectors = clusters()
        opened = both(create(tmp_path / metric, vectors, kind, metric))
        for query in queries(vectors):
            check_same(opened, query, kind, **all_rows(kind))


@pytest.mark.parametrize("kind", ["rq2", "rq5", "rq9"])
def test_signs_alone_are_compared_as_pylance_compares_them(tmp_path: Path, kind: str) -> None:
    """pylance rounds the products of signs to bytes, and so may lose a row.

    By how much this changes a distance depends on the rotation, which pylance draws anew for each
    index: of about thirty, one has a distance beyond the tolerance. That of a seed is always the
    same.
    """
    for metric in METRICS:
        vectors, uri = clusters(), str(tmp_path / metric)
        lance.write_dataset(table(vectors), uri, max_rows_per_file=500)
        options = {"num_partitions": PARTITIONS, "metric": metric, **KINDS[kind]}
        lance_core.dataset(uri).create_index("v", seed=0, **options)
        opened = both(uri)
        for query in queries(vectors):
            check_same(opened, query, kind, 0.15, nprobes=PARTITIONS, approx_mode="fast")


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_partitions_and_refinement_answers_are_exact(tmp_path: Path, kind: str) -> None:
    for metric in metrics(kind, most=SOME):
        vectors = clusters()
        dataset = lance_core.dataset(create(tmp_path / metric, vectors, kind, metric))
        for query in queries(vectors, 2):
            exact, distances = search(dataset, query, metric=metric, use_index=False)
            refined = {"nprobes": PARTITIONS, "refine_factor": ROWS // K}
            rows, found = search(dataset, query, **refined)
            assert rows == exact
            assert (found == distances).all()


@pytest.mark.parametrize("kind", share(SOME, 2, 1))
def test_the_same_partitions_are_searched_by_default(tmp_path: Path, kind: str) -> None:
    vectors = clusters(3_000)
    for metric in metrics(kind):
        uri = str(tmp_path / metric)
        lance.write_dataset(table(vectors), uri)
        index(uri, kind, metric, num_partitions=24)
        more = {"approx_mode": "accurate"} if "rq" in kind else {}
        more |= {"ef": ROWS} if "hnsw" in kind else {}
        opened = both(uri)
        for query in queries(vectors):
            for keys in ({}, {"k": 1}, {"nprobes": 2}, {"minimum_nprobes": 12}, {"k": 100}):
                # Without a key of this kind, codes would be refined.
                rule = {} if "nprobes" in keys else {"minimum_nprobes": 1}
                check_same(opened, query, kind, **rule | keys, **more)


@pytest.mark.parametrize("kind", ["flat", "pq8", "sq", "rq5", "hnsw-flat"])
@pytest.mark.parametrize("number", [np.float16, np.float64])
def test_other_floats_are_searched(tmp_path: Path, kind: str, number: Any) -> None:
    vectors = clusters().astype(number)
    opened = both(create(tmp_path / "t", vectors, kind))
    for query in queries(vectors, 2):
        check_same(opened, query, kind, 1e-2 if number is np.float16 else 2e-3, **all_rows(kind))


@pytest.mark.parametrize("kind", ["flat", "hnsw-flat"])
def test_bits_are_searched(tmp_path: Path, kind: str) -> None:
    random = np.random.default_rng(2)
    vectors = random.integers(0, 256, (ROWS, 16), np.uint8)
    opened = both(create(tmp_path / "t", vectors, kind, "hamming"))
    for query in vectors[:3]:
        check_same(opened, query, kind, **all_rows(kind))


@pytest.mark.parametrize("kind", SOME)
def test_deleted_updated_and_new_rows_are_respected(tmp_path: Path, kind: str) -> None:
    for stable in share((False, True), 2, SOME.index(kind)):
        vectors = clusters()
        uri = create(tmp_path / str(stable), vectors, kind, enable_stable_row_ids=stable)
        refined = {"nprobes": PARTITIONS, "refine_factor": ROWS // K}
        query = queries(vectors, 1)[0]
        first, _ = nearest(lance_core, uri, query, **refined)
        lance.dataset(uri).delete(f"id IN ({first[0]}, {first[2]})")
        check_exact(uri, query)
        lance_core.dataset(uri).update({"tenth": "99"}, f"id IN ({first[1]}, {first[4]})")
        check_exact(uri, query)
        lance_core.write_dataset(table(clusters(300, 9), ROWS), uri, mode="append")
        check_exact(uri, query)
        for library in (lance, lance_core):
            copy = str(tmp_path / f"{stable} {library.__name__}")
            shutil.copytree(uri, copy)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                library.dataset(copy).optimize.compact_files(target_rows_per_fragment=5_000)
            check_exact(copy, query)
            lance.dataset(copy).optimize.optimize_indices(num_indices_to_merge=0)
            check_exact(copy, query)


def check_exact(uri: str, query: Matrix) -> None:
    """Both libraries find by the index, with all partitions, what is found without one."""
    theirs, ours = both(uri)
    exact, _ = search(ours, query, use_index=False)
    refined = {"nprobes": PARTITIONS, "refine_factor": ROWS // K}
    assert search(ours, query, **refined)[0] == exact
    assert search(theirs, query, **refined)[0] == exact


@pytest.mark.parametrize("kind", ["flat", "pq8", "pq4", "sq", "rq5", "rq1"])
def test_a_compaction_moves_the_index(tmp_path: Path, kind: str) -> None:
    vectors = clusters()
    uri = create(tmp_path / "t", vectors, kind)
    lance.dataset(uri).delete("tenth = 3")
    query = queries(vectors, 1)[0]
    before, distances = nearest(lance_core, uri, query, **all_rows(kind))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lance_core.dataset(uri).optimize.compact_files()
    statistics = lance_core.dataset(uri).stats.index_stats("v_idx")
    assert statistics["num_unindexed_rows"] == 0
    assert sum(one["size"] for one in statistics["indices"][0]["partitions"]) == ROWS * 9 // 10
    after, again = nearest(lance_core, uri, query, **all_rows(kind))
    if kind.startswith("rq"):  # products are rounded by the number of the rows beside
        np.testing.assert_allclose(again, distances, rtol=1e-4, atol=1e-3)
    else:
        assert after == before
        assert (again == distances).all()
    check_same(both(uri), query, kind, **all_rows(kind))


def test_a_compaction_removes_rows_from_a_graph_of_pylance(tmp_path: Path) -> None:
    vectors = clusters()
    uri = create(tmp_path / "t", vectors, "hnsw-sq")
    lance.dataset(uri).delete("tenth = 3")
    lance_core.dataset(uri).optimize.compact_files()
    assert lance_core.dataset(uri).stats.index_stats("v_idx")["num_unindexed_rows"] == 0
    query = queries(vectors, 1)[0]
    check_same(both(uri), query, "hnsw-sq", **all_rows("hnsw-sq"))
    check_exact(uri, query)


def test_a_graph_moves_with_all_of_its_rows(tmp_path: Path) -> None:
    vectors = clusters()
    uri = create(tmp_path / "t", vectors, "hnsw-sq")
    query = queries(vectors, 1)[0]
    lance_core.dataset(uri).optimize.compact_files()
    assert lance_core.dataset(uri).stats.index_stats("v_idx")["num_unindexed_rows"] == 0
    check_same(both(uri), query, "hnsw-sq", **all_rows("hnsw-sq"))
    check_exact(uri, query)


@pytest.mark.parametrize("kind", ["flat", "pq8", "sq", "rq1", "rq5", "hnsw-sq", "hnsw-flat"])
def test_new_rows_join_an_index_of_pylance(tmp_path: Path, kind: str) -> None:
    vectors = clusters()
    uri = create(tmp_path / "t", vectors, kind)
    lance.write_dataset(table(clusters(100, 9), ROWS), uri, mode="append")
    lance_core.dataset(uri).optimize.optimize_indices()
    assert lance.dataset(uri).stats.index_stats("v_idx")["num_unindexed_rows"] == 0
    opened = both(uri)
    for query in queries(vectors):
        check_same(opened, query, kind, **all_rows(kind))
    check_exact(uri, queries(vectors, 1)[0])


@pytest.mark.parametrize("kind", ["flat", "pq8", "sq", "rq5"])
def test_several_segments_are_searched(tmp_path: Path, kind: str) -> None:
    vectors = clusters()
    uri = create(tmp_path / "t", vectors, kind)
    lance.write_dataset(table(clusters(400, 9), ROWS), uri, mode="append")
    lance.dataset(uri).optimize.optimize_indices(num_indices_to_merge=0)
    assert lance.dataset(uri).stats.index_stats("v_idx")["num_segments"] == 2
    opened = both(uri)
    for query in queries(vectors):
        check_same(opened, query, kind, **all_rows(kind))
    check_exact(uri, queries(vectors, 1)[0])


def test_segments_that_pylance_merges_are_searched(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    vectors = clusters()
    lance.write_dataset(table(vectors), uri, max_rows_per_file=500)
    dataset = lance.dataset(uri)
    builder = lance.indices.IndicesBuilder(dataset, "v")
    trained = builder.prepare_global_ivf_pq(PARTITIONS, 8, sample_rate=4)
    options = {
        "num_partitions": PARTITIONS,
        "num_sub_vectors": 8,
        "ivf_centroids": trained["ivf_centroids"],
        "pq_codebook": trained["pq_codebook"],
    }
    segments = [
        dataset.create_index_uncommitted("v", "IVF_PQ", name="v_idx", fragment_ids=[id_], **options)
        for id_ in range(3)
    ]
    merged = dataset.merge_existing_index_segments(segments)
    dataset.commit_existing_index_segments("v_idx", "v", [merged])
    opened = both(uri)
    for query in queries(vectors):
        check_same(opened, query, "pq8", **all_rows("pq8"))
    lance.dataset(uri).delete("tenth = 3")
    lance_core.dataset(uri).optimize.compact_files()
    check_same(both(uri), queries(vectors, 1)[0], "pq8", **all_rows("pq8"))


@pytest.mark.parametrize("kind", share(["flat", "pq4", "rq5"], 3, 1))
def test_filters_never_lose_rows(tmp_path: Path, kind: str) -> None:
    vectors = clusters(12_000)
    uri = str(tmp_path / "t")
    lance.write_dataset(table(vectors), uri)
    index(uri, kind, num_partitions=24)
    dataset = lance_core.dataset(uri)
    for condition in ("id % 100 = 7", "id % 2 = 1", "id % 10 < 9"):
        for keys in ({}, {"minimum_nprobes": 1, "search_effort": 0.0}):
            rows, _ = search(dataset, vectors[1], filter=condition, prefilter=True, **keys)
            assert len(rows) == K
    rows, _ = search(dataset, vectors[1], filter="id % 2 = 1", prefilter=True)
    assert all(row % 2 == 1 for row in rows)


@pytest.mark.parametrize("kind", ["flat", "pq8", "sq"])
def test_batches_and_distance_ranges(tmp_path: Path, kind: str) -> None:
    vectors = clusters()
    uri = create(tmp_path / "t", vectors, kind)
    batch = queries(vectors, 3)
    nearest_keys = {"column": "v", "q": batch, "k": 4, "nprobes": PARTITIONS}
    ours, theirs = (
        library.dataset(uri).to_table(["id", "_distance"], nearest=nearest_keys)
        for library in (lance_core, lance)
    )
    assert ours["query_index"].to_pylist() == theirs["query_index"].to_pylist()
    assert ours["id"].to_pylist() == theirs["id"].to_pylist()
    _, distances = nearest(lance, uri, batch[0], **all_rows(kind))
    limits = (float(distances[2]) * 1.0001, float(distances[6]) * 1.0001)
    check_same(both(uri), batch[0], kind, distance_range=limits, **all_rows(kind))


def test_several_vectors_a_row(tmp_path: Path) -> None:
    vectors = clusters(2_000)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH)
    lists = pa.ListArray.from_arrays(pa.array(range(0, 2_001, 4), pa.int32()), flat)
    uri = str(tmp_path / "t")
    lance.write_dataset(pa.table({"id": range(500), "v": lists}), uri)
    for kind in ("flat", "pq8", "sq"):
        index(uri, kind, "cosine", replace=True)
        query = queries(vectors, 2)
        refined = {"nprobes": PARTITIONS, "refine_factor": 20}
        exact, distances = nearest(lance_core, uri, query, metric="cosine", use_index=False)
        rows, found = nearest(lance_core, uri, query, **refined)
        assert rows == exact
        assert (found == distances).all()


@pytest.mark.parametrize("kind", KINDS)
def test_descriptions_and_statistics_are_those_of_pylance(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCE_INCLUDE_VECTOR_CENTROIDS", "false")
    uri = create(tmp_path / "t", clusters(), kind)
    theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
    (their_index,), (our_index,) = theirs.describe_indices(), ours.describe_indices()
    assert our_index.index_type == their_index.index_type == KINDS[kind]["index_type"]
    compression = their_index.details.get("compression")
    assert our_index.details.get("compression") == compression
    (expected,) = theirs.stats.index_stats("v_idx")["indices"]
    (found,) = ours.stats.index_stats("v_idx")["indices"]
    assert (found.pop("drift"), found.pop("num_added_rows")) == (None, None)  # ours alone
    for ignored in ("uri", "centroids", "loss"):
        expected.pop(ignored, None), found.pop(ignored, None)
    assert found == expected
    ours.prewarm_index("v_idx")


@pytest.mark.parametrize("kind", ["flat", "pq4", "sq", "rq5", "hnsw-sq"])
def test_damaged_files_are_noticed_or_change_codes_only(tmp_path: Path, kind: str) -> None:
    """A bit flip gives an exact answer with a warning, or rows that exist, each once."""
    vectors = clusters(300)
    uri = create(tmp_path / "t", vectors, kind)
    query = queries(vectors, 1)[0]
    (folder,) = (tmp_path / "t" / "_indices").iterdir()
    random = np.random.default_rng(len(kind))
    exact, _ = nearest(lance_core, uri, query, use_index=False)
    num_noticed = num_refined = 0
    for number in range(60):
        copy = tmp_path / f"{number}"
        shutil.copytree(uri, copy)
        damaged = copy / "_indices" / folder.name / ("index.idx" if number % 3 else "auxiliary.idx")
        data = bytearray(damaged.read_bytes())
        # The end of a file has its metadata.
        place = int(random.integers(max(0, len(data) - 3_000) if number % 2 else 0, len(data)))
        data[place] ^= 1 << int(random.integers(8))
        damaged.write_bytes(data)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = lance_core.dataset(str(copy)).to_table(
                ["id"], nearest={"column": "v", "q": query, "k": K, "refine_factor": 30}
            )
        rows = found["id"].to_pylist()
        assert len(set(rows)) == K
        assert all(0 <= row < 300 for row in rows)
        num_noticed += any("cannot be used" in str(one.message) for one in caught)
        num_refined += rows == exact
        shutil.rmtree(copy)
    assert num_noticed
    assert num_refined > 40
