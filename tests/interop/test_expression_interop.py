"""Computed columns have pylance's fields and texts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core

INNER = pa.struct([pa.field("z", pa.int64(), nullable=False)])
STRUCT = pa.struct(
    [
        pa.field("a", pa.int32(), nullable=False, metadata={"of": "a"}),
        pa.field("b", pa.string(), metadata={"of": "b"}),
        pa.field("t", INNER, nullable=False),
    ]
)
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [1, 2]),
    "l": (pa.int64(), [1, 2]),
    "u": (pa.uint8(), [1, 2]),
    "f": (pa.float64(), [1.0, 2.0]),
    "s": (pa.string(), ["a", "b"]),
    "b": (pa.bool_(), [True, False]),
    "d": (pa.date32(), [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]),
    "ts": (pa.timestamp("us"), [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)]),
    "dec": (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("2.00")]),
    "li": (pa.list_(pa.int32()), [[1], [2]]),
    "st": (STRUCT, [{"a": 1, "b": "x", "t": {"z": 1}}, {"a": 2, "b": None, "t": {"z": 2}}]),
    "dic": (pa.dictionary(pa.int32(), pa.string()), ["x", "y"]),
}
"""Each is there as a NOT NULL column and, with an n before its name, as a nullable one."""

FIELDS = """
i; `i`; I; ni; (i); -i; -ni; cast(i as bigint); cast(i as int); cast(ni as string);
i::bigint; i + 1; i + ni; i + l; 1 + i; i % 2; f + 1; f + i; i = 1; i = ni; 1 = i;
i = 1 AND b; b AND nb; b OR nb; NOT b; NOT nb; s LIKE 'a%'; ns LIKE 'a%'; s ILIKE 'A';
i BETWEEN 1 AND 2; i BETWEEN 1 AND ni; i IN (1, 2); i IN (1, NULL); i NOT IN (1, 2);
i IN (1, 2, 3, 4, 5); i IN (1, 2, 3, 4, NULL); ni IN (1, 2, 3, 4, 5); i IN (1, ni);
ni IS NULL; ni IS NOT NULL; b IS TRUE; nb IS TRUE; nb IS NOT TRUE; nb IS FALSE;
coalesce(ni, 1); coalesce(ni, i); coalesce(i, ni); coalesce(ni, ni, i); ifnull(ni, 1);
nvl(ni, 1); nvl2(ni, 1, 2); nvl2(ni, i, ni); nullif(i, 1); abs(i); round(f); round(i);
round(nf); trunc(f); sqrt(f); power(i, 2); ln(f); isnan(f); iszero(f); nanvl(f, 1.0);
lower(s); length(s); octet_length(s); starts_with(s, 'a'); starts_with(ns, 'a');
ends_with(s, 'a'); contains(s, 'a'); strpos(s, 'a'); regexp_like(s, 'a');
regexp_like(ns, 'a'); regexp_match(s, 'a'); regexp_replace(s, 'a', 'b');
regexp_match(s, '(a)|(b)'); replace(s, 'a', 'b'); reverse(s); concat(s, s);
concat_ws('-', s, s); repeat(s, 2); s || s; s || ns; s || i; date_part('year', d);
date_part('hour', nts); date_trunc('day', ts); array_length(li); array_has(li, 1); li[1];
is_valid(ns); greatest(i, i); i IS DISTINCT FROM ni; i IS NOT DISTINCT FROM 1; st.a; nst.a;
st.b; st.t; st.t.z; nst.t.z; st['a']; `st`.`a`; get_field(st, 'a'); get_field(nst, 't');
st.a + 1; nst.a = 1; -st.a; cast(st.a as bigint); st; `st`; nst; li; `li`; dic; `dic`;
dic = 'x'; cast(dic as string); dec + 1; dec * 2; dec; _rowid; _rowaddr; _rowoffset;
cast(d as timestamp); ts; cast(f as string); -(i + ni); (i = 1) = b; NOT (i = ni);
b AND true; b OR false; -i + 1; i + i + 1; abs(i) + 1; u + 1; u + 1 + 1;
array_length(li) + 1; dec / dec; dec * dec;
(i + 1) + i; i + (1);
"""


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    fields, arrays = [], []
    for name, (kind, values) in TYPES.items():
        for prefix in ("", "n"):
            given = [values[0], None] if prefix else values
            metadata = {"of": prefix + name}
            fields.append(pa.field(prefix + name, kind, nullable=bool(prefix), metadata=metadata))
            arrays.append(pa.array(given, kind))
    path: Path = tmp_path_factory.mktemp("fields") / "t.lance"
    schema = pa.schema(fields, metadata={"of": "table"})
    lance.write_dataset(pa.Table.from_arrays(arrays, schema=schema), path)
    return str(path)


def test_a_computed_column_has_pylances_field_and_values(uri: str) -> None:
    ours, theirs = lance_core.dataset(uri), lance.dataset(uri)
    for text in filter(None, map(str.strip, FIELDS.split(";"))):
        scanner = ours.scanner(columns={"x": text})
        found, expected = scanner.to_table(), theirs.to_table(columns={"x": text})
        assert found.schema.equals(expected.schema, check_metadata=True), text
        assert scanner.projected_schema.equals(found.schema, check_metadata=True), text
        assert found.equals(expected), text


def floats(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """Of all sizes, many of them where the way of writing changes."""
    parts = [
        rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64),
        10 ** rng.uniform(-8, 18, count) * rng.choice([-1, 1], count),
        np.round(10 ** rng.uniform(-8, 18, count)),
        rng.integers(1, 10**6, count) * 10.0 ** rng.integers(-12, 14, count),
        10.0 ** np.arange(-30, 30),
        np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1000000000000000.5]),
    ]
    return np.concatenate(parts)


def texts_of_times() -> list[pa.Array]:
    rng = np.random.default_rng(13)
    arrays = []
    for unit, scale in [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)]:
        # Up to 2037: Arrow knows no later changes of the clock.
        seconds = rng.integers(-9 * 10**9, 2 * 10**9, 500) * scale
        counts = seconds + rng.integers(0, scale, 500) * rng.integers(0, 2, 500)
        moments = pa.array(counts, mask=rng.random(500) < 0.1)
        zones = (None, "UTC", "America/New_York", "Europe/London", "+05:30", "-00:30")
        kinds = [*(pa.timestamp(unit, zone) for zone in zones), pa.duration(unit)]
        arrays.extend(moments.cast(kind) for kind in kinds)
        of_day = pa.array(rng.integers(0, 86400 * scale, 500))
        is_short = unit in ("s", "ms")
        time = pa.time32(unit) if is_short else pa.time64(unit)
        arrays.append((of_day.cast(pa.int32()) if is_short else of_day).cast(time))
    days = rng.integers(-4 * 10**6, 10**7, 500)
    arrays.append(pa.array(days.astype(np.int32)).cast(pa.date32()))
    arrays.append(pa.array(days * 86_400_000).cast(pa.date64()))
    arrays.append(pa.array([-(2**63), 2**63 - 1, 0]).cast(pa.duration("us")))
    return arrays


def test_a_value_as_text_is_written_as_by_pylance(tmp_path: Path) -> None:
    values = floats(np.random.default_rng(13), 1000)
    with np.errstate(over="ignore", invalid="ignore"):
        singles = values.astype(np.float32)
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    arrays = [pa.array(values), pa.array(singles), pa.array(halves), *texts_of_times()]
    for number, array in enumerate(arrays):
        path = tmp_path / f"{number}.lance"
        lance.write_dataset(pa.table({"c": array}), path)
        columns = {"x": "cast(c as string)"}
        expected = lance.dataset(str(path)).to_table(columns=columns)
        assert lance_core.dataset(path).to_table(columns=columns).equals(expected), array.type
