"""Conditions select the rows that pylance selects."""

from __future__ import annotations

from functools import cache

import lance
import pytest

import lance_core
from tests.each_case import each_case
from tests.interop.filter_tables import Rows, here, there, written


@pytest.fixture(scope="module", params=["2.0", "2.2"])
def reference(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> lance.LanceDataset:
    return written(request, tmp_path_factory.mktemp("filters"))


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
fsb = arrow_cast(0x7a7a, 'FixedSizeBinary(2)')
f64 = arrow_cast(1.5, 'Float32')
i32 < arrow_cast('2', 'Int64')
i32 = arrow_cast(1.5, 'Int8')
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
