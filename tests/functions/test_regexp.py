"""Regular expressions have the syntax and the results of Rust's `regex`, which pylance has."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import values

DATA = pa.table(
    {"s": ["abc", "2024-01-05", None, "Zé x\u00a0٣", "aaa"], "p": ["b", "1", "a", "é", None]}
)


@each_case(
    "sql, expected",
    [
        (r"regexp_replace(s, '(\d+)-(\d+)-(\d+)', '$3.$2.$1')", {1: "05.01.2024"}),
        (r"regexp_replace(s, '(\d+)-(\d+)-(\d+)', '\3.\2.\1')", {1: "05.01.2024"}),
        (r"regexp_replace(s, '(?P<y>\d+)-', '${y}/$y')", {1: "2024/202401-05"}),
        (r"regexp_replace(s, '(?<y>\d+)-', '${1}x')", {1: "2024x01-05"}),
        ("regexp_replace(s, '(a)(b)', '$2x')", {0: "c"}),
        ("regexp_replace(s, 'a', '[$0]', 'g')", {0: "[a]bc", 4: "[a][a][a]"}),
        ("regexp_replace(s, 'a', '$$-$-${-${}-$9-$')", {0: "$-$---$bc", 4: "$-$---$aa"}),
        (r"regexp_replace(s, '(a)b', '\\')", {0: r"\\c"}),
        (r"regexp_replace(s, '(a)b', '\x\&\\1')", {0: r"\x\&ac"}),
        ("regexp_replace(s, 'A', 'x', 'i')", {0: "xbc", 4: "xaa"}),
        ("regexp_replace(s, ' a  # a letter', 'x', 'x')", {0: "xbc", 4: "xaa"}),
        ("regexp_replace(s, 'a', NULL)", [None] * 5),
        ("regexp_replace(s, NULL, 'x')", [None] * 5),
        ("regexp_replace(s, 'a', 'x', NULL)", [None] * 5),
        ("regexp_replace(s, p, p || p)", ["abbc", "2024-011-05", None, "Zéé x\u00a0٣", None]),
        (r"regexp_like(s, '\d')", [False, True, None, True, False]),
        (r"regexp_like(s, '^\w\w')", [True, True, None, True, True]),
        (r"regexp_like(s, '\w\W\D*$')", [False, False, None, False, False]),
        (r"regexp_like(s, 'x[\s]')", [False, False, None, True, False]),
        (r"regexp_like(s, '[^\w\s-]')", [False, False, None, False, False]),
        (r"regexp_like(s, '\u00e9|\x{62}')", [True, False, None, True, False]),
        ("regexp_like(s, 'B', 'i')", [True, False, None, False, False]),
        ("regexp_like(s, 'b', NULL)", [True, False, None, False, False]),
        ("regexp_match(s, '(x)|(a)')", [["a"], None, None, ["x"], ["a"]]),
        ("regexp_match(s, 'B', 'i')", [["b"], None, None, None, None]),
        ("regexp_count(s, 'a')", [1, 0, 0, 0, 3]),
        ("regexp_count(s, '^a', 2)", [0, 0, 0, 0, 1]),
        ("regexp_count(s, 'A', 1, 'i')", [1, 0, 0, 0, 3]),
        ("regexp_count(s, '')", [4, 11, 0, 7, 4]),
        ("regexp_count(s, NULL)", [0] * 5),
        ("regexp_count(s, p)", [1, 1, 0, 1, 0]),
        ("regexp_instr(s, 'é| |b')", [2, 0, None, 2, 0]),
        ("regexp_instr(s, 'a', 2)", [0, 0, None, 0, 2]),
        ("regexp_instr(s, 'x(.)', 1, 1, '', 1)", [0, 0, None, 5, 0]),
    ],
)
def test_results(sql: str, expected: dict[int, str] | list[Any]) -> None:
    if isinstance(expected, dict):
        expected = [expected.get(row, text) for row, text in enumerate(DATA["s"].to_pylist())]
    assert values(sql, DATA) == expected


@each_case(
    "sql, error, named",
    [
        ("regexp_like(s, '[')", InvalidInputError, "missing ]"),
        ("regexp_like(s, p || '[')", InvalidInputError, "missing ]"),
        ("regexp_like(s, 'a', 'g')", UnsupportedFeatureError, "regexp_like with the flag 'g'"),
        ("regexp_replace(s, 'a', 'b', 'q')", UnsupportedFeatureError, "the flag 'q'"),
        ("regexp_like(s, '[a-z&&b]')", UnsupportedFeatureError, "&& in brackets"),
        ("regexp_like(s, '[a[bc]]')", UnsupportedFeatureError, "brackets in brackets"),
        ("regexp_like(s, '(?x) a')", UnsupportedFeatureError, "x"),
        ("regexp_like(s, '\\<a')", UnsupportedFeatureError, "regular expression"),
        ("regexp_instr(s, 'a', 0)", InvalidInputError, "start of 1 or more"),
        ("regexp_instr(s, 'a', 1, 2)", UnsupportedFeatureError, "an occurrence"),
        ("regexp_instr(s, 'a', 1, 1, '', 2)", InvalidInputError, "has 0 groups, not a group 2"),
    ],
)
def test_what_cannot_be_evaluated_is_named(sql: str, error: type[Exception], named: str) -> None:
    with pytest.raises(error) as caught:
        as_value(sql, DATA.schema).evaluate(DATA)
    assert named in str(caught.value)
