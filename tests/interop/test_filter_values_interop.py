"""Values of SQL, and conditions of Arrow, are those of pylance."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core.dataset.expressions.filters import as_filter, as_value
from tests.each_case import each_case
from tests.interop.filter_tables import DATA, EVERYTHING, here, written


@pytest.fixture(scope="module", params=["2.0", "2.2"])
def reference(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> lance.LanceDataset:
    return written(request, tmp_path_factory.mktemp("filters"))


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
dec % 2
dec / 3
dec2 - 1
dec + f64
i8 * u64
round(dec)
round(dec, 1)
round(dec2, -1)
round(f64, i8)
trunc(f64)
trunc(f64, 1)
trunc(f16)
abs(f16)
greatest(f64, 1)
coalesce(f32, 1)
nanvl(f32, 7)
gcd(i64, 6)
cbrt(f32)
cot(i16)
i16 << 2
i64 >> 1
u8 << i8
date_part('isodow', tz)
date_part('isoyear', d64)
date_part('nanosecond', tns)
date_part('microsecond', t64)
date_part('epoch', ts)
date_part('hour', dur)
date_trunc('hour', t64)
date_trunc('microsecond', tns)
date_bin(interval '15 minutes', ts)
date_bin(interval '7 days', tns, timestamp '2001-01-01')
to_timestamp(i32)
to_timestamp(dec)
to_timestamp_seconds(dec)
to_timestamp_millis(ts)
to_date(tz)
to_date(i16)
to_unixtime(tz)
from_unixtime(i32, 'Asia/Tokyo')
array_max(li)
array_min(fsl)
cast(i32 as timestamp)
cast(dec as timestamp(0))
cast(d as bigint)
cast(tss as double)
cast(ts as decimal(20, 2))
cast(dec as decimal(5, 1))
cast(dec2 as string)
try_cast(f64 as int)
try_cast(s as double)
try_cast(i64 as tinyint)
try_cast(dec as decimal(3, 1))
arrow_cast(ts, 'Timestamp(Second, Some("UTC"))')
arrow_cast(i16, 'Duration(ms)')
arrow_try_cast(u64, 'Int8')
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
