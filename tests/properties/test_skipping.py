"""Statistics of 0.1 files never change what a filter selects: it is the same without them."""

from __future__ import annotations

import datetime as dt
import decimal
import random

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lance_core as lance
from tests.examples import examples

ROWS, GROUP = 480, 16
START = dt.date(2020, 1, 1)

FLOATS = [float("nan"), -0.0, 0.0, 1.5, -2.25, float("inf"), float("-inf"), 7.0, 1e300]
LONG = ["x" * 63 + "é" * 9, "x" * 63 + "z" * 9, "x" * 64, "x" * 65, "\U0010ffff" * 20, "x" * 61]
WORDS = ["", "a", "ab", "b", "zz", "é", *LONG]
DECIMALS = [decimal.Decimal(n).scaleb(-2) for n in (-500, 0, 1, 99, 12345)]


def column(chance: random.Random, values: list[object], nulls: float, order: bool) -> list[object]:
    """Values, mostly of few neighbours of the list in one place if ``order``."""
    found: list[object] = []
    for row in range(ROWS):
        place = row * len(values) // ROWS if order else chance.randrange(len(values))
        if chance.random() < 0.1:
            place = chance.randrange(len(values))
        found.append(None if chance.random() < nulls else values[place])
    return found


def table(seed: int) -> pa.Table:
    chance = random.Random(seed)
    order, nulls = seed % 2 == 0, (0.0, 0.05, 0.6)[seed % 3]
    days: list[object] = [START + dt.timedelta(days=n) for n in range(20)]
    columns = {
        "i": (list(range(-5, 30)), pa.int64()),
        "u": ([0, 1, 2, 2**63, 2**64 - 1], pa.uint64()),
        "f": (FLOATS, pa.float64()),
        "g": (FLOATS[:-1], pa.float32()),
        "s": (WORDS, pa.string()),
        "y": ([word.encode() for word in WORDS] + [b"\xff" * 70], pa.binary()),
        "b": ([False, True], pa.bool_()),
        "d": (days, pa.date32()),
        "c": (DECIMALS, pa.decimal128(10, 2)),
        "t": ([dt.datetime(2020, 1, 1, n) for n in range(5)], pa.timestamp("us")),
    }
    arrays = {
        name: pa.array(column(chance, list(values), nulls, order), kind)
        for name, (values, kind) in columns.items()
    }
    arrays["p"] = pa.StructArray.from_arrays([arrays["i"].slice(0), arrays["s"]], ["x", "w"])
    fields = [pa.field(name, array.type) for name, array in arrays.items()]
    fields.append(pa.field("n", pa.string(), nullable=False))
    words = pa.array(column(chance, list(WORDS), 0, order), pa.string())
    return pa.Table.from_arrays([*arrays.values(), words], schema=pa.schema(fields))


@pytest.fixture(scope="module", params=range(6))
def dataset(request: pytest.FixtureRequest) -> lance.LanceDataset:
    made = lance.write_dataset(
        table(request.param),
        f"memory://skipping/{request.param}",
        data_storage_version="legacy",
        max_rows_per_group=GROUP,
        max_rows_per_file=300,
    )
    made.delete("i = 3 OR s = 'zz'")
    return made


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


WHOLE = st.sampled_from(["-6", "0", "3", "7", "12.5", "29", "1e3", "NULL"])
REAL = st.sampled_from(["-2.25", "0", "-0.0", "1.5", "7", "8", "1e300", "1e301", "NULL"])
TEXT = st.sampled_from([*map(quoted, WORDS), "'aa'", "'x'", "'y'", "NULL"])
LITERALS = {
    **dict.fromkeys(("i", "p.x"), WHOLE),
    "u": st.sampled_from(["0", "2", "18446744073709551615", "-1", "NULL"]),
    **dict.fromkeys(("f", "g"), REAL),
    **dict.fromkeys(("s", "n", "p.w"), TEXT),
    "y": st.sampled_from(["X'61'", "X'FF'", "X'78787878'", "NULL"]),
    "b": st.sampled_from(["true", "false", "NULL"]),
    "d": st.sampled_from(["date '2020-01-01'", "date '2020-01-09'", "'2019-05-05'"]),
    "c": st.sampled_from(["0", "0.99", "-5", "200", "0.995"]),
    "t": st.sampled_from(["timestamp '2020-01-01 03:00:00'"]),
}
COLUMN = st.sampled_from(list(LITERALS))
OPERATOR = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@st.composite
def column_test(draw: st.DrawFn) -> str:
    name = draw(COLUMN)
    literal = LITERALS[name]
    one, other = draw(literal), draw(literal)
    choices = ", ".join(draw(st.lists(literal, min_size=1, max_size=6)))
    forms = [
        f"{name} {draw(OPERATOR)} {one}",
        f"{one} {draw(OPERATOR)} {name}",
        f"{name} BETWEEN {one} AND {other}",
        f"{name} {draw(st.sampled_from(['IN', 'NOT IN']))} ({choices})",
        f"{name} IS NULL",
        f"{name} IS NOT NULL",
        f"({name} = {one}) IS {draw(st.sampled_from(['TRUE', 'NOT TRUE', 'FALSE', 'NULL']))}",
    ]
    if name in ("s", "n", "p.w"):
        start = draw(st.sampled_from(["a", "x", "xxx", "é", "zzz", ""]))
        forms += [f"{name} LIKE '{start}%'", f"{name} LIKE '%{start}'", f"lower({name}) = {one}"]
    if name in ("f", "g"):
        forms += [f"isnan({name})", f"{name} <> {name}"]
    return draw(st.sampled_from(forms))


LEAF = st.one_of(column_test(), st.sampled_from(["b", "NOT b", "b IS NOT FALSE", "i = u"]))
CONDITION = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda both: f"({both[0]} AND {both[1]})"),
        st.tuples(inner, inner).map(lambda both: f"({both[0]} OR {both[1]})"),
        inner.map(lambda one: f"(NOT {one})"),
    ),
    max_leaves=5,
)


@settings(max_examples=examples(8))
@given(condition=CONDITION)
@example(condition="f > 7 AND i < 20")
@example(condition="NOT g < 0.5")
@example(condition="f <> 0")
@example(condition="i = 0 OR b = false")
@example(condition="s IS NULL OR s < 'a'")
def test_a_result_is_that_without_statistics(dataset: lance.LanceDataset, condition: str) -> None:
    expected = dataset.to_table(filter=condition, use_stats=False)
    found = dataset.to_table(filter=condition)
    assert str(found.to_pylist()) == str(expected.to_pylist())  # as text, NaN is NaN
    assert dataset.count_rows(condition) == expected.num_rows


def test_batches_are_left_out() -> None:
    """Of values in order: otherwise nothing could be left out."""
    ordered = table(0).sort_by("i").combine_chunks()
    made = lance.write_dataset(
        ordered.append_column("row", pa.array(range(ROWS))),
        "memory://skipping/ordered",
        data_storage_version="legacy",
        max_rows_per_group=GROUP,
    )
    assert "skipping 29 of 30 stored batches" in made.scanner(filter="row < 5").explain_plan(True)
    plan = made.scanner(filter="row < 5", use_stats=False).explain_plan(True)
    assert "stored batches" not in plan
    assert made.to_table(["row"], filter="row IN (7, 470)")["row"].to_pylist() == [7, 470]


def test_an_error_in_a_row_that_could_be_left_out_is_still_an_error() -> None:
    made = lance.write_dataset(
        pa.table({"a": [0, 1, 2, 3], "k": [0, 1, 2, 3]}),
        "memory://skipping/error",
        data_storage_version="legacy",
        max_rows_per_group=1,
    )
    for use_stats in (True, False):
        with pytest.raises(lance.errors.InvalidInputError, match="divide by zero"):
            made.to_table(filter="k = 2 AND 6 / a = 3", use_stats=use_stats)
