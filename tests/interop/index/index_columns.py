"""Columns of all types that have scalar indices, and conditions that indices answer or not."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

BTREE, BITMAP, ZONEMAP = "BTREE", "BITMAP", "ZONEMAP"
BLOOMFILTER, NGRAM, LABEL_LIST = "BLOOMFILTER", "NGRAM", "LABEL_LIST"
SORTED = frozenset({BTREE, BITMAP})
ORDERED = SORTED | {ZONEMAP}
HASHED = ORDERED | {BLOOMFILTER}
NOTHING: frozenset[str] = frozenset()

SIZES = {BTREE: "zone_size", ZONEMAP: "rows_per_zone", BLOOMFILTER: "number_of_items"}
"""The parameter of a kind for the rows of a page or zone."""


Literals = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """A type, some of its values, ascending, and SQL text for three of them that ascend, too.

    ``casts``: the text for pylance, which has no other literals of the type.
    """

    type: pa.DataType
    kinds: frozenset[str]
    values: Sequence[Any]
    literals: Literals
    casts: Literals | None = None

    def rows(self, count: int, chance: np.random.Generator) -> pa.Array:
        """``count`` of the values, some of them null."""
        picked = chance.integers(-1, len(self.values), count)
        return pa.array([None if at < 0 else self.values[at] for at in picked], self.type)


class Condition(NamedTuple):
    """The text of a filter, that for pylance, and the kinds that answer it or a part of it."""

    text: str
    pylance: str
    kinds: frozenset[str]


def _cast(type_: str, *numbers: object) -> Literals:
    first, second, third = (f"arrow_cast({number}, '{type_}')" for number in numbers)
    return first, second, third


_FLOATS = (float("-inf"), -2.5, -1.0, -0.0, 0.0, 1.0, 2.5, float("inf"), float("nan"), -math.nan)
_WORDS = ("", "a", "abc", "abcdef", "abd", "brown fox", "quick brown", "straße", "łódź x")
_BYTES = (b"", b"\0", b"ab", b"abc", b"b\xff", b"\xff\0")
_NUMBERS = (-7, -1, 0, 1, 3, 50, 100, 127)
_UNSIGNED = (0, 1, 3, 50, 200, 255)
_TICKS = (0, 1, 2_000, 3_600, 50_000, 86_399)
_MOMENTS = (-5, 0, 1, 2_000, 50_000, 86_400)
_TEXT_LITERALS = ("'a'", "'abc'", "'brown fox'")
_BYTE_LITERALS = ("x'00'", "x'6162'", "x'62ff'")
_TEXTS = HASHED | {NGRAM}
_DAY = dt.date(1970, 1, 1)
_DAYS = tuple(_DAY + dt.timedelta(number) for number in (-3, 0, 1, 20, 400, 20_000))
_AMOUNTS = tuple(decimal.Decimal(number) for number in (-30, -1, 0, 1, 2, 400))
_DAY_LITERALS = ("date '1970-01-01'", "date '1970-01-21'", "date '1971-02-05'")
_MOMENT_LITERALS: Literals = (
    "timestamp '1970-01-01 00:00:00'",
    "timestamp '1970-01-01 00:33:20'",
    "timestamp '1970-01-01 13:53:20'",
)
_SMALL_MOMENTS = (-2_000_000_000, -5, 0, 1, 2_000, 50_000, 5_000_000_000)
_SMALL_LITERALS = (
    "timestamp '1969-12-31 23:59:58'",
    "timestamp '1970-01-01 00:00:00'",
    "timestamp '1970-01-01 00:00:05'",
)


def _whole(type_: pa.DataType, values: Sequence[int], *literals: int) -> IndexedColumn:
    first, second, third = map(str, literals)
    return IndexedColumn(type_, HASHED, values, (first, second, third))


def _moments(type_: pa.DataType) -> IndexedColumn:
    return IndexedColumn(type_, HASHED, _MOMENTS, _MOMENT_LITERALS)


COLUMNS = {
    "i8": _whole(pa.int8(), (-128, *_NUMBERS), -1, 3, 100),
    "i16": _whole(pa.int16(), (-(2**15), *_NUMBERS, 2**15 - 1), -1, 3, 2**15 - 1),
    "i32": _whole(pa.int32(), (-(2**31), *_NUMBERS, 2**31 - 1), -(2**31), 3, 100),
    "i64": _whole(pa.int64(), (-(2**63), *_NUMBERS, 2**63 - 1), -1, 3, 2**63 - 1),
    "u8": _whole(pa.uint8(), _UNSIGNED, 1, 50, 200),
    "u16": _whole(pa.uint16(), (*_UNSIGNED, 2**16 - 1), 1, 50, 2**16 - 1),
    "u32": _whole(pa.uint32(), (*_UNSIGNED, 2**32 - 1), 1, 50, 2**32 - 1),
    "u64": _whole(pa.uint64(), (*_UNSIGNED, 2**63 - 1), 1, 50, 255),
    "f16": IndexedColumn(pa.float16(), ORDERED, _FLOATS, ("-1.0", "0.0", "2.5")),
    "f32": IndexedColumn(pa.float32(), HASHED, _FLOATS, ("-1.0", "0.0", "2.5")),
    "f64": IndexedColumn(pa.float64(), HASHED, _FLOATS, ("-1.0", "0.0", "2.5")),
    "bool": IndexedColumn(pa.bool_(), ORDERED, (False, True), ("false", "true", "true")),
    "text": IndexedColumn(pa.string(), _TEXTS, _WORDS, _TEXT_LITERALS),
    "large_text": IndexedColumn(pa.large_string(), _TEXTS, _WORDS, _TEXT_LITERALS),
    "binary": IndexedColumn(pa.binary(), HASHED, _BYTES, _BYTE_LITERALS),
    "large_binary": IndexedColumn(pa.large_binary(), HASHED, _BYTES, _BYTE_LITERALS),
    "fixed_binary": IndexedColumn(
        pa.binary(2), ORDERED, (b"\0\0", b"\0b", b"ab", b"b\xff"), ("x'0062'", "x'6162'", "x'62ff'")
    ),
    "decimal128": IndexedColumn(pa.decimal128(10, 2), ORDERED, _AMOUNTS, ("-1", "1", "2")),
    "decimal256": IndexedColumn(pa.decimal256(50, 2), ORDERED, _AMOUNTS, ("-1", "1", "2")),
    "date32": IndexedColumn(pa.date32(), HASHED, _DAYS, _DAY_LITERALS),
    "date64": IndexedColumn(pa.date64(), HASHED, _DAYS, _DAY_LITERALS),
    "time32": IndexedColumn(
        pa.time32("s"),
        HASHED,
        _TICKS,
        ("time '00:00:01'", "time '00:33:20'", "time '13:53:20'"),
        _cast("Time32(Second)", "'00:00:01'", "'00:33:20'", "'13:53:20'"),
    ),
    "time64": IndexedColumn(
        pa.time64("us"),
        HASHED,
        _TICKS,
        ("time '00:00:00.000001'", "time '00:00:00.002'", "time '00:00:00.05'"),
        _cast("Time64(Microsecond)", "'00:00:00.000001'", "'00:00:00.002'", "'00:00:00.05'"),
    ),
    "ts_s": _moments(pa.timestamp("s")),
    "ts_ms": IndexedColumn(pa.timestamp("ms"), HASHED, _SMALL_MOMENTS, _SMALL_LITERALS),
    "ts_us": IndexedColumn(pa.timestamp("us"), HASHED, _SMALL_MOMENTS, _SMALL_LITERALS),
    "ts_utc": _moments(pa.timestamp("s", "UTC")),
    "ts_ns": IndexedColumn(pa.timestamp("ns"), HASHED, _SMALL_MOMENTS, _SMALL_LITERALS),
    "ts_zone": IndexedColumn(
        pa.timestamp("s", "Europe/Warsaw"),
        HASHED,
        _MOMENTS,
        tuple(f"{one[:-1]}Z'" for one in _MOMENT_LITERALS),
        _cast('Timestamp(Second, Some("Europe/Warsaw"))', 0, 2_000, 50_000),
    ),
    "duration": IndexedColumn(
        pa.duration("us"), ORDERED, _MOMENTS, _cast("Duration(Microsecond)", 0, 2_000, 50_000)
    ),
    "list": IndexedColumn(
        pa.list_(pa.int32()),
        frozenset({LABEL_LIST}),
        ([], [1], [1, 2], [2, 3, 2], [None, 1], [None]),
        ("1", "2", "9"),
    ),
    "large_list": IndexedColumn(
        pa.large_list(pa.string()),
        frozenset({LABEL_LIST}),
        ([], ["a"], ["a", "b"], ["b", "ccc"], [None, "a"]),
        ("'a'", "'b'", "'z'"),
    ),
}
"""By name; `MEMBERS` are stored as members of structs, too."""

MEMBERS = {"i64": "outer.i64", "text": "outer.inner.text", "list": "outer.list"}

OLD_TYPES = ("i32", "i64", "u8", "f32", "f64", "bool", "text", "binary", "date32", "ts_us", "list")
"""The types of tables of version 0.1."""


def paths(kind: str) -> dict[str, IndexedColumn]:
    """The columns that accept a kind of index, by the path of their field."""
    flat = {name: one for name, one in COLUMNS.items() if kind in one.kinds}
    return flat | {MEMBERS[name]: one for name, one in flat.items() if name in MEMBERS}


def table_of(names: Sequence[str], start: int, count: int, version: str) -> pa.Table:
    """Rows of the columns at paths ``names``, with ``row``, their numbers, and ``few``.

    Files of versions before 2.1 do not store which structs are null.
    """
    chance = np.random.default_rng(start + 1)
    numbers = np.arange(start, start + count)
    found = {"row": pa.array(numbers), "few": pa.array(numbers * 7 % 11)}
    found |= {name: COLUMNS[name].rows(count, chance) for name in names if name in COLUMNS}
    members = {path: COLUMNS[n].rows(count, chance) for n, path in MEMBERS.items() if path in names}
    if members:
        is_null = pa.array((numbers % 13 == 5) & (version >= "2.1"))
        inner = {p.rpartition(".")[2]: v for p, v in members.items() if ".inner." in p}
        fields = {p.rpartition(".")[2]: v for p, v in members.items() if ".inner." not in p}
        if inner:
            fields["inner"] = pa.StructArray.from_arrays([*inner.values()], [*inner])
        outer = pa.StructArray.from_arrays([*fields.values()], [*fields], mask=is_null)
        found["outer"] = outer
    return pa.table(found)


def conditions(path: str, column: IndexedColumn) -> Iterator[Condition]:
    """The filters of a column; ``few`` is another column with an index."""
    forms = _FORMS
    if pa.types.is_boolean(column.type):
        forms = (*_FORMS, *_BOOLEAN_FORMS)
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        forms = (*_FORMS, *_TEXT_FORMS)
    elif LABEL_LIST in column.kinds:
        forms = _LIST_FORMS
    # This library evaluates the function arrow_cast for each row, so that no index answers.
    is_literal = "arrow_cast" not in column.literals[0]
    for text, kinds in forms:
        texts = [
            text.format(v=path, a=low, b=middle, c=high)
            for low, middle, high in (column.literals, column.casts or column.literals)
        ]
        yield Condition(texts[0], texts[1], kinds if is_literal else NOTHING)


_Forms = tuple[tuple[str, frozenset[str]], ...]

_FORMS: _Forms = (
    ("{v} = {b}", HASHED),
    ("{v} IN ({a}, {c})", HASHED),
    ("{v} IN ({a}, {b}, {c}, {b}, {a})", HASHED),
    ("{v} = {a} OR {v} IS NULL", HASHED),
    ("{v} < {b}", ORDERED),
    ("{v} <= {b}", ORDERED),
    ("{v} > {b}", ORDERED),
    ("{v} >= {c}", ORDERED),
    ("{v} BETWEEN {a} AND {b}", ORDERED),
    ("{v} > {a} AND {v} < {c}", ORDERED),
    ("{v} IS NULL", HASHED),
    ("{v} IS NOT NULL", SORTED),
    ("{v} != {b}", SORTED),
    ("{v} NOT IN ({a}, {b})", SORTED),
    ("NOT ({v} = {a})", SORTED),
    ("NOT ({v} < {b})", ORDERED),
    ("NOT ({v} BETWEEN {a} AND {b})", ORDERED),
    ("{v} = {b} AND row > 30", HASHED),
    ("{v} > {a} AND few = 3", ORDERED),
    ("{v} = {b} OR few = 3", HASHED),
    ("NOT ({v} = {b} AND few > 2)", SORTED),
    ("NOT ({v} > {a} OR few > 7)", ORDERED),
    ("({v} = {a} OR {v} = {c}) AND (few < 4 OR {v} IS NULL)", HASHED),
    ("{v} = {b} OR row < 20", NOTHING),
    ("{v} = NULL", NOTHING),
    ("{v} IN ({a}, NULL)", NOTHING),
    ("{v} IS NOT DISTINCT FROM {b}", NOTHING),
)

_BOOLEAN_FORMS: _Forms = (
    ("{v}", SORTED),
    ("NOT {v}", SORTED),
    ("{v} IS TRUE", SORTED),
    ("{v} IS FALSE", SORTED),
    ("{v} IS NOT TRUE", NOTHING),
    ("{v} AND few = 3", SORTED),
)

_TEXT_FORMS: _Forms = (
    ("starts_with({v}, 'ab')", ORDERED),
    ("starts_with({v}, 'quick')", ORDERED | {NGRAM}),
    ("{v} LIKE 'abc%'", ORDERED | {NGRAM}),
    ("{v} LIKE 'ab%f'", ORDERED),
    ("{v} LIKE 'ab_'", ORDERED),
    ("{v} LIKE 'abc'", HASHED),
    ("{v} LIKE '%rown%'", frozenset({NGRAM})),
    ("{v} NOT LIKE 'ab%'", NOTHING),
    ("contains({v}, 'brown')", frozenset({NGRAM})),
    ("contains({v}, 'own f') AND few > 3", frozenset({NGRAM})),
    ("contains({v}, 'raß')", NOTHING),
    ("contains({v}, 'b')", NOTHING),
    ("NOT contains({v}, 'brown')", NOTHING),
    ("contains({v}, 'brown') OR few = 3", frozenset({NGRAM})),
    ("regexp_match({v}, 'bro.n fo') IS NOT NULL", frozenset({NGRAM})),
    ("{v} = ''", HASHED),
)

_LISTED = frozenset({LABEL_LIST})
_LIST_FORMS: _Forms = (
    ("array_has({v}, {a})", _LISTED),
    ("array_contains({v}, {c})", _LISTED),
    ("list_contains({v}, {b})", _LISTED),
    ("array_has_any({v}, [{a}, {b}])", _LISTED),
    ("array_has_all({v}, [{a}, {b}])", _LISTED),
    ("NOT array_has({v}, {a})", _LISTED),
    ("NOT array_has_any({v}, [{a}, {c}])", _LISTED),
    ("NOT array_has_all({v}, [{a}, {b}])", _LISTED),
    ("array_has({v}, {a}) AND few > 3", _LISTED),
    ("array_has({v}, {b}) OR few = 3", _LISTED),
    ("NOT (array_has({v}, {b}) OR few > 3)", _LISTED),
    ("{v} IS NULL", NOTHING),
    ("{v} IS NOT NULL AND few < 5", NOTHING),
)
