"""After `prewarm_index`, searches read no file of the index."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.indices import IndexConfig
from lance_core_indices.btree import pages
from tests.each_case import each_case

ROWS = 3_000
CASES = [
    ("number", "BTREE", {"zone_size": 100}, "number > 700", 10),
    ("number", "BTREE", {}, "NOT (number > 700)", 1),
    ("number", "BITMAP", {}, "number = 7", 1),
    ("number", "ZONEMAP", {}, "number BETWEEN 5 AND 90", 0),
    ("number", "BLOOMFILTER", {}, "number = 5", 0),
    ("labels", "LABEL_LIST", {}, "array_has(labels, 'a1')", 1),
    ("text", "NGRAM", {}, "contains(text, 'row 77')", 1),
    (
        "document",
        "json",
        {"path": "x", "target_index_type": "btree"},
        "json_get_int(document, 'x') > 7",
        1,
    ),
]
"""A column, a type of index, its parameters, a condition, and what a search for it reads at least:
pages, bitmaps or lists of rows."""


def table() -> pa.Table:
    numbers = [None if number % 9 == 2 else number for number in range(ROWS)]
    return pa.table(
        {
            "number": pa.array(numbers, pa.int64()),
            "labels": [[f"a{number % 5}"] for number in range(ROWS)],
            "text": [f"the row {number}" for number in range(ROWS)],
            "document": pa.array([f'{{"x": {number}}}' for number in range(ROWS)], pa.json_()),
        }
    )


def loads(dataset: lance.LanceDataset, condition: str) -> tuple[int, int]:
    """The indices that a search opens, and the parts of them that it reads."""
    found: list[lance.ScanStatistics] = []
    dataset.scanner(["number"], filter=condition, scan_stats_callback=found.append).to_table()
    return found[0].indices_loaded, found[0].parts_loaded


@each_case("column, kind, parameters, condition, parts", CASES)
def test_a_search_of_a_prewarmed_index_reads_no_part_of_it(
    tmp_path: Path,
    column: str,
    kind: str,
    parameters: dict[str, object],
    condition: str,
    parts: int,
) -> None:
    uri = tmp_path / "t"
    lance.write_dataset(table(), uri).create_scalar_index(
        column, IndexConfig(kind, parameters), name="i"
    )
    indices_read, parts_read = loads(lance.dataset(uri), condition)
    assert indices_read == 1
    assert parts_read >= parts
    dataset = lance.dataset(uri)
    dataset.prewarm_index("i")
    assert loads(dataset, condition) == (0, 0)


def test_pages_of_a_btree_are_loaded_until_the_caches_are_full(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = lance.write_dataset(table(), uri)
    dataset.create_scalar_index("number", IndexConfig("btree", {"zone_size": 10}), name="i")
    monkeypatch.setattr(pages, "SPAN_BYTES", 100 * 10 * 16)
    dataset = lance.dataset(uri)
    dataset.prewarm_index("i")
    assert loads(dataset, "number = 2998") == (0, 1)
    dataset = lance.dataset(uri)
    dataset.prewarm_index("i")
    assert loads(dataset, "number < 700") == (0, 0)


def test_an_empty_index_is_prewarmed(uri: str) -> None:
    dataset = lance.write_dataset(table().slice(0, 0), uri)
    dataset.create_scalar_index("number", "BTREE", name="i")
    dataset.prewarm_index("i")
    assert dataset.count_rows("number = 1") == 0
