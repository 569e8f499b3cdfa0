"""Filters on tables whose indices pylance made: with them, without them, and read by pylance."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from tests.examples import share

FILTERS = Path(__file__).with_name("filters.txt").read_text().splitlines()
ROWS = 600
COLUMNS = {
    "x": "BTREE",
    "y": "BITMAP",
    "z": "ZONEMAP",
    "k": "BLOOMFILTER",
    "f": "BTREE",
    "s": "BTREE",
    "t": "NGRAM",
    "b": "BITMAP",
    "l": "LABEL_LIST",
    "d": "BTREE",
    "ts": "ZONEMAP",
    "st.v": "BTREE",
}


def rows(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)

    def some(values: list[object], kind: pa.DataType) -> pa.Array:
        picked = random.integers(0, len(values), ROWS)
        return pa.array([values[i] for i in picked], kind)

    numbers = [None, *range(300)]
    floats = [None, math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.5, 3.0]
    texts = [None, "", "a", *(f"{word} {i}" for i in range(20) for word in ("green tea", "Tee"))]
    return pa.table(
        {
            "x": some(numbers, pa.int64()),
            "y": some([None, 0, 1, 2, 3], pa.int32()),
            "z": pa.array(range(seed * ROWS, (seed + 1) * ROWS), pa.int64()),
            "k": some(numbers, pa.int32()),
            "f": some(floats, pa.float64()),
            "s": some([None, *(f"b{i}" for i in range(100)), "c", ""], pa.string()),
            "t": some(texts, pa.string()),
            "b": some([None, True, False], pa.bool_()),
            "l": some([None, [], [1], [1, 2], [2, 3], [None, 1]], pa.list_(pa.int32())),
            "d": some([None, *range(18262, 18300)], pa.date32()),
            "ts": some([None, *range(1577836800, 1577836860)], pa.timestamp("us")),
            "st": some(
                [None, {"v": None}, *({"v": i} for i in range(40))], pa.struct({"v": pa.int64()})
            ),
            "plain": pa.array(range(ROWS), pa.int32()),
        }
    )


def made(uri: str, stable: bool) -> lance.LanceDataset:
    """A table with all kinds of index, in two segments for some, without the last fragment."""
    for seed in range(4):
        mode = "append" if seed else "create"
        found = lance.write_dataset(rows(seed), uri, mode=mode, enable_stable_row_ids=stable)
    found.delete("plain % 11 = 3")
    for column, kind in COLUMNS.items():
        found.create_scalar_index(column, kind)
    lance.write_dataset(rows(4), uri, mode="append")
    found = lance.dataset(uri)
    found.optimize.optimize_indices(num_indices_to_merge=0, index_names=["x_idx", "y_idx", "t_idx"])
    lance.write_dataset(rows(5), uri, mode="append")
    return lance.dataset(uri)


def deleted(found: lance.LanceDataset) -> None:
    found.delete("plain % 13 = 5")


def updated(found: lance.LanceDataset) -> None:
    found.update({"x": "x + 1", "s": "'b5'"}, where="plain % 17 = 2")
    found.update({"plain": "plain + 1"}, where="plain % 19 = 7")


def compacted(found: lance.LanceDataset) -> None:
    found.optimize.compact_files(target_rows_per_fragment=2 * ROWS)


def compacted_without_indices(found: lance.LanceDataset) -> None:
    deferred = not found.has_stable_row_ids  # pylance cannot do it with stable row ids
    found.optimize.compact_files(target_rows_per_fragment=2 * ROWS, defer_index_remap=deferred)


def optimized(found: lance.LanceDataset) -> None:
    found.optimize.optimize_indices()


HISTORIES: dict[str, tuple[Callable[[lance.LanceDataset], None], ...]] = {
    "fresh": (),
    "changed": (deleted, updated),
    "compacted": (deleted, compacted),
    "deferred": (updated, compacted_without_indices, deleted),
    "optimized": (updated, compacted_without_indices, optimized, deleted),
}


def numbers(table: pa.Table) -> list[int]:
    return sorted(table.column("_rowid").to_pylist())


@pytest.mark.parametrize("stable", [False, True], ids=["plain", "stable"])
@pytest.mark.parametrize("history", HISTORIES)
def test_filters_select_the_same_rows_with_indices(
    tmp_path: Path, stable: bool, history: str
) -> None:
    uri = str(tmp_path)
    made(uri, stable)
    for change in HISTORIES[history]:
        change(lance.dataset(uri))
    ours, theirs = lance_core.dataset(uri), lance.dataset(uri)
    options = {"columns": ["x"], "with_row_id": True}
    wrong = []
    # Each filter on a fresh table of one kind, and after the changes of two histories, with row
    # addresses in one of them and with stable row ids in the other.
    number = list(HISTORIES).index(history)
    parts, turn = (4, number + 2 * stable) if history != "fresh" else (2, int(stable))
    for condition in share(FILTERS, parts, turn):
        expected = ours.to_table(filter=condition, use_scalar_index=False, **options)
        found = ours.to_table(filter=condition, **options)
        if found != expected or ours.count_rows(condition) != expected.num_rows:
            wrong.append((condition, "ours", found.num_rows, expected.num_rows))
        if history != "fresh":
            continue
        other = theirs.to_table(filter=condition, use_scalar_index=False, **options)
        if numbers(other) != numbers(expected):
            wrong.append((condition, "pylance", other.num_rows, expected.num_rows))
    assert wrong == []


LOADS = [
    "a = 5",
    "a BETWEEN 10 AND 900",
    "b IN (1, 2)",
    "z < 9",
    "o = 7",
    "a = 5 AND b = 2",
    "a = -1",
]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with an index of each kind, which tests copy: nobody has loaded indices of a copy."""
    uri = tmp_path_factory.mktemp("indexed") / "t"
    numbers = range(2000)
    columns: dict[str, Any] = {
        "a": numbers,
        "b": [number % 4 for number in numbers],
        "z": numbers,
        "o": numbers,
        "l": [["a", "c"]] * 2000,
        "s": [f"x{number}" for number in numbers],
    }
    kinds = ["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER", "LABEL_LIST", "NGRAM"]
    written = lance.write_dataset(pa.table(columns), uri)
    for column, kind in zip(columns, kinds, strict=True):
        written.create_scalar_index(column, kind)
    return uri


@pytest.mark.parametrize(
    "condition", share([*LOADS, "array_has(l, 'c')", "contains(s, 'x12')"], 2, 0)
)
def test_scans_count_the_indices_and_parts_that_they_load_as_pylance_does(
    tmp_path: Path, indexed: Path, condition: str
) -> None:
    shutil.copytree(indexed, tmp_path / "t")
    found = []
    for module in (lance, lance_core):
        dataset: Any = module.dataset(tmp_path / "t")
        statistics: list[Any] = []
        for _ in range(2):
            options = {"filter": condition, "scan_stats_callback": statistics.append}
            dataset.scanner(**options).to_table()
        found.append([(one.indices_loaded, one.parts_loaded) for one in statistics])
    assert found[0] == found[1]
    assert found[0][1] == (0, 0)
