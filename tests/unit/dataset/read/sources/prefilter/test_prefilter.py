"""Scans that find their rows with indices return what scans without indices return."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import operator
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core
from lance_core.errors import IndexWarning, InvalidInputError
from tests.brute_index import FILE, add_index, registered
from tests.each_case import each_case
from tests.examples import IS_FULL_RUN, share

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


@each_case("number, condition", enumerate(CASES))
def test_the_rows_are_those_of_a_scan_without_indices(
    dataset: lance_core.LanceDataset, number: int, condition: str
) -> None:
    if number % 2 != dataset.has_stable_row_ids and not IS_FULL_RUN:
        return  # a condition of the other table
    try:
        expected = dataset.to_table(filter=condition, use_scalar_index=False, **OPTIONS)
    except lance_core.errors.LanceError as error:
        with pytest.raises(type(error)):
            dataset.to_table(filter=condition, **OPTIONS)
        return
    assert dataset.to_table(filter=condition, **OPTIONS) == expected
    assert dataset.count_rows(condition) == expected.num_rows


X, Y, Z, F, S, T, D, DEC = map(pc.field, ("x", "y", "z", "f", "s", "t", "d", "dec"))
STAMP, MEMBER = pc.field("ts"), pc.field("st", "v")
DAY, SECOND = dt.date(2020, 1, 20), dt.datetime(2020, 1, 1, 0, 0, 30)
FLOATS = [-0.0, 2.5, float("inf")]
COMPARISONS = [getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")]
ANSWERED = [
    *(compare(X, 7) for compare in COMPARISONS),
    *(compare(F, value) for compare in COMPARISONS for value in FLOATS),
    *(compare(pc.scalar(7), X) for compare in COMPARISONS[2:4]),
    *(pa.scalar(7, pa.uint8()) == X, X == 7.0, pa.scalar(7, pa.int64()) < Z),
    *(pa.scalar(1.0, pa.float32()) == F, decimal.Decimal("2.5") == DEC, MEMBER == 3),
    *(D == DAY, D < DAY, STAMP >= SECOND, pa.scalar(SECOND, pa.timestamp("ns")) == STAMP),
    *(X.isin([1, 5, 9]), X.isin([1, None]), X.isin([2.0, 3.0]), F.isin([1.0, None])),
    *(X.is_null(), X.is_valid(), X.is_null(nan_is_null=True), F.is_null(), F.is_valid()),
    *(pc.is_in(S, pa.array(["a", "c"])), pc.match_substring(T, "text"), pc.ends_with(T, "ext 1")),
    *(pc.field("b"), pc.field("b") == True),  # noqa: E712
    *(S == "b1", pa.scalar("b1", pa.large_string()) == S, S > "b", pc.starts_with(S, "b")),
    pc.field("l").is_null(),
]
NOT_ANSWERED = [
    *(compare(F, float("nan")) for compare in COMPARISONS),
    *(F.isin([0.0]), F.isin([float("nan")]), F.is_null(nan_is_null=True), X == None),  # noqa: E711
    *(X.isin(pa.array([], pa.int64())), F < X, X == Y, X == 7.5, Z == 2**40),
    *(X + 1 == 7, X.cast("int32") == 7, pc.starts_with(S, "B", ignore_case=True)),
    *(pc.is_in(X, pa.array([1, None]), skip_nulls=True), pc.if_else(X == 7, True, X == 8)),
    *(pc.scalar(True), pc.scalar(False) & (Y == 1), Y == 1, (X == 7).is_null()),
]


def same_rows(dataset: lance_core.LanceDataset, condition: pc.Expression) -> None:
    expected = dataset.to_table(filter=condition, use_scalar_index=False, **OPTIONS)
    assert dataset.to_table(filter=condition, **OPTIONS) == expected, str(condition)


def is_searched(dataset: lance_core.LanceDataset, condition: str | pc.Expression) -> bool:
    return "ScalarIndexQuery" in dataset.scanner(filter=condition).explain_plan()


def test_arrow_expressions_keep_their_results_with_indices(
    dataset: lance_core.LanceDataset,
) -> None:
    conditions = [*ANSWERED, *NOT_ANSWERED]
    # A third of them on each of the two tables, and another third negated.
    for condition in share(conditions, 3, turn=dataset.has_stable_row_ids):
        same_rows(dataset, condition)
    for condition in share(conditions, 3, turn=2 - dataset.has_stable_row_ids):
        same_rows(dataset, ~condition)
    for condition in ANSWERED:
        assert is_searched(dataset, condition), str(condition)
    for condition in NOT_ANSWERED:
        assert not is_searched(dataset, condition), str(condition)


def test_combined_arrow_expressions_keep_their_results_with_indices(
    dataset: lance_core.LanceDataset,
) -> None:
    random = np.random.default_rng(1 + dataset.has_stable_row_ids)
    parts = [*ANSWERED, *NOT_ANSWERED]
    for _ in range(5):
        some = [parts[at] for at in random.integers(0, len(parts), 4)]
        some = [~one if random.random() < 0.3 else one for one in some]
        joined = functools.reduce(
            lambda left, right: left & right if random.random() < 0.6 else left | right, some
        )
        same_rows(dataset, joined)
        same_rows(dataset, ~joined)


def test_the_part_of_an_arrow_expression_without_index_is_tested(
    dataset: lance_core.LanceDataset,
) -> None:
    plan = dataset.scanner(filter=(X == 7) & (Y + 1 > 0)).explain_plan()
    assert "query=[x = 7]@x" in plan
    assert "refine_filter=((x == 7) and (add_checked(y, 1) > 0))" in plan


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


@pytest.fixture
def failing(tmp_path: Path) -> lance_core.LanceDataset:
    return failing_table(str(tmp_path / "t"))


def failing_table(uri: str) -> lance_core.LanceDataset:
    """Two fragments, the first with an index of x; the rows with x = 1 have no quotient 6 / y."""
    table = pa.table({"x": [1, 2, 3] * 2, "y": [0, 2, 3] * 2, "s": ["a", "b", "c"] * 2})
    found = lance_core.write_dataset(table, uri, max_rows_per_file=3)
    return add_index(found, "x", fragments=[0])


@pytest.mark.parametrize(
    "condition",
    [
        "x = 2 AND 6 / y = 3",
        "6 / y = 3 AND x > 1",
        "NOT (x <> 2 OR 6 / y <> 3)",
        "(x = 2 AND 6 / y = 3) OR (x = 3 AND s = 'a')",
        (X == 2) & (pc.scalar(6) / Y == 3),
    ],
    ids=str,
)
def test_an_error_of_a_row_that_an_index_excludes_is_not_raised(
    failing: lance_core.LanceDataset, condition: str | pc.Expression
) -> None:
    assert is_searched(failing, condition)
    with pytest.raises(InvalidInputError, match="divide by zero"):
        failing.count_rows(condition)  # of a fragment without index
    found = failing.to_table(filter=condition, fragments=[failing.get_fragment(0)])
    assert found["x"].to_pylist() == [2]
    with pytest.raises(InvalidInputError, match="divide by zero"):
        failing.to_table(filter=condition, use_scalar_index=False)
    complete = add_index(failing, "x")
    assert complete.count_rows(condition) == 2
    assert complete.to_table(["s"], filter=condition)["s"].to_pylist() == ["b", "b"]


@pytest.mark.parametrize("condition", ["x = 1 AND 6 / y = 3", "x = 2 OR 6 / y = 3", "6 / y = 3"])
def test_an_error_of_a_row_that_an_index_finds_is_raised(
    failing: lance_core.LanceDataset, condition: str
) -> None:
    complete = add_index(failing, "x")
    with pytest.raises(InvalidInputError, match="divide by zero"):
        complete.count_rows(condition)
