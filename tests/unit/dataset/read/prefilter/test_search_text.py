"""The searches of indices in explanations of plans."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core

UUIDS = pa.array([bytes(range(16)), bytes(range(1, 17)), None], pa.uuid())
DIGITS = bytes(range(1, 17)).hex()
EQUALS = f"= arrow_cast(0x{DIGITS}, 'FixedSizeBinary(16)')"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> lance_core.LanceDataset:
    uri = tmp_path_factory.mktemp("table")
    table = pa.table({"x": range(3), "uuid": UUIDS, "fixed": UUIDS.storage})
    dataset = lance_core.write_dataset(table, uri)
    for column in table.column_names:
        dataset.create_scalar_index(column, "BTREE")
    dataset.create_scalar_index("x", "BITMAP", name="later")
    return dataset


@pytest.mark.parametrize(
    ("condition", "search", "count"),
    [
        ("x BETWEEN 1 AND 2", "[x >= 1 && x <= 2]@x_idx(BTree)", 2),
        ("x BETWEEN 2 AND 1", "[x >= 2 && x <= 1]@x_idx(BTree)", 0),
        ("x > 2 AND x < 1", "[x > 2 && x < 1]@x_idx(BTree)", 0),
        ("x IN (0, 1)", "[x IN [0,1]]@x_idx(BTree)", 2),
        (f"uuid {EQUALS}", f"[uuid = {DIGITS[:20]}...]@uuid_idx(BTree)", 1),
        (f"fixed {EQUALS}", f"[fixed = {DIGITS[:20]}...]@fixed_idx(BTree)", 1),
        (f"fixed > 0x{DIGITS}", f"[fixed > {DIGITS[:20]}...]@fixed_idx(BTree)", 0),
    ],
)
def test_searches_are_shown_as_by_pylance(
    dataset: lance_core.LanceDataset, condition: str, search: str, count: int
) -> None:
    scanner = dataset.scanner(filter=condition)
    assert f"ScalarIndexQuery: query={search}\n" in scanner.explain_plan()
    assert scanner.to_table().num_rows == count


@pytest.mark.parametrize(("condition", "rows"), [("x = 3", 2), ("x = 3 AND y = 1", 1)])
def test_rows_that_need_no_test_are_in_the_output_of_a_read(
    tmp_path: Path, condition: str, rows: int
) -> None:
    table = pa.table({"x": [1, 3], "y": [2, 2]})
    dataset = lance_core.write_dataset(table, tmp_path)
    dataset.create_scalar_index("x", "BTREE")
    more = pa.table({"x": [3, 4], "y": [1, 1]})
    dataset = lance_core.write_dataset(more, tmp_path, mode="append")
    plan = dataset.scanner(columns=["x"], filter=condition).analyze_plan()
    assert re.search(rf"^\s*LanceRead:.*output_rows={rows}, .*rows_scanned=3,", plan, re.MULTILINE)
