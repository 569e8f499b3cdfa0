"""Conditions select the rows that pylance selects.

Where the two differ on purpose, the difference is listed here with its reason, and held on both
sides.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core
from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.errors import InvalidInputError, LanceError, UnsupportedFeatureError
from tests.each_case import each_case

MINUS_NAN = float(np.array([0xFFF8 << 48], np.uint64).view(np.float64)[0])

DAYS = [(2020, 1, 1), (1969, 12, 31), (2024, 2, 29), None, (1970, 1, 1), (1999, 9, 9)]
STAMPS = [
    (2020, 1, 1, 12),
    (1969, 12, 31),
    (2024, 2, 29, 1, 2, 3, 4),
    None,
    (1970, 1, 1),
    (1999, 9, 9, 9, 9, 9, 900_000),
]
MOMENTS = [None if stamp is None else dt.datetime(*stamp) for stamp in STAMPS]
SECONDS = [None if moment is None else moment.replace(microsecond=0) for moment in MOMENTS]
STRUCT = pa.struct(
    [("x", pa.int32()), ("y", pa.string()), ("in", pa.struct([("z", pa.float64())]))]
)


def decimals(*texts: str | None) -> list[Decimal | None]:
    return [None if text is None else Decimal(text) for text in texts]


def days() -> list[dt.date | None]:
    return [None if day is None else dt.date(*day) for day in DAYS]


COLUMNS: dict[str, pa.Array] = {
    "i8": pa.array([1, -128, 127, None, 0, 5], pa.int8()),
    "i16": pa.array([1, -2, 300, None, 0, 5], pa.int16()),
    "i32": pa.array([1, -2, 2147483647, None, 0, 5], pa.int32()),
    "i64": pa.array([1, -2, 2**63 - 1, None, 0, 5], pa.int64()),
    "u8": pa.array([1, 255, 3, None, 0, 5], pa.uint8()),
    "u16": pa.array([1, 65535, 3, None, 0, 5], pa.uint16()),
    "u32": pa.array([1, 2**32 - 1, 3, None, 0, 5], pa.uint32()),
    "u64": pa.array([1, 2**64 - 1, 3, None, 0, 5], pa.uint64()),
    "f16": pa.array([1.5, -2, math.nan, None, 0, 5], pa.float16()),
    "f32": pa.array([1.5, -0.0, math.nan, None, 0.1, 5], pa.float32()),
    "f64": pa.array([1.5, -0.0, math.nan, None, math.inf, -7.25], pa.float64()),
    "nan": pa.array([MINUS_NAN, -0.0, 1.0, None, 0.0, math.nan], pa.float64()),
    "b": pa.array([True, False, True, None, False, True]),
    "s": pa.array(["abc", "", "a%c_x", None, "Zé", "b\\d"]),
    "ls": pa.array(["abc", "", "a%c_x", None, "Zé", "b"], pa.large_string()),
    "bin": pa.array([b"\x00\x01", b"", b"abc", None, b"\xff", b"zz"]),
    "fsb": pa.array([b"\x00\x01", b"zz", b"ab", None, b"\xff\xff", b"zz"], pa.binary(2)),
    "d": pa.array(days(), pa.date32()),
    "d64": pa.array(days(), pa.date64()),
    "ts": pa.array(MOMENTS, pa.timestamp("us")),
    "tss": pa.array(SECONDS, pa.timestamp("s")),
    "tns": pa.array(MOMENTS, pa.timestamp("ns")),
    "tz": pa.array(MOMENTS, pa.timestamp("us", "America/New_York")),
    "t32": pa.array([0, 1, 86399, None, 5, 6], pa.time32("s")),
    "t64": pa.array([0, 1, 86399 * 10**6, None, 5, 6], pa.time64("us")),
    "dur": pa.array([0, 1, -5, None, 5, 6], pa.duration("us")),
    "dec": pa.array(decimals("1.50", "-2.25", "100", None, "0", "5"), pa.decimal128(10, 2)),
    "dec2": pa.array(decimals("1.5", "-2.2", "100", None, "0", "5"), pa.decimal256(40, 1)),
    "dic": pa.array(["x", "y", "x", None, "z", "x"]).dictionary_encode(),
    # File version 2.0 knows no null structs.
    "st": pa.array(
        [
            {"x": 1, "y": "p", "in": {"z": 1.0}},
            {"x": 2, "y": None, "in": {"z": None}},
            {"x": None, "y": "q", "in": {"z": None}},
            {"x": None, "y": None, "in": {"z": None}},
            {"x": 5, "y": "r", "in": {"z": 9.0}},
            {"x": 5, "y": "abc", "in": {"z": -9.0}},
        ],
        STRUCT,
    ),
    "li": pa.array([[1, 2], [], [3, None], None, [5], [1, 2, 3]], pa.list_(pa.int64())),
    "fsl": pa.array([[1, 2], [0, 0], [3, 4], None, [5, 6], [7, 8]], pa.list_(pa.float32(), 2)),
    "Case": pa.array([1, 2, 3, None, 5, 6]),
    "sp ace": pa.array([1, 2, 3, None, 5, 6]),
    "nl": pa.nulls(6),
}
DATA = pa.table(COLUMNS)
EVERYTHING = DATA
for _name in ("_rowid", "_rowaddr", "_rowoffset"):
    EVERYTHING = EVERYTHING.append_column(_name, pa.array(range(6), pa.uint64()))


@pytest.fixture(scope="module", params=["2.0", "2.2"])
def reference(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> lance.LanceDataset:
    path: Path = tmp_path_factory.mktemp("filters") / "t.lance"
    return lance.write_dataset(DATA, path, data_storage_version=request.param)


Rows = list[int]


def there(reference: lance.LanceDataset, condition: str | pc.Expression) -> Rows | str:
    """The rows that pylance selects, or its complaint."""
    try:
        found = reference.to_table(columns=["i8"], filter=condition, with_row_id=True)
    except BaseException as error:  # a panic in Rust is no Exception
        return f"refused: {error}"
    return list(found["_rowid"].to_pylist())


def here(condition: str | pc.Expression) -> Rows:
    """The rows that we select, from just the columns that the condition asks for."""
    planned = as_filter(condition, EVERYTHING.schema)
    names = dict.fromkeys(path[0] for path in planned.columns)
    return [int(row) for row in np.flatnonzero(planned.mask(EVERYTHING.select(list(names))))]


@cache
def selected(text: str) -> Rows:
    """What `here` selects, the same beside each reference."""
    return here(text)


SAME = r"""
i8 = 1
i8 == 1
i8 <> 1
i8 != 1
i8 < 1
i8 <= 1
i8 > 1
i8 >= 1
1 = i8
5 > i32
300 < i16
i16 = 300
i32 = 2147483647
i32 = -2
i64 = 9223372036854775807
i8 = -128
u8 = 255
u16 = 65535
u32 = 4294967295
u64 = 18446744073709551615
u64 > 9223372036854775807
u64 IN (1, 18446744073709551615)
i32 = 00001
i32 = (1)
i32 IN ((1), (2))
i32 = i64
i32 < u8
u64 > i64
u64 = i64
i64 > f64
i32 > dec
i32 = i32
NULL = i32
i32 = NULL
i32 != NULL
NOT (i32 = NULL)
f64 = 0
f64 = 0.0
f64 = -0.0
f64 = -0
f64 < 0
f64 < 0.0
f64 > 0
f64 >= 0
f64 <= -0.0
f64 > -0.0
f64 > 5
f64 < 5
f64 <> 5
f64 = f64
f64 > 1e308
f64 = 15e-1
f64 = cast('nan' as double)
f64 > f32
f32 = 0.1
f32 < 0.1
f32 = 0
f32 = f64
f16 > 1
f16 = 1.5
f64 IN (0)
f64 IN (-0.0)
f64 IN (1.5)
f64 NOT IN (1.5)
f64 IN (0, 1, 2, 3, 1.5)
f64 NOT IN (0, 1, 2, 3, 1.5)
f32 IN (0.1, 0.2, 0.3, 0.4)
f16 IN (1.5, 2, 3, 4)
f64 BETWEEN 0 AND 5
f64 NOT BETWEEN -1 AND 1
isnan(f64)
NOT isnan(f64)
isnan(f64) OR isnan(f32)
b
NOT b
NOT NOT b
b = true
b = False
b > false
b <> true
b = (i32 = 1)
b IS TRUE
b IS NOT TRUE
b IS FALSE
b IS NOT FALSE
b IS NULL
b IN (true)
b IN (true, false, true, false)
b AND NULL
b OR NULL
(b OR NULL) IS NULL
(b AND NULL) IS NULL
NOT (b AND i32 = 1)
NOT (b OR i32 = 1)
(i32 = 1) = true
i32 = 1 = true
(i32 = 1) IS NULL
(i32 > 1) IS NOT TRUE
i32 > 0 AND s = 'abc' OR b
i32 = 1 OR i32 = 2 OR i32 = 0 OR i32 = -2
NOT i32 = 1
NOT i32 IN (1)
true
false
1 = 1
1 < 2 AND b
NULL IS NULL
i32 IN (1, NULL)
i32 NOT IN (1, NULL)
i32 NOT IN (1)
i32 IN (1, 2, 3, 4, 5)
i32 NOT IN (1, 2, 3, 4, 5)
i32 NOT IN (1, 2, 3, 4, NULL)
i32 IN (NULL)
i32 IN (i64, 2)
1 IN (i32)
'abc' IN (s, 'x')
i32 BETWEEN 0 AND 5
i32 NOT BETWEEN 0 AND 5
i32 BETWEEN 5 AND 1
i32 BETWEEN i8 AND i64
i32 NOT BETWEEN NULL AND 0
i32 NOT BETWEEN 0 AND NULL
i32 IS NULL
i32 IS NOT NULL
nl IS NULL
nl IS NOT NULL
i32 IS DISTINCT FROM 1
i32 IS NOT DISTINCT FROM 1
i32 IS NOT DISTINCT FROM NULL
s = 'abc'
s = "abc"
"s" = 'abc'
s <> 'abc'
s < 'b'
s > 'Z'
s = ''
s = 'it''s'
s = 'b\d'
s > ls
ls = 'abc'
ls IN ('abc', 'x', 'y', 'z')
s IN ('abc', 'x', 'y', 'z', '')
s BETWEEN 'a' AND 'b'
s LIKE 'a%'
s LIKE '%b%'
s LIKE '%c'
s LIKE 'a%c%'
s LIKE '_bc'
s LIKE 'Z_'
s LIKE ''
s LIKE '%'
s LIKE 'ab'
s LIKE 'a.c'
s LIKE 'a\%c%'
s LIKE 'a%c\_x'
s LIKE 'a\bc'
s LIKE 'b\\d'
s LIKE 'abc\'
s LIKE NULL
s NOT LIKE NULL
s NOT LIKE 'a%'
s ILIKE 'A%'
s ILIKE 'zÉ'
s NOT ILIKE 'z%'
ls LIKE 'a%'
dic = 'x'
dic <> 'x'
dic > 'x'
dic IN ('x', 'z')
dic IN ('x', 'q', 'r', 't')
dic NOT IN ('x', 'q', 'r', 't')
dic LIKE 'x%'
dic IS NULL
bin = X'0001'
bin = x'0001'
bin = 0x0001
bin > X'00'
bin IN (X'00', X'0001', X'', X'ff')
bin = fsb
fsb = X'0001'
fsb IN (X'0001', X'7a7a')
fsb IN (X'0000', X'0001', X'7a7a', X'ff00')
d = date '2020-01-01'
d > date '2019-1-1'
d < date '1970-01-01'
d IN (date '2020-01-01')
d IN (date '2020-01-01', NULL)
d IN (date '2020-01-01', date '2020-01-02', date '2020-01-03', date '2020-01-04')
d BETWEEN date '2020-01-01' AND date '2025-01-01'
d64 = date '2020-01-01'
d64 > date '1970-01-01'
d > d64
d > ts
ts > d
ts = timestamp '2020-01-01 12:00:00'
ts = timestamp '2020-01-01T12:00:00'
ts = timestamp '2020-01-01T12:00:00Z'
ts = timestamp '2020-01-01 14:00:00+02:00'
ts = datetime '2020-01-01 12:00:00'
ts = timestamp(3) '2020-01-01 12:00:00'
ts = cast('2020-01-01 12:00:00' as timestamp)
ts > timestamp '2020-01-01'
ts >= date '2020-01-01'
ts > timestamp '2024-02-29 01:02:03.000003'
ts = timestamp '2024-02-29 01:02:03.000004'
ts < timestamp '1970-01-01 00:00:00'
ts BETWEEN timestamp '2020-01-01 00:00:00' AND timestamp '2021-01-01 00:00:00'
ts IN (timestamp '2020-01-01 12:00:00')
ts >= cast(d as timestamp)
ts = tns
tss = timestamp '2020-01-01 12:00:00'
tss = timestamp(0) '2020-01-01 12:00:00'
tss < timestamp '2024-02-29 01:02:03'
tns > timestamp '2020-01-01 00:00:00'
tz = timestamp '2020-01-01 12:00:00'
tz = timestamp '2020-01-01 07:00:00'
tz > cast('2020-01-01 12:00:00' as timestamp)
tz < timestamp '1970-01-01 00:00:00'
tz BETWEEN timestamp '2020-01-01 00:00:00' AND timestamp '2020-01-02 00:00:00'
tz > ts
cast(tz as timestamp) = timestamp '2020-01-01 12:00:00'
t32 = t32
t64 <= t64
dur >= dur
dec > 1
dec = 1
dec IN (1, 2)
dec IN (1, 100, 3, 4)
dec BETWEEN 0 AND 2
dec = cast('1.5' as decimal(10,2))
dec > i32
dec >= i32
dec2 > 1
dec2 > dec
dec + 1 > 2
dec * 2 = 3
dec - dec = 0
dec / 3 > 1
st.x = 1
`st`.`x` = 1
st.`x` = 1
st['x'] = 1
ST.x = 1
st.in.z > 0
st.`in`.z > 0
st['in']['z'] > 0
get_field(st, 'x') = 1
st IS NULL
st.x IS NULL
st.in.z IS NULL
st.x IN (1, 2)
st.x BETWEEN 1 AND 2
st.x + 1 = 2
st.x > i8
st.y = 'p'
st.y = s
st.y LIKE 'p%'
st.y || s = 'pabc'
st.x IS NOT NULL AND st.y IS NOT NULL
li IS NULL
li[0] = 1
li[1] = 1
li[-1] = 5
li[9] IS NULL
fsl IS NULL
fsl[1] > 2
array_length(li) > 1
array_has(li, 3)
NOT array_has(li, 1)
array_contains(li, 5)
array_has_any(li, [1, 5])
array_has_all(li, [1, 2])
Case = 1
case = 1
CASE = 1
`Case` = 1
`sp ace` = 2
I32 = 1
_rowid = 1
_rowid > 2
_rowaddr = 1
_rowoffset = 1
i16 + 1 = 2
i32 + 1 = 2
i32 - 1 = 0
1 - i16 = 0
i16 * -1 = 2
i16 / 2 = 0
i16 / 2 = -1
-i16 / 2 = 1
i16 % 2 = 1
i16 % 7 = -2
-i16 % 2 = -1
f64 % 1 = 0.5
i32 + 0.5 > 1
i32 / 2.0 > 0.4
2 * i16 > 1
(i16 + 2) * 3 > 5
i16 + 2 * 3 > 6
i16 - 2 - 3 = -4
i16 - -1 = 2
- - i16 = 1
-(-i16) = 1
u8 - 2 > 0
u8 + i16 > 100
f64 + f32 > 2
f64 * 2 = 3
d - d = 0
ts - ts = ts - ts
cast(f64 as float) = 1.5
cast(i32 as double) / 4 > 0.2
cast(i32 as string) = '1'
cast(b as int) = 1
cast(d as timestamp) = timestamp '2020-01-01 00:00:00'
cast(ts as date) = date '2020-01-01'
cast(dec as double) > 1
cast(dec as string) = '1.50'
cast(ts as string) = '2020-01-01T12:00:00'
cast(ts as string) = '1999-09-09T09:09:09.900'
cast(d as string) = '2020-01-01'
cast(f64 as string) = '1.5'
cast(tz as string) = '2020-01-01T07:00:00-05:00'
cast(dur as string) > '0'
regexp_match(s, 'a(.)')[1] = 'b'
regexp_match(s, 'a(.)') IS NULL
i32::bigint = 1
coalesce(i32, 9) = 9
coalesce(s, 'none') = 'none'
ifnull(i32, 5) = 5
nvl2(i32, 1, 2) = 2
nullif(i32, 1) IS NULL
greatest(i32, 1) = 1
least(i32, i64) < 0
abs(i16 - 2) < 3
abs(f64) = 1.5
round(f64) = 2
round(f64, 1) = 1.5
trunc(f64) = 1
power(i16, 2) = 4
exp(f64) > 1
ln(f64) > 0
log(f64) > 0
log(2, f64) > 0
log2(f64) > 0
log10(f64) > 0
signum(f64) = 1
iszero(f64)
nanvl(f64, 1.0) = 1
lower(s) LIKE 'a%'
upper(s) = 'ABC'
upper(dic) = 'X'
length(s) = 3
char_length(s) = 2
octet_length(s) = 3
bit_length(s) = 24
starts_with(s, 'ab')
ends_with(s, 'x')
contains(s, '%')
strpos(s, 'c') = 3
strpos(s, 'é') = 2
strpos(s, '') = 1
instr(s, 'b') > 0
regexp_like(s, '^a')
regexp_like(s, '[a-c]+$')
regexp_like(s, 'ABC', 'i')
regexp_match(s, 'a(.)')
NOT regexp_match(s, 'a(.)')
regexp_match(s, 'x') AND b
regexp_replace(s, '[ab]', '') = 'c'
regexp_replace(s, '[abc]', '', 'g') = ''
replace(s, 'a', 'z') = 'zbc'
reverse(s) = 'cba'
left(s, 2) = 'ab'
left(s, -1) = 'ab'
right(s, 2) = 'bc'
right(s, -1) = 'bc'
ltrim(s) = 'abc'
btrim(s, 'ac') = 'b'
rtrim(s, 'x') = 'a%c_'
s || 'x' = 'abcx'
ls || s = 'abcabc'
concat(s, 'x') = 'x'
concat(s, '-', i32) = 'abc-1'
concat_ws('-', s, st.y) = 'abc-p'
repeat(s, 2) = 'abcabc'
is_valid(s)
NOT is_valid(s)
date_part('year', d) = 2020
date_part('month', ts) = 1
date_part('day', ts) = 29
date_part('hour', ts) = 12
date_part('minute', ts) = 2
date_part('second', ts) = 3
date_part('dow', d) = 3
date_part('doy', d) = 1
date_part('week', d) = 1
date_part('quarter', d) = 1
date_part('hour', tz) = 7
date_trunc('day', ts) = timestamp '2020-01-01 00:00:00'
date_trunc('month', ts) = timestamp '2024-02-01 00:00:00'
date_trunc('week', ts) = timestamp '2019-12-30 00:00:00'
date_trunc('hour', ts) = ts
i32 = 1 -- comment
i32 = 1 /* comment */
""".strip("\n").split("\n")


def test_the_corpus_is_large_and_has_no_doubles() -> None:
    assert len(SAME) >= 150
    assert len(set(SAME)) == len(SAME)


@each_case("text", SAME)
def test_a_condition_selects_what_pylance_selects(text: str, reference: lance.LanceDataset) -> None:
    expected = there(reference, text)
    assert selected(text) == expected
    read = lance_core.dataset(reference.uri).to_table(["i8"], filter=text, with_row_id=True)
    assert read["_rowid"].to_pylist() == expected


@dataclass(frozen=True)
class Difference:
    """Both implementations answer, differently."""

    text: str
    here: Rows | type[LanceError]
    there: Rows
    why: str


NAN = "every NaN is one value above all numbers; pylance has NaNs with a minus sign below all"
ZERO = "0.0 equals -0.0 everywhere; pylance tells them apart where no literal is involved"
OVERFLOW = "an integer overflow is an error; pylance wraps around"
EXACT = "a moment is compared by its value; pylance first cuts it to the column's unit"
INSTANT = "a literal with an offset is an instant; pylance takes its UTC digits as local time"
REST = "text after the condition is an error; pylance ignores it"
MOVED = "pylance casts the literal back instead of the column"
LATER = "not done here yet"

DIFFERENCES = [
    Difference("nan > 5", [0, 5], [5], NAN),
    Difference("nan < 0", [], [0], NAN),
    Difference("f64 / 0 > 1", [0, 1, 2, 4], [0, 2, 4], NAN),
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
    Difference("sqrt(f64) > 1", [0, 2, 4, 5], [0, 2, 4], NAN),
    Difference("cast(dec as int) = 1", [0], [], MOVED),
    Difference("cast(i32 as tinyint) = 1", InvalidInputError, [0], MOVED),
    Difference("li = [1, 2]", UnsupportedFeatureError, [0], LATER),
    Difference("'abc' LIKE s", UnsupportedFeatureError, [0], LATER),
    Difference("lpad(s, 5, '*') = '**abc'", UnsupportedFeatureError, [0], LATER),
    Difference("dec % 2 = 0", UnsupportedFeatureError, [2, 4], LATER),
    Difference("try_cast(s as int) IS NULL", UnsupportedFeatureError, [0, 1, 2, 3, 4, 5], LATER),
    Difference("i16 << 1 = 2", UnsupportedFeatureError, [0], LATER),
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
        "i32 & 1 = 1",
        "s ~ 'a'",
        "s SIMILAR TO 'a'",
        "dur > interval '1 second'",
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


VALUES = """
i16 + 1
i8 + i16
f32 + 1
f32 + 1.5
f16 + 1
f32 + f64
f32 * i16
i16 / 2
i16 % 2
f64 / 0
-i16
u16 * 1
dec + 1
dec + dec
dec * dec
dec * 2
dec / 2
d - d
ts - ts
ts + dur
s || 'x'
s || i32
concat(s, i32)
i32 = 1
b AND NULL
i32 IN (1, NULL)
i32 BETWEEN NULL AND 5
coalesce(i32, 7)
coalesce(s, 'none')
nullif(i32, 1)
nvl2(i32, 1, 2)
greatest(i32, 1)
length(s)
length(ls)
abs(i16)
abs(dec)
round(f64)
round(f32)
round(i32)
power(i32, 2)
sqrt(f32)
lower(s)
strpos(s, 'b')
starts_with(s, 'a')
array_length(li)
li[1]
fsl[1]
st
st.x
st.in
st['in']['z']
date_part('year', d)
date_trunc('day', ts)
cast(i32 as double)
cast(d as timestamp)
cast(dec as int)
cast(f32 as double)
i32::bigint
dic
nl
sp ace
""".strip().split("\n")


@each_case("text", VALUES)
def test_a_value_has_pylances_type_and_content(text: str, reference: lance.LanceDataset) -> None:
    expected = reference.to_table(columns={"v": text})["v"]
    value = as_value(text, EVERYTHING.schema)
    assert value.type == expected.type
    names = dict.fromkeys(path[0] for path in value.columns)
    found = value.evaluate(EVERYTHING.select(list(names)))
    # NaN is not equal to itself: compare what is printed.
    assert repr(found.to_pylist()) == repr(expected.to_pylist())


ARROW: list[Any] = [
    pc.field("i32") > 3,
    (pc.field("i32") > 0) & ~pc.field("b") | pc.field("s").is_null(),
    pc.field("s").isin(["abc", "x"]),
    pc.field("s").is_valid(),
    pc.field("ts") > dt.datetime(2020, 1, 1),
    pc.field("d") == pa.scalar(dt.date(2020, 1, 1)),
    pc.field("sp ace") > 1,
    pc.field("bin") == b"abc",
]


@each_case("expression", ARROW, ids=str)
def test_an_arrow_expression_selects_what_pylance_selects(
    expression: pc.Expression, tmp_path: Path
) -> None:
    # pylance hands the schema over as Substrait, which has no words for the other types.
    names = ["i32", "b", "s", "ts", "d", "sp ace", "bin"]
    data = DATA.select(names)
    reference = lance.write_dataset(data, tmp_path / "t.lance", data_storage_version="2.0")
    found = reference.to_table(filter=expression, with_row_id=True)["_rowid"].to_pylist()
    assert here(expression) == found
    mask = as_filter(expression, data.schema).mask(data)
    assert [row for row, fulfilled in enumerate(mask) if fulfilled] == found


def test_arrow_expressions_keep_arrows_nan(tmp_path: Path) -> None:
    """pylance evaluates them as SQL, where NaN lies above all numbers."""
    data = DATA.select(["f64"])
    reference = lance.write_dataset(data, tmp_path / "t.lance", data_storage_version="2.0")
    expression = pc.field("f64") > 0
    assert reference.to_table(filter=expression).num_rows == 3
    assert here(expression) == [0, 4]
