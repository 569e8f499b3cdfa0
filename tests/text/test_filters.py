"""Searches of an index with filters: the rows that all rows with their scores have, in any way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from lance_core.dataset.read import scan
from lance_core.query import MatchQuery, PhraseQuery
from tests.each_case import each_case
from tests.scan_numbers import tune
from tests.text.corpus import texts

ROWS, LIMIT = 3_000, 5
FILTERS = ("n < 1500", "n < 60", "n = 7", "n < 0", "n % 3 = 1", "n IS NOT NULL", "n + id > 2900")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    rows = pa.table(
        {
            "id": range(ROWS),
            "n": [row * 7 % ROWS if row % 11 else None for row in range(ROWS)],
            "t": texts(ROWS),
        }
    )
    path = tmp_path_factory.mktemp("filters") / "t.lance"
    dataset = lance.write_dataset(rows, path, max_rows_per_file=800)
    dataset.create_scalar_index("t", "INVERTED", with_position=True)
    dataset.delete("id % 40 = 3")
    return dataset


def answer(table: lance.LanceDataset, query: Any, **options: Any) -> list[tuple[int, float]]:
    rows = table.to_table(columns=["id", "_score"], full_text_query=query, **options)
    return list(zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True))


WAYS: dict[str, dict[str, int]] = {
    "rows are tested or remembered": {},
    "the best rows are tested once": {"cheap_bytes": 0, "deep_rows": 64},
    "the best rows are tested always": {"tested_bytes": 0, "deep_rows": 0},
}


@each_case("way", list(WAYS))
def test_the_best_rows_that_satisfy_a_filter(
    table: lance.LanceDataset, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, ranking=WAYS[way])
    table = lance.dataset(table.uri)  # that remembers no filter
    for query in (MatchQuery("w3 w5", "t"), PhraseQuery("w1 w2", "t")):
        every = answer(table, query)
        assert len(every) > LIMIT
        for condition in FILTERS:
            allowed = set(table.to_table(["id"], condition)["id"].to_pylist())
            expected = [hit for hit in every if hit[0] in allowed]
            for _ in range(3):  # the first time, again, and remembered
                assert answer(table, query, filter=condition, limit=LIMIT) == expected[:LIMIT]
                assert answer(table, query, filter=condition) == expected


def test_a_repeated_filter_is_tested_twice_at_most(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, ranking={"cheap_bytes": 0})
    scans = []
    matching = scan.matching
    monkeypatch.setattr(scan, "matching", lambda *plan: scans.append(plan) or matching(*plan))
    opened = lance.dataset(table.uri)
    counts = []
    for word in ("w1", "w2", "w3", "w4"):
        answer(opened, MatchQuery(word, "t"), filter="n < 2000", limit=LIMIT)
        counts.append(len(scans))
    assert counts == [0, 1, 1, 1]
    scanner = opened.scanner(["id"], filter="n < 2000", full_text_query=MatchQuery("w1", "t"))
    assert f"{table.count_rows('n < 2000')} rows satisfy the filter" in scanner.analyze_plan()
    assert len(scans) == 2  # where reads are measured, they are made


def test_a_filter_is_tested_again_after_a_change(tmp_path: Path) -> None:
    rows = pa.table({"n": range(60), "t": ["red house"] * 60})
    dataset = lance.write_dataset(rows, tmp_path / "t", max_rows_per_file=20)
    dataset.create_scalar_index("t", "INVERTED")
    search: dict[str, Any] = {"full_text_query": MatchQuery("red", "t"), "filter": "n >= 50"}
    for _ in range(2):
        assert dataset.to_table(["n"], **search)["n"].to_pylist() == list(range(50, 60))
    dataset.delete("n = 55")
    lance.write_dataset(rows.slice(58), dataset.uri, mode="append")
    found = lance.dataset(dataset.uri).to_table(["n"], **search)["n"].to_pylist()
    assert sorted(found) == [50, 51, 52, 53, 54, 56, 57, 58, 58, 59, 59]


def test_conditions_that_depend_on_the_time_or_are_of_arrow(table: lance.LanceDataset) -> None:
    query = MatchQuery("w3", "t")
    expected = answer(table, query, filter="n < 900")
    for condition in ("n < 900 AND now() > timestamp '2020-01-01'", pc.field("n") < 900):
        for _ in range(2):
            assert answer(table, query, filter=condition) == expected
