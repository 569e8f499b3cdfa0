"""Conditions for which pylance selects other rows, on purpose, or fails.

Each difference is listed here with its reason, and held on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import lance
import pytest

from lance_core.errors import InvalidInputError, LanceError, UnsupportedFeatureError
from tests.each_case import each_case
from tests.interop.filter_tables import Rows, here, there, written


@pytest.fixture(scope="module", params=["2.0", "2.2"])
def reference(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> lance.LanceDataset:
    return written(request, tmp_path_factory.mktemp("filters"))


@dataclass(frozen=True)
class Difference:
    """Both implementations answer, differently."""

    text: str
    here: Rows | type[LanceError]
    there: Rows
    why: str


ZERO = "0.0 equals -0.0 everywhere; pylance tells them apart where no literal is involved"
OVERFLOW = "an integer overflow is an error; pylance wraps around"
EXACT = "a moment is compared by its value; pylance first cuts it to the column's unit"
INSTANT = "a literal with an offset is an instant; pylance takes its UTC digits as local time"
REST = "text after the condition is an error; pylance ignores it"
MOVED = "pylance casts the literal back instead of the column"
LATER = "not done here yet"

DIFFERENCES = [
    Difference("nan = nan * 1 + 0", [0, 1, 2, 4, 5], [0, 2, 4, 5], ZERO),
    Difference("i64 + 1 < 0", InvalidInputError, [1, 2], OVERFLOW),
    Difference("i32 + i32 < 0", InvalidInputError, [1, 2], OVERFLOW),
    Difference("-i8 > 0", InvalidInputError, [], OVERFLOW),
    Difference("tns = timestamp(9) '1999-09-09 09:09:09.900000001'", [], [], EXACT),
    Difference("tss = timestamp '2024-02-29 01:02:03.5'", [], [2], EXACT),
    Difference("tss >= timestamp '2024-02-29 01:02:03.5'", [], [2], EXACT),
    Difference("tss = ts", [0, 1, 4], [0, 1, 2, 4, 5], EXACT),
    Difference("tz = timestamp '2020-01-01 12:00:00Z'", [0], [], INSTANT),
    Difference("i32 = 1)", InvalidInputError, [0], REST),
    Difference("i32 = 1; drop table x", InvalidInputError, [0], REST),
    Difference("i32 = 1 ORDER BY i32", InvalidInputError, [0], REST),
    Difference("i32 = 1 LIMIT 1", InvalidInputError, [0], REST),
    Difference("i32 = 1_000", InvalidInputError, [0], REST),
    Difference("cast(dec as int) = 1", [0], [], MOVED),
    Difference("cast(i32 as tinyint) = 1", InvalidInputError, [0], MOVED),
    Difference("li = [1, 2]", UnsupportedFeatureError, [0], LATER),
]


@each_case("difference", DIFFERENCES, ids=lambda difference: difference.text)
def test_a_difference_is_known(difference: Difference, reference: lance.LanceDataset) -> None:
    assert difference.why
    assert there(reference, difference.text) == difference.there
    if isinstance(difference.here, list):
        assert here(difference.text) == difference.here
    else:
        with pytest.raises(difference.here):
            here(difference.text)


BY_VALUE = "a literal that the column's type lacks is compared by its value"
READ = "text is read as the date or time that the column holds"
MORE = "part of SQL that pylance has not"

ONLY_HERE = [
    ("u8 < 300", [0, 1, 2, 4, 5], BY_VALUE),
    ("i8 IN (1, 300)", [0], BY_VALUE),
    ("i8 BETWEEN -300 AND 300", [0, 1, 2, 4, 5], BY_VALUE),
    ("i32 > 0.5", [0, 2, 5], BY_VALUE),
    ("i32 = 1.0", [0], BY_VALUE),
    ("i64 >= -9223372036854775808", [0, 1, 2, 4, 5], BY_VALUE),
    ("dec = 1.5", [0], BY_VALUE),
    ("fsb = X'000102'", [], BY_VALUE),
    ("d = '2020-01-01'", [0], READ),
    ("ts > '2020-01-01'", [0, 2], READ),
    ("tz = '2020-01-01 07:00:00'", [0], READ),
    ("t32 = '00:00:01'", [1], READ),
    ("t32 = time '00:00:01'", [1], MORE),
    ("t32 < t64", [], MORE),
    ("b IS UNKNOWN", [3], MORE),
    ("s ~ '^a'", [0, 2], MORE),
    ("s SIMILAR TO 'a%'", [0, 2], MORE),
    ("+i32 = 1", [0], MORE),
    ("CASE WHEN i32 > 0 THEN b ELSE true END", [0, 1, 2, 3, 4, 5], MORE),
    ("s LIKE 'a!%c%' ESCAPE '!'", [2], MORE),
    ("floor(f64) = 1", [0], MORE),
    ("substr(s, 2, 1) = 'b'", [0], MORE),
    ("trim(s) = 'abc'", [0], MORE),
    ("sign(i16) = -1", [1], MORE),
    ("cast(i32 as varchar) = '1'", [0], MORE),
    ("f64 > dec", [1, 2, 4], "pylance fails on the NaN"),
]


@each_case(("text", "expected", "why"), ONLY_HERE, ids=[t for t, _, _ in ONLY_HERE])
def test_we_answer_where_pylance_refuses(
    text: str, expected: Rows, why: str, reference: lance.LanceDataset
) -> None:
    assert why
    assert str(there(reference, text)).startswith("refused")
    assert here(text) == expected


@each_case(
    "text",
    [
        "i32",
        "null",
        "s = 5",
        "i32 = '1'",
        "b = 1",
        "bin = 'abc'",
        "dur > 0",
        "dec = '1.5'",
        "nope = 1",
        "nope.x = 1",
        "st.nope = 1",
        "st.X = 1",
        "i32.x = 1",
        "`I32` = 1",
        "`S` = 'abc'",
        "b AND i32",
        "NOT s",
        "i32 IS TRUE",
        "i32 > 1 > 2",
        "i32 LIKE 'a'",
        "i32[0] = 1",
        "s[1] = 'a'",
        "-u8 > 0",
        "nope(i32)",
        "i32 =",
        "(i32 = 1",
        "i32 = 'a",
        "`i32 = 1",
        "i32 IN ()",
        "i32 > (SELECT 1)",
        "i32 IN (SELECT 1)",
        "exists(select 1)",
        "i32 = ANY([1, 2])",
        "(s, i32) = ('abc', 1)",
        "d = date '2020-13-01'",
        "d = date 'garbage'",
        "i16 / 0 = 1",
        "1 / i32 > 0",
        "i16 % 0 = 1",
        "cast(f64 as int) = 1",
        "cast(s as int) = 1",
    ],
)
def test_what_pylance_refuses_is_refused(text: str, reference: lance.LanceDataset) -> None:
    assert str(there(reference, text)).startswith("refused")
    with pytest.raises((InvalidInputError, UnsupportedFeatureError)):
        here(text)
