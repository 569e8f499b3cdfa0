"""Translation of Arrow expressions to SQL conditions: supported parts, and unknown ones."""

from __future__ import annotations

import datetime as dt
import decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core.dataset.expressions.arrow_nodes import node_of
from lance_core.dataset.read.sources.prefilter.search_text import conditions_text

LONG, ODD = "n" * 300, "a'\nend: 'equal"
SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("u", pa.uint64()),
        ("f", pa.float32()),
        ("d", pa.decimal128(10, 2)),
        ("s", pa.string()),
        ("fixed", pa.binary(2)),
        ("dictionary", pa.dictionary(pa.int8(), pa.string())),
        ("time", pa.time32("s")),
        ("local", pa.timestamp("s")),
        ("utc", pa.timestamp("s", "UTC")),
        ("twice", pa.int8()),
        ("twice", pa.int8()),
        ("st", pa.struct([("v", pa.int64())])),
        (LONG, pa.int64()),
        (ODD, pa.int64()),
        ("", pa.int64()),
    ]
)
i, u, f, d, s = map(pc.field, "iufds")
NAN = float("nan")
MOMENT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (i == 5, "i = 5"),
        (pc.scalar(5) > i, "i < 5"),
        (i == 5.0, "i = 5"),
        (u != 5, "u != 5"),
        (f >= 0.5, "f >= 0.5 AND f <= inf"),
        (f < 0.5, "f < 0.5 AND f >= -inf"),
        (f != 0.5, "f != 0.5"),
        (d == decimal.Decimal("1.5"), "d = 1.50"),
        (pc.field("fixed") == b"ab", "fixed = b'ab'"),
        (pc.field("time") == dt.time(1), "time = 01:00:00"),
        (pc.field("utc") > MOMENT, "utc > 1970-01-01 00:00:00+00:00"),
        (pc.field("st", "v") == 5, "st.v = 5"),
        (pc.field(LONG) == 5, f"{LONG} = 5"),
        (pc.field("") == 5, "`` = 5"),
        ((i == 5) & ~(s == "a") | i.is_valid(), "(i = 5 AND NOT (s = 'a') OR NOT (i IS NULL))"),
        (i.isin([1, None]), "(i IN (1) IS TRUE OR i IS NULL)"),
        (pc.ends_with(s, "é'"), 'ends_with(s, "é\'")'),
    ],
    ids=str,
)
def test_a_part_with_known_results_becomes_a_condition(
    expression: pc.Expression, text: str
) -> None:
    assert conditions_text([node_of(expression, SCHEMA)]) == text


def test_names_cannot_imitate_other_parts() -> None:
    node = node_of((pc.field(ODD) == 5) & (i == 6), SCHEMA)
    assert conditions_text([node]).endswith("= 5 AND i = 6")


@pytest.mark.parametrize(
    "expression",
    [
        i == 5.5,
        i == 2**40,
        f == 0.1,
        f == NAN,
        d == 1.5,
        i == decimal.Decimal("1.5"),
        i == pa.scalar(None, pa.int32()),
        i == u,
        i + 1 == 5,
        pc.field("dictionary") == "a",
        pc.field("local") == MOMENT,
        pc.field("twice") == 1,
        pc.field(0) == 1,
        pc.field("fixed") > b"a",
        f.is_null(nan_is_null=True),
        f.isin([1.0, 0.0]),
        f.isin([1.0, float("nan")]),
        i.isin([1, 2**40]),
        pc.is_in(i, pa.array([1, None]), skip_nulls=True),
        pc.starts_with(s, "a", ignore_case=True),
        (i == 5).is_null(),
    ],
    ids=str,
)
def test_a_part_without_known_results_is_unknown(expression: pc.Expression) -> None:
    node = node_of((i == 1) & expression, SCHEMA)
    assert conditions_text([node]).replace("i = 1 AND ", "", 1) == str((i == 1) & expression)
