"""Exact search for the nearest vectors, beside pylance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from tests.each_case import each_case

ROWS, WIDTH = 400, 16
FLOATS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def vectors(kind: str, count: int) -> pa.Array:
    random = np.random.default_rng(7)
    if kind == "uint8":
        matrix = random.integers(0, 256, (count, WIDTH)).astype(np.uint8)
    else:
        matrix = random.normal(size=(count, WIDTH)).astype(FLOATS[kind])
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), WIDTH)


def table(kind: str, *, is_multi: bool) -> pa.Table:
    ids = pa.array(range(ROWS))
    if not is_multi:
        column = vectors(kind, ROWS)
        nulls = pa.array([n % 11 == 4 for n in range(ROWS)])
        column = pa.FixedSizeListArray.from_arrays(column.values, WIDTH, mask=nulls)
    else:
        offsets = np.cumsum([0, *(n % 4 for n in range(ROWS))]).astype(np.int32)
        column = pa.ListArray.from_arrays(pa.array(offsets), vectors(kind, int(offsets[-1])))
    return pa.table({"id": ids, "v": column, "g": ["even", "odd"] * (ROWS // 2)})


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], str]:
    """A table of each kind with deleted rows, by the element type and whether rows have several."""
    made = {}
    for kind in (*FLOATS, "uint8"):
        for is_multi in (False, True):
            uri = str(tmp_path_factory.mktemp("t") / "t.lance")
            lance.write_dataset(table(kind, is_multi=is_multi), uri, max_rows_per_file=150)
            lance.dataset(uri).delete("id % 13 = 2")
            made[kind, is_multi] = uri
    return made


CASES = [
    (kind, is_multi, metric, options)
    for kind in (*FLOATS, "uint8")
    for is_multi in (False, True)
    for metric in (["hamming"] if kind == "uint8" else ["l2", "cosine", "dot"])
    for options in (
        {},
        {"filter": "g = 'odd'", "prefilter": True},
        {"filter": "g = 'odd'", "prefilter": False},
        {"distance_range": (0.4, 1.5)},
        {"limit": 5, "offset": 2, "with_row_id": True},
    )
    if not (kind == "uint8" and is_multi)
]


@each_case("kind, is_multi, metric, options", CASES)
def test_both_libraries_return_the_same_rows_in_the_same_order(
    tables: dict[tuple[str, bool], str],
    kind: str,
    is_multi: bool,
    metric: str,
    options: dict[str, Any],
) -> None:
    uri = tables[kind, is_multi]
    query = vectors(kind, ROWS).values.to_numpy(zero_copy_only=False).reshape(-1, WIDTH)
    q = query[40:43] if is_multi else query[40]
    more = dict(options)
    nearest = {"column": "v", "q": q, "k": 20, "metric": metric}
    nearest |= {name: more.pop(name) for name in ("distance_range",) if name in more}
    theirs = lance.dataset(uri).to_table(columns=["id"], nearest=nearest, **more)
    ours = lance_core.dataset(uri).to_table(columns=["id"], nearest=nearest, **more)
    assert ours.schema.equals(theirs.schema)
    assert ours["id"].to_pylist() == theirs["id"].to_pylist()
    tolerance = 2e-3 if kind == "float16" else 2e-6
    assert np.allclose(ours["_distance"], theirs["_distance"], rtol=tolerance, atol=tolerance)


def test_both_libraries_answer_several_queries_alike(
    tables: dict[tuple[str, bool], str],
) -> None:
    uri = tables["float32", False]
    q = np.random.default_rng(9).normal(size=(12, WIDTH)).astype(np.float32)
    nearest = {"column": "v", "q": q, "k": 6}
    theirs = lance.dataset(uri).to_table(columns=["id"], nearest=nearest)
    ours = lance_core.dataset(uri).to_table(columns=["id"], nearest=nearest)
    assert ours.drop_columns("_distance").equals(theirs.drop_columns("_distance"))


def test_a_pylance_index_does_not_change_exact_answers(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(table("float32", is_multi=False), uri)
    indexed = lance.dataset(uri)
    indexed.create_index("v", "IVF_FLAT", num_partitions=2)
    query = np.ones(WIDTH, np.float32)
    nearest = {"column": "v", "q": query, "k": 9, "use_index": False}
    theirs = lance.dataset(uri).to_table(columns=["id"], nearest=nearest)
    ours = lance_core.dataset(uri).to_table(columns=["id"], nearest=nearest)
    assert ours["id"].equals(theirs["id"])
    lance_core.write_dataset(table("float32", is_multi=False), uri, mode="append")
    assert [one.name for one in lance.dataset(uri).describe_indices()] == ["v_idx"]


def test_both_libraries_sort_and_compute_with_distances_alike(
    tables: dict[tuple[str, bool], str],
) -> None:
    uri = tables["float32", False]
    nearest = {"column": "v", "q": np.ones(WIDTH, np.float32), "k": 15}
    columns = {"id": "id", "double": "_distance * 2", "sum": "_distance + id"}
    scans: list[dict[str, Any]] = [
        {"columns": ["id", "g"], "order_by": ["id"], "limit": 5, "offset": 2},
        {"columns": columns},
        {"columns": ["id"], "filter": "_distance < 22 AND g = 'odd'", "prefilter": False},
    ]
    for scan in scans:
        theirs = lance.dataset(uri).scanner(nearest=nearest, **scan).to_table()
        ours = lance_core.dataset(uri).scanner(nearest=nearest, **scan).to_table()
        assert ours.column_names == theirs.column_names
        assert ours["id"].to_pylist() == theirs["id"].to_pylist()
        numbers = [name for name in ours.column_names if name not in ("id", "g")]
        for name in numbers:
            assert np.allclose(ours[name], theirs[name], rtol=1e-5)
