"""What an index finds: at our own default, and for a recall that is asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError
from lance_core_vector import tuned_effort as efforts
from tests.each_case import each_case

ROWS, WIDTH, K = 2_000, 16, 5
KINDS = {
    "flat": {"index_type": "IVF_FLAT"},
    "product": {"index_type": "IVF_PQ", "num_sub_vectors": 16, "num_bits": 4},
    "bits": {"index_type": "IVF_RQ", "num_bits": 2},
}


@pytest.fixture(scope="module")
def matrix() -> npt.NDArray[np.float32]:
    random = np.random.default_rng(11)
    centers = random.normal(size=(60, WIDTH))
    rows = centers[random.integers(0, 60, ROWS)] + random.normal(size=(ROWS, WIDTH)) * 0.6
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def tables(
    tmp_path_factory: pytest.TempPathFactory, matrix: npt.NDArray[np.float32]
) -> dict[str, lance.LanceDataset]:
    """A table of each kind, in two fragments, with deleted rows."""
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), WIDTH)
    found = {}
    for name, parameters in KINDS.items():
        uri = tmp_path_factory.mktemp(name) / "t.lance"
        dataset = lance.write_dataset(
            pa.table({"id": range(ROWS), "v": column}), uri, max_rows_per_file=1_200
        )
        dataset.create_index("v", metric="cosine", num_partitions=8, **parameters)
        dataset.delete("id % 40 = 3")
        found[name] = dataset
    return found


def recall(dataset: lance.LanceDataset, queries: npt.NDArray[Any], **options: Any) -> float:
    nearest = {"column": "v", "q": queries, "k": K, "metric": "cosine"}
    exact = dataset.to_table(["id"], nearest=nearest | {"use_index": False})
    found = dataset.to_table(["id"], nearest=nearest | options)
    pairs = [set(zip(*table.to_pydict().values(), strict=True)) for table in (
        exact.select(["query_index", "id"]), found.select(["query_index", "id"])
    )]  # fmt: skip
    return len(pairs[0] & pairs[1]) / len(pairs[0])


def test_codes_are_refined_unless_a_query_says_how_thorough_a_search_is(
    tables: dict[str, lance.LanceDataset], matrix: npt.NDArray[np.float32]
) -> None:
    queries = matrix[:40] + np.float32(0.1)
    for dataset in tables.values():
        assert recall(dataset, queries) >= 0.95
    product = tables["product"]
    assert recall(product, queries, search_effort=0.5) < 0.95
    nearest = {"column": "v", "q": queries[0], "k": K}
    refined = product.scanner(["id"], nearest=nearest).to_table()["_distance"].to_numpy()
    exact = product.to_table(["id"], nearest=nearest | {"use_index": False, "metric": "cosine"})
    assert np.allclose(refined, exact["_distance"].to_numpy(), atol=0.05)
    # As in pylance, distances of codes are twice as large.
    codes = product.to_table(["id"], nearest=nearest | {"nprobes": 8})["_distance"].to_numpy()
    assert np.allclose(codes[1:], 2 * refined[1:], rtol=0.5)


@each_case("name, wanted", [("flat", 0.9), ("product", 0.5), ("product", 0.95)])
def test_a_recall_is_held_with_the_least_effort(
    tables: dict[str, lance.LanceDataset],
    matrix: npt.NDArray[np.float32],
    name: str,
    wanted: float,
) -> None:
    queries = matrix[1_000:1_080] + np.float32(0.05)
    assert recall(tables[name], queries, recall=wanted) >= wanted - 0.03


def test_the_effort_of_a_recall_excludes_other_efforts(
    tables: dict[str, lance.LanceDataset], matrix: npt.NDArray[np.float32]
) -> None:
    nearest = {"column": "v", "q": matrix[0], "recall": 0.9}
    with pytest.raises(InvalidInputError, match="recall and nprobes of nearest cannot both"):
        tables["flat"].scanner(nearest=nearest | {"nprobes": 3})
    with pytest.raises(InvalidInputError, match="recall must be between 0 and 1, got 2"):
        tables["flat"].scanner(nearest=nearest | {"recall": 2})
    scanner = tables["product"].scanner(nearest=nearest | {"k": 7})
    assert "nprobes=measured when run" in scanner.explain_plan()
    scanner.to_table()
    plan = scanner.explain_plan()
    assert "refine_factor=" in plan
    assert "nprobes=" in plan
    assert "measured" not in plan
    few = tables["flat"].to_table(["id"], "id < 30", nearest=nearest | {"k": 100})
    assert few.num_rows == 29


@each_case("number, factor", [(10**9, None), (2**62, None), (3, 10**12)])
def test_more_rows_than_there_are_are_all_of_them(
    tables: dict[str, lance.LanceDataset],
    matrix: npt.NDArray[np.float32],
    number: int,
    factor: int | None,
) -> None:
    for dataset in tables.values():
        for queries in (matrix[0], matrix[:3]):
            for condition in (None, "id % 3 < 2"):
                nearest = {"column": "v", "q": queries, "k": number, "nprobes": 8}
                table = dataset.to_table(
                    ["id"],
                    filter=condition,
                    prefilter=True,
                    nearest=nearest | {"refine_factor": factor},
                )
                rows = dataset.count_rows(condition)
                assert table.num_rows == min(number, rows) * queries.size // WIDTH


def test_a_recall_of_a_damaged_index_is_that_of_all_rows(
    tmp_path: Path, matrix: npt.NDArray[np.float32]
) -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix[:300].ravel()), WIDTH)
    dataset = lance.write_dataset(pa.table({"v": column}), tmp_path / "t.lance")
    dataset.create_index("v", "IVF_FLAT", num_partitions=2)
    (codes,) = tmp_path.glob("t.lance/_indices/*/auxiliary.idx")
    data = bytearray(codes.read_bytes())
    data[: 300 * WIDTH * 2] = b"\xff" * (300 * WIDTH * 2)
    codes.write_bytes(data)
    damaged = lance.dataset(tmp_path / "t.lance", session=lance.Session())
    nearest = {"column": "v", "q": matrix[7], "k": 3, "recall": 0.9}
    scanner = damaged.scanner(nearest=nearest, with_row_id=True)
    assert "measured when run" in scanner.explain_plan()
    with pytest.warns(UserWarning, match="v_idx"):
        assert scanner.to_table()["_rowid"][0].as_py() == 7


def test_an_effort_is_measured_once_for_the_same_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    class Segment:
        pass

    measured: list[Any] = []
    start = ThreadPoolExecutor(4)

    def measure(*_: Any) -> efforts.Effort:
        measured.append(None)
        return efforts.Effort(len(measured), None)

    monkeypatch.setattr(efforts, "_measure", measure)
    first, second, third = Segment(), Segment(), Segment()

    def effort(*segments: Segment) -> efforts.Effort:
        return efforts.tuned_effort(segments, 0.9, 10, 8, lambda: None)  # type: ignore[arg-type, return-value]

    with start:
        assert {one.probes for one in start.map(lambda _: effort(first, second), range(8))} == {1}
    assert effort(first, third).probes == 2
    assert effort(first).probes == 3
    assert effort(first, second).probes == 1
