"""Filters of any length and content take bounded time and memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core
from lance_core.dataset.dataset import LanceDataset
from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.dataset.expressions.sql.nodes import size_limit
from lance_core.dataset.expressions.sql.nodes.node import constant
from lance_core.dataset.expressions.sql.operators.compare import equals
from lance_core.dataset.expressions.sql.operators.membership import members
from lance_core.dataset.expressions.sql.parser.syntax import Literals
from lance_core.dataset.expressions.sql.values.coerce import literal_as
from lance_core.errors import InvalidInputError, LanceError, ResultTooLargeError

DATA = pa.table(
    {
        "i": pa.array([None, *range(999)], pa.int64()),
        "u": pa.array([None, *(n % 200 for n in range(999))], pa.uint8()),
        "f": pa.array([None, *(n / 8 for n in range(999))], pa.float32()),
        "m": pa.array([None, *range(999)], pa.int32()).cast(pa.decimal128(12, 2)),
        "s": [None, *(f"text {n}" for n in range(999))],
        "d": pa.array([None, *(f"text {n % 7}" for n in range(999))]).dictionary_encode(),
        "t": pa.array([None, *range(999)], pa.int32()).cast(pa.date32()),
    }
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> LanceDataset:
    path: Path = tmp_path_factory.mktemp("cost") / "t.lance"
    return lance_core.write_dataset(DATA, path)


def select(condition: str) -> list[int]:
    mask = as_filter(condition, DATA.schema).mask(DATA)
    return [row for row, fulfilled in enumerate(mask.tolist()) if fulfilled]


def seconds(dataset: LanceDataset, condition: str | pc.Expression) -> float:
    """Of one thread's work, which other programs do not slow; the less of two runs."""
    found = []
    for spaces in ("", " "):
        started = time.thread_time()
        # Plans are kept by their text.
        dataset.to_table(filter=condition + spaces if isinstance(condition, str) else condition)
        found.append(time.thread_time() - started)
    return min(found)


def test_a_list_of_a_hundred_thousand_literals_is_planned_in_a_moment(
    dataset: LanceDataset,
) -> None:
    dataset.to_table(filter="i IN (1, 2) AND s IN ('a', 'b')")
    numbers = ", ".join(str(n * 7919 - 10**6) for n in range(100_000))
    texts = ", ".join(f"'it''s {n}'" for n in range(100_000))
    listed = pc.field("i").isin(list(range(100_000)))
    conditions = [
        f"i IN ({numbers})",
        f"s NOT IN ({texts})",
        f"f IN (0.5, NULL, {numbers})",
        listed,
    ]
    for condition in conditions:
        # Thirty times as long before; three times as long as measured on a machine at rest.
        assert seconds(dataset, condition) < 1
    assert dataset.delete(f"i IN ({numbers})")["num_deleted_rows"] == 0


def test_long_chains_are_planned_in_a_moment(dataset: LanceDataset) -> None:
    dataset.to_table(filter="i > 1 AND i < 2")
    for condition in [
        " AND ".join(f"i <> {n}" for n in range(2000)),
        " OR ".join(f"(s = '{n}')" for n in range(2000)),
        " AND ".join(f"(i > {-n} OR u < {n})" for n in range(1000)),
        "+".join(["i"] * 2000) + " > 5",
    ]:
        assert seconds(dataset, condition) < 1


def test_a_long_list_means_what_a_short_one_means() -> None:
    lists = {
        "i": ["-1", "5", "7", "99999999999999999999999", "8.0", "8.5", "1e2", "NULL"],
        "u": ["-1", "5", "7", "300", "8.0", "8.5", "1e2", "NULL"],
        "f": ["-1", "0", "7", "0.125", "1e400", "12.3", "1.5e1", "NULL"],
        "m": ["-1", "5", "7", "8.000", "8.001", "1e2", "999999999999", "NULL"],
        "s": ["'text 1'", "'text 5'", "'it''s'", "''", "NULL"],
        "d": ["'text 1'", "'text 5'", "'it''s'", "NULL"],
        "t": ["'1970-01-02'", "'1971-01-01'", "'1970-01-03 12:00:00'", "NULL"],
    }
    for column, literals in lists.items():
        for given in (literals, literals[:-1]):
            long = ", ".join(given * 10)
            chain = " OR ".join(f"({column} = {one})" for one in given)
            assert select(f"{column} IN ({long})") == select(chain), column
            assert select(f"{column} NOT IN ({long})") == select(f"NOT ({chain})"), column
            assert as_value(f"{column} IN ({long})", DATA.schema).evaluate(DATA) == as_value(
                chain, DATA.schema
            ).evaluate(DATA)
    for wrong in ("i IN ('a'{})", "s IN (1{})", "t IN (1{})", "i IN (1{}, 'a')"):
        more = ", 'b'" if "('a'" in wrong else ", 2"
        with pytest.raises(InvalidInputError, match=r"compare|not a literal|not a date"):
            select(wrong.format(more * 30))


def test_many_comparisons_mean_what_one_means() -> None:
    chain = " OR ".join([*(f"i = {n}" for n in range(0, 500, 5)), "u = 3", "s = 'text 998'"])
    expected = select("(i % 5 = 0 AND i < 500) OR u = 3 OR s = 'text 998'")
    assert select(chain) == expected
    assert select(" AND ".join([*(f"i <> {n}" for n in range(990)), "u > 0"])) == list(
        range(991, 1000)
    )


def test_what_a_filter_computes_is_bounded(
    dataset: LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    for condition in [
        "repeat('a', 1000000000) = s",
        "repeat(s, 1000000) = s",
        "lpad(s, 1000000, 'x') = s",
        "rpad(s, i * 1000000000, 'x') = s",
        "repeat(repeat(repeat(s, 1000), 1000), 1000) = s",
    ]:
        with pytest.raises(ResultTooLargeError, match="are allowed for the rows"):
            dataset.to_table(filter=condition)
    monkeypatch.setattr(size_limit, "MAX_ADDED_BYTES", 1 << 20)
    long = "x" * 3000
    for condition in [
        f"concat_ws('{long}', s, s, s, s) = s",
        f"coalesce(s, '{long}') = s",
        f"CASE WHEN i > 5 THEN '{long}' ELSE s END = s",
        f"greatest(s, '{long}') = s",
        f"s || '{long}' = s",
        f"replace(s, 't', '{long}') = s",
        f"replace(s, '', '{long}') = s",
        f"regexp_replace(s, '.', '{long}', 'g') = s",
        "regexp_replace(s, '(.*)', '" + r"\\1" * 300 + "', 'g') = s",
        "||".join(["s"] * 400) + " = s",
    ]:
        with pytest.raises(ResultTooLargeError, match="are allowed for the rows"):
            dataset.to_table(filter=condition)
    with pytest.raises(ResultTooLargeError):
        dataset.to_table(columns={"x": f"'{long}'"})
    monkeypatch.setattr(size_limit, "MAX_LIVE_BYTES", 1 << 20)
    many = ", ".join(f"repeat('{n}', 100000)" for n in range(10, 40))
    with pytest.raises(ResultTooLargeError, match="take more than"):
        dataset.to_table(filter=f"concat({many}) = s")


def test_small_computed_values_are_as_before(dataset: LanceDataset) -> None:
    data = pa.table({"s": ["ab", "é", "", None]})
    for text, expected in {
        "repeat('ab', 5000) = repeat('abab', 2500)": [True] * 4,
        "replace(s, '', '-')": ["-a-b-", "-é-", "-", None],
        r"replace(s, '', '\1')": [r"\1a\1b\1", r"\1é\1", r"\1", None],
        "repeat(s, 0)": ["", "", "", None],
        "repeat('', 1000000000000)": [""] * 4,
        "s || '-' || s || '-' || 1": ["ab-ab-1", "é-é-1", "--1", None],
    }.items():
        value = as_value(text, data.schema)
        assert value.evaluate(data.select(list({p[0] for p in value.columns}))).to_pylist() == (
            expected
        ), text


def test_no_text_exhausts_the_stack() -> None:
    for text in [
        *(
            "(" * 10**4 + "i" + " + 1)" * 10**4 + " > 5",
            "NOT " * 10**4 + "i > 5",
            "- " * 10**4 + "i > 5",
        ),
        *("i" + ".x" * 10**4 + " = 1", "i" + "[1]" * 10**4 + " = 1", "[" * 10**4, "CASE " * 10**4),
        *("i" + "::bigint" * 10**4, "i" + " IS NULL" * 10**4, "i" + " = 1" * 10**4, "abs(" * 10**4),
        *("i BETWEEN 1 AND " * 10**4 + "1", "i = " + "9" * 10**6 + "x", "/*" * 10**4),
        "i = 1 AND '" + "x" * (2 << 20) + "' = s",
    ]:
        with pytest.raises(LanceError):
            as_filter(text, DATA.schema)
    assert select("i = 1 " + "/* */" * 10**4) == [2]
    assert select("(" * 90 + "i = 1" + ")" * 90) == [2]


MOMENTS = [
    *("2024-02-29", "1969-12-31", "1900-01-01 00:00:00", "2024-03-10 02:30:00"),
    *("2024-11-03 01:30:00", "2024-01-01T00:00:00", "2024-01-01 12:00:00.5"),
    *("2024-01-01 12:00:00.123456789", "2024-01-01 12:00:00Z", "2024-1-2", "0001-01-01"),
    "9999-12-31 23:59:59",
]


def test_a_long_list_of_dates_means_what_a_short_one_means() -> None:
    """Long lists are read together, short ones value by value."""
    units = ("s", "ms", "us", "ns")
    kinds = [pa.date32(), pa.date64()]
    kinds += [pa.timestamp(u, z) for u in units for z in (None, "UTC", "America/New_York")]
    for kind in kinds:
        for texts in (MOMENTS[:2], MOMENTS[:6], MOMENTS[:8], MOMENTS[:10], MOMENTS[8:]):
            try:
                literals = [literal_as(constant(text), kind) for text in texts]
            except InvalidInputError:
                continue  # not in 64 bits of nanoseconds
            single = [value for literal in literals for value in equals(kind, literal)]
            together = members(kind, Literals([], [], texts, False))
            assert together.equals(pa.array(single, kind)), (kind, texts)
    for wrong in ("2024-02-30", "0000-01-01", "2024-01-01 25:00:00"):
        with pytest.raises(InvalidInputError, match="is not"):
            members(pa.date32(), Literals([], [], ["2024-02-29", wrong], False))


NUMBERS = [
    *("0", "-0", "1", "-7", "12345678901234567890", "-1.50", "1.5", ".25", "-.25", "5.", "-.0"),
    *("1e3", "1.5E-1", "0.001", "99999999999999999999999999999999.99", "9" * 50, "1.005"),
]
KINDS = {
    pa.decimal128(9, 2): 10**9,
    pa.decimal128(38, 0): 10**38,
    pa.decimal128(38, 10): 10**38,
    pa.decimal256(76, 2): 10**76,
    pa.decimal256(50, 38): 10**50,
    pa.int32(): 2**31,
    pa.int64(): 2**63,
}
"""Types of numbers, and a limit that the absolute value of no count of their steps reaches."""


def test_numbers_of_a_long_list_are_exact_for_every_precision_and_scale() -> None:
    for kind, limit in KINDS.items():
        scale = getattr(kind, "scale", 0)
        counts = [Fraction(text) * 10**scale for text in NUMBERS]
        expected = [n / 10**scale for n in counts if n.denominator == 1 and abs(n) < limit]
        found = members(kind, Literals([], NUMBERS, [], False)).to_pylist()
        assert sorted(map(Fraction, found)) == sorted(expected), kind


LONG: Mapping[str, Callable[[int], str]] = {
    "AND": lambda count: " AND ".join(f"abs(i) > {-n}" for n in range(count)),
    "OR": lambda count: " OR ".join(f"i = {n} AND s <> 'x{n}'" for n in range(count)),
    "BETWEEN": lambda count: " AND ".join(f"i BETWEEN {-n} AND {n + 1000}" for n in range(count)),
    "lists": lambda count: " OR ".join(f"i IN ({n}, {n + 1})" for n in range(count)),
    "nested": lambda count: (
        "(" * count + "i > 0" + "".join(f" AND i > {-n})" for n in range(count))
    ),
}


def test_the_time_for_many_conditions_is_proportional_to_their_number() -> None:
    for name, text in LONG.items():
        few, many = (time_of(text(count)) for count in (500, 4000))
        assert many < 16 * few + 0.3, (name, few, many)


def test_a_filter_may_have_twenty_thousand_conditions_of_a_hundred_characters() -> None:
    name = "s" * 80
    data = pa.table({name: [3, 30_000]})
    text = " AND ".join(f"{name} <> {n + 10_001}" for n in range(20_000))
    assert as_filter(text, data.schema).mask(data).tolist() == [True, False]


def time_of(text: str) -> float:
    """Seconds of this thread's processor for planning and evaluating a condition."""
    start = time.thread_time()
    as_filter(text, DATA.schema).mask(DATA)
    return time.thread_time() - start
