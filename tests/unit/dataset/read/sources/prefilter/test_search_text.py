"""The searches of indices in explanations of plans."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.expressions.filters import as_filter
from lance_core.dataset.read.sources.prefilter.search_text import conditions_text

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


SCHEMA = pa.schema(
    {
        "x": pa.int64(),
        "u": pa.uint8(),
        "f": pa.float64(),
        "s": pa.string(),
        "l": pa.list_(pa.int32()),
        "d": pa.date32(),
        "e": pa.dictionary(pa.int8(), pa.string()),
        "j": pa.large_binary(),
    }
)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("x <> 5 AND NOT (f < 1 OR f IS NULL)", "x != 5 AND NOT ((f < 1.0 OR f IS NULL))"),
        ("x + 1 > 2 * -x AND x % 3 = 1", "x + 1 > 2 * (- x) AND x % 3 = 1"),
        ("(x = u) IS TRUE", "x = CAST(u AS int64) IS TRUE"),
        ("u < 300 OR u > 300", "((u IS NOT NULL OR NULL) OR (u IS NULL AND NULL))"),
        ("s IN ('a', 'b') OR s IN ('a', NULL, 'c')", "(s IN ('a', 'b') OR s IN ('a', 'c', NULL))"),
        ("s LIKE 'a%' OR s LIKE '%a'", "(starts_with(s, 'a') OR ends_with(s, 'a'))"),
        ("s LIKE 'abc'", "s = 'abc'"),
        ("s LIKE 'a%b' AND s ILIKE 'a_'", "s LIKE 'a%b' AND s ILIKE 'a_'"),
        ("s SIMILAR TO '(a|b)'", "s SIMILAR TO '(a|b)'"),
        ("s ~ 'a' AND s ~* 'b'", "regexp_like(s, 'a') AND regexp_like(s, 'b', 'i')"),
        ("array_has_any(l, [1, NULL])", "(array_has(l, 1) OR any(element IS NULL of l))"),
        ("e = 'a' OR e LIKE '%a'", "(e = 'a' OR ends_with(e, 'a'))"),
        ("substr(s, 2, 3) = upper(s)", "substr(s, 2, 3) = upper(s)"),
        ("replace(s, 'a', 'b') || '!' = s", "replace(s, 'a', 'b') || '!' = s"),
        ("extract(year FROM d) = 2020", "date_part('year', d) = 2020"),
        ("CAST(x AS double) > f", "CAST(x AS double) > f"),
        ("TRY_CAST(s AS bigint) = x", "TRY_CAST(s AS int64) = x"),
        ("CASE WHEN x > 1 THEN f > 1 END", "CASE WHEN x > 1 IS TRUE THEN f > 1.0 ELSE NULL END"),
        ("json_get_int(j, 'a') = 1", "json_get_int(j, 'a') = 1"),
        ("l[1] = 3", "array_element(l, 1) = 3"),
    ],
)
def test_conditions_are_shown_in_the_words_of_sql(condition: str, text: str) -> None:
    shown = conditions_text([as_filter(condition, SCHEMA).condition.node])
    assert shown == text
