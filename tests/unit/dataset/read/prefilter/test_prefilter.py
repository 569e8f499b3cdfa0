"""Scans that find their rows with indices return what scans without indices return."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import IndexWarning
from tests.brute_index import FILE, add_index, registered

ROWS = 120
NAN, NEGATIVE_NAN = np.array([0x7FF8 << 48, 0xFFF8 << 48], np.uint64).view(np.float64)

CASES = Path(__file__).with_name("filters.txt").read_text().splitlines()


@pytest.fixture(scope="module", autouse=True)
def plugin() -> Iterator[None]:
    with registered():
        yield


def rows(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)

    def some(values: list[object], kind: pa.DataType) -> pa.Array:
        picked = random.integers(0, len(values), ROWS)
        return pa.array([values[i] for i in picked], kind)

    numbers = [None, *range(40)]
    floats = [
        None,
        NAN,
        NEGATIVE_NAN,
        float("inf"),
        float("-inf"),
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        2.5,
        3.0,
    ]
    return pa.table(
        {
            "x": some(numbers, pa.int64()),
            "y": some([0, 1, 2, None], pa.int32()),
            "z": some(numbers, pa.int16()),
            "f": some(floats, pa.float64()),
            "h": some([None, 0.0, -0.0, 1.5, 3.0, float("nan")], pa.float16()),
            "s": some([None, "a", "b", "b1", "b21", "B1", "c", ""], pa.string()),
            "t": some([None, "text 1", "text 2", "", "no text"], pa.string()),
            "b": some([None, True, False], pa.bool_()),
            "l": some([None, [], [1], [1, 2], [2, 3], [None, 1]], pa.list_(pa.int32())),
            "st": some(
                [None, {"v": None}, *({"v": i} for i in range(40))], pa.struct({"v": pa.int64()})
            ),
            "d": some([None, *range(18262, 18300)], pa.date32()),
            "ts": some([None, *range(1577836800, 1577836860)], pa.timestamp("s")),
            "dec": some([None, *["1.5", "2.5", "20", "0"]], pa.string()).cast(pa.decimal128(10, 2)),
        }
    )


@pytest.fixture(scope="module", params=["plain", "stable"])
def dataset(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> lance_core.LanceDataset:
    """Five fragments with deleted rows; the indices cover some of them, in one or two segments."""
    uri = str(tmp_path_factory.mktemp("table"))
    stable = request.param == "stable"
    for seed in range(5):
        mode = "append" if seed else "create"
        found = lance_core.write_dataset(rows(seed), uri, mode=mode, enable_stable_row_ids=stable)
    found.delete("_rowaddr % 7 = 1")
    for column in ("x", "f", "h", "s", "b", "l", "d", "ts", "dec"):
        found = add_index(found, column, fragments=[0, 1, 2, 4])
    found = add_index(found, "st.v", fragments=[0, 1, 3])
    found = add_index(found, "z", "brutezones", [0, 1, 2])
    found = add_index(found, "t", "brutetexts", [0, 1, 2])
    found.delete("_rowaddr % 7 = 2")
    return found


def of_fragment(table: pa.Table, fragment_id: int) -> pa.Array:
    return pa.array(np.asarray(table.column("_rowaddr")) >> 32 == fragment_id)


OPTIONS = {"columns": ["x", "t"], "with_row_address": True}


@pytest.mark.parametrize("condition", CASES)
def test_the_rows_are_those_of_a_scan_without_indices(
    dataset: lance_core.LanceDataset, condition: str
) -> None:
    try:
        expected = dataset.to_table(filter=condition, use_scalar_index=False, **OPTIONS)
    except lance_core.errors.LanceError as error:
        with pytest.raises(type(error)):
            dataset.to_table(filter=condition, **OPTIONS)
        return
    assert dataset.to_table(filter=condition, **OPTIONS) == expected
    assert dataset.count_rows(condition) == expected.num_rows


@pytest.mark.parametrize("condition", ["x > 5", "x > 5 AND y = 1", "x != 7", "z > 5 OR x = 5"])
def test_other_options_mean_the_same_with_indices(
    dataset: lance_core.LanceDataset, condition: str
) -> None:
    expected = dataset.to_table(filter=condition, use_scalar_index=False, **OPTIONS)
    batches = dataset.to_batches(filter=condition, batch_size=7, **OPTIONS)
    assert pa.Table.from_batches(batches, expected.schema) == expected
    limited = dataset.to_table(filter=condition, limit=90, offset=3, **OPTIONS)
    assert limited == expected.slice(3, 90)
    fragments = [dataset.get_fragment(i) for i in (4, 3, 0)]
    some = [expected.filter(of_fragment(expected, one.fragment_id)) for one in fragments]
    found = dataset.to_table(filter=condition, fragments=fragments, **OPTIONS)
    assert found == pa.concat_tables(some)
    order = {"order_by": ["x", "_rowaddr"], "limit": 20}
    ordered = dataset.to_table(filter=condition, use_scalar_index=False, **OPTIONS, **order)
    assert dataset.to_table(filter=condition, **OPTIONS, **order) == ordered
    ranges = [(0, 10, 50), (3, 0, 60), (1, 100, 110)]
    plain = dataset.scanner(filter=condition, use_scalar_index=False, row_ranges=ranges, **OPTIONS)
    some = dataset.scanner(filter=condition, row_ranges=ranges, **OPTIONS)
    assert some.to_table() == plain.to_table()
    tagged = [(t.fragment.fragment_id, t.record_batch.num_rows) for t in some.scan_batches()]
    assert tagged == [
        (t.fragment.fragment_id, t.record_batch.num_rows) for t in plain.scan_batches()
    ]


def test_a_fast_search_skips_fragments_without_index(dataset: lance_core.LanceDataset) -> None:
    expected = dataset.to_table(filter="x > 5", use_scalar_index=False, **OPTIONS)
    rest = expected.filter(pa.compute.invert(of_fragment(expected, 3)))
    assert dataset.to_table(filter="x > 5", fast_search=True, **OPTIONS) == rest
    whole = dataset.to_table(filter="y = 1", use_scalar_index=False, **OPTIONS)
    assert dataset.to_table(filter="y = 1", fast_search=True, **OPTIONS) == whole


def test_an_exact_answer_is_counted_without_data(dataset: lance_core.LanceDataset) -> None:
    chosen = [dataset.get_fragment(i) for i in (0, 1)]
    plan = dataset.scanner(columns=["x"], filter="x > 5", fragments=chosen)
    plan.count_rows()
    text = plan.analyze_plan(count_rows=True)
    assert "bytes_read=0" in text


def test_a_damaged_index_is_not_used(tmp_path: Path) -> None:
    found = lance_core.write_dataset(rows(0), str(tmp_path))
    found = add_index(add_index(found, "x"), "s")
    expected = found.to_table(filter="x > 5 AND s > 'b'", use_scalar_index=False, **OPTIONS)
    for file in (tmp_path / "_indices").glob(f"*/{FILE}"):
        file.write_bytes(b"no index")
    with pytest.warns(IndexWarning) as caught:
        assert found.to_table(filter="x > 5 AND s > 'b'", **OPTIONS) == expected
    assert len(caught) == 2
    assert found.to_table(filter="x > 5 AND s > 'b'", **OPTIONS) == expected  # warns once


@pytest.mark.parametrize("column", ["x", "f", "s", "d"])
def test_changes_find_the_same_rows_with_indices(tmp_path: Path, column: str) -> None:
    tables = []
    for name in ("plain", "indexed"):
        found = lance_core.write_dataset(rows(0), str(tmp_path / name), max_rows_per_file=50)
        if name == "indexed":
            found = add_index(found, column, fragments=[0, 2])
        source = rows(1).slice(0, 4)
        found.merge_insert(column).when_matched_delete().execute(source)
        found.delete(f"{column} IS NULL")
        found.update({"y": "7"}, where=f"NOT {column} IS NULL")
        tables.append(found.to_table(columns=["x", "s", "y", "d"]))
    assert tables[0] == tables[1]


def test_blobs_of_chosen_rows_are_read(tmp_path: Path) -> None:
    blobs = pa.array([bytes([i]) * (i % 7 * 1000) for i in range(ROWS)], pa.large_binary())
    field = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = pa.table([rows(0).column("x"), blobs], pa.schema([("x", pa.int64()), field]))
    found = lance_core.write_dataset(table, str(tmp_path), max_rows_per_file=50)
    found = add_index(found, "x", fragments=[0, 2])
    found.delete("_rowaddr % 5 = 0")
    options = {"filter": "x > 20", "blob_handling": "all_binary"}
    expected = found.to_table(use_scalar_index=False, **options)
    assert found.to_table(**options) == expected
    batches = list(found.to_batches(batch_size=7, **options))
    assert pa.Table.from_batches(batches, expected.schema) == expected
