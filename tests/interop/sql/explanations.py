"""Why an expression is something else here than in pylance: rules for the listed differences.

Each rule names the row of `sql_differences.DIFFERENCES`, from which the reference page is made, by
the beginning of its example.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scripts import sql_differences
from tests.interop.sql.evaluate import Refusal
from tests.interop.sql.findings import Finding
from tests.interop.sql.reference import UNKNOWN, agrees, expected, moments_compared


@dataclass(frozen=True)
class Rule:
    """``row``: how the example of the difference begins; ``matches``: which rows it explains."""

    row: str
    matches: Callable[[Finding], bool]


def explanation(finding: Finding) -> str | None:
    """The example of the difference that explains a finding, None if none does."""
    return next((rule.row for rule in RULES if rule.matches(finding)), None)


_PLANS = ("Error during planning", "Unsupported data type", "Unsupported argument")


def _planned(value: Any) -> bool:
    if not isinstance(value, Refusal):
        return False
    # Some plans fail only when rows are read.
    return value.is_planned or any(part in value.text for part in _PLANS)


def _is_more(finding: Finding) -> bool:
    """pylance has no plan; the value here is that of the reference, if there is one."""
    if not _planned(finding.there) or isinstance(finding.here, Refusal):
        return False
    reference = expected(finding.case.text, finding.arguments)
    return reference is UNKNOWN or agrees(finding.here, reference)


def _is_nan(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and value[0] == "NaN"


def _has(finding: Finding, *parts: str) -> bool:
    return any(part in finding.case.text for part in parts)


def _is_float(value: Any) -> bool:
    return isinstance(value, str) and value not in ("inf", "-inf")


def _are_near(finding: Finding, digits: float) -> bool:
    try:
        here, there = float(finding.here), float(finding.there)
    except (TypeError, ValueError):
        return False
    return abs(here - there) <= digits * max(abs(here), abs(there))


def _text_of(value: Any) -> str:
    return value.text if isinstance(value, Refusal) else ""


def _plain(kind: pa.DataType | None) -> str:
    return str(kind).replace("string_view", "string").replace("large_string", "string")


def _only_types(finding: Finding) -> bool:
    """True if the values are equal, and only the types differ."""
    return bool(finding.here == finding.there) and None not in finding.types


def _kinds(finding: Finding, here: str, there: str) -> bool:
    """True if the names of both types begin so."""
    return str(finding.types[0]).startswith(here) and str(finding.types[1]).startswith(there)


def _is_call(finding: Finding, *names: str) -> bool:
    return finding.case.text.startswith(tuple(f"{name}(" for name in names))


def _is_old_or_far(finding: Finding) -> bool:
    """True if nanoseconds do not hold a timestamp, or dates become another unit."""
    return _has(finding, "x_date", "x_ts_", "x_tz_", "y_date", "y_ts_", "y_tz_")


def _is_exact_moment(finding: Finding) -> bool:
    """True for a comparison of dates and timestamps whose value here is the exact one."""
    if not isinstance(finding.here, bool) or not _is_old_or_far(finding):
        return False
    reference = moments_compared(finding.case.text, finding.arguments)
    return reference is UNKNOWN or finding.here is reference


def _is_exact_number(finding: Finding) -> bool:
    """True for a comparison of a float and a decimal whose value here is the exact one."""
    if isinstance(finding.here, Refusal) or not (_has(finding, "_f") and _has(finding, "_d")):
        return False
    reference = expected(finding.case.text, finding.arguments)
    return (finding.here is reference) or (reference is UNKNOWN and finding.there is not None)


def _is_exact_decimal(finding: Finding) -> bool:
    """True for a comparison of decimals that pylance refuses and whose value here is exact."""
    if isinstance(finding.here, Refusal) or not isinstance(finding.there, Refusal):
        return False
    return bool(finding.here is expected(finding.case.text, finding.arguments))


_RANGES = ("exceeds the representable", "Overflow happened", "out of range", "overflow")
_CASTS = ("Cannot cast", "Error parsing")
_RANKS = ("coalesce", "greatest", "least", "nullif", "ifnull", "nvl")

RULES: tuple[Rule, ...] = (
    Rule(
        "text functions of dictionaries",
        lambda f: _only_types(f) and _plain(f.types[0]) == _plain(f.types[1]),
    ),
    Rule(
        "`coalesce`, `nullif` of a dictionary",
        lambda f: _only_types(f) and str(f.types[1]).startswith("dictionary"),
    ),
    Rule("`sqrt(-1)`", lambda f: _is_nan(f.here) and _is_nan(f.there)),
    Rule("integer overflow", lambda f: "overflow" in _text_of(f.here)),
    Rule(
        "`log(x)`",
        lambda f: _is_call(f, "log") and _are_near(f, 1e-7 if "_f" in f.case.text else 1e-15),
    ),
    Rule(
        "functions of numbers",
        lambda f: (
            f.case.subject.endswith("()") and _are_near(f, 1e-7 if "_f32" in f.case.text else 1e-15)
        ),
    ),
    Rule("`log(f16)`", lambda f: _has(f, "_f16") and _are_near(f, 1e-2)),
    Rule("`trunc(price)`", lambda f: _is_call(f, "trunc") and _kinds(f, "decimal", "double")),
    Rule(
        "`trunc(i32, -1)`", lambda f: _kinds(f, "double", "float") and f.case.subject.endswith("()")
    ),
    Rule("`trunc(x, 300)`", lambda f: _is_call(f, "trunc", "round") and f.there in ("inf", "-inf")),
    Rule(
        "`power(price, 2)`",
        lambda f: _is_call(f, "power", "pow") and _kinds(f, "double", "decimal"),
    ),
    Rule(
        "`power(x, 0)`",
        lambda f: _is_call(f, "power", "pow") and f.here is None and f.there == "1.0",
    ),
    Rule(
        "`date_trunc`, `date_bin` of dates",
        lambda f: _is_call(f, "date_trunc", "datetrunc", "date_bin") and "[ns" in str(f.types[1]),
    ),
    Rule(
        "`date_trunc('minute', tz)`",
        lambda f: "'minute'" in f.case.text and "_tz_ny" in f.case.text,
    ),
    Rule(
        "`date_trunc`, `date_bin` before 1677",
        lambda f: (
            _is_call(f, "date_trunc", "datetrunc", "date_bin")
            and _is_old_or_far(f)
            and any(isinstance(v, int) and v < 0 for v in f.arguments.values())
        ),
    ),
    Rule(
        "`to_timestamp(x)` of NaN",
        lambda f: _is_call(f, "to_timestamp") and "not in range" in _text_of(f.here),
    ),
    Rule(
        "`date_trunc`, `date_bin` before 1677",
        lambda f: (
            _is_call(f, "to_char", "date_format", "date_part", "datepart")
            and isinstance(f.there, Refusal)
        ),
    ),
    Rule("`cardinality(nested)`", lambda f: _is_call(f, "cardinality")),
    Rule("`array_distinct([-0.0", lambda f: _has(f, "_distinct(x_fours)")),
    Rule(
        "`array_max` of nested",
        lambda f: (
            _is_call(f, "array_max", "list_max", "array_min", "list_min")
            and "of list" in _text_of(f.here)
        ),
    ),
    Rule(
        "`make_date` of a year",
        lambda f: _is_call(f, "make_date") and "is not a date" in _text_of(f.here),
    ),
    Rule(
        "`x / 0`",
        lambda f: "by zero" in _text_of(f.here) and f.there is None,
    ),
    Rule(
        "decimals: a product or quotient",
        lambda f: (
            f.case.subject in ("*", "/", "%")
            and _kinds(f, "decimal", "decimal")
            and f.types[0] != f.types[1]
        ),
    ),
    Rule(
        "decimals: `a + 1` of 38 digits",
        lambda f: (
            f.case.subject in ("+", "-", "*", "/", "negative")
            and any(part in _text_of(f.here) for part in ("digits", "does not fit"))
        ),
    ),
    Rule(
        "text as decimal",
        lambda f: (
            f.case.subject.startswith("cast to decimal") and "cannot be parsed" in _text_of(f.here)
        ),
    ),
    Rule(
        "a cast of a dictionary",
        lambda f: _has(f, "cast(x_dict") and any(part in _text_of(f.there) for part in _CASTS),
    ),
    Rule(
        "`CAST(i AS binary)`",
        lambda f: (
            f.case.subject == "cast to binary" and "cannot be cast to binary" in _text_of(f.here)
        ),
    ),
    Rule(
        "decimals: a product or quotient",
        lambda f: f.case.subject in ("*", "/") and _has(f, "_d") and isinstance(f.there, Refusal),
    ),
    Rule(
        "`to_timestamp(x)` of NaN",
        lambda f: _is_call(f, "to_timestamp") and "does not fit" in _text_of(f.here),
    ),
    Rule(
        "`CAST(price AS bigint)`",
        lambda f: (
            f.case.subject.startswith("cast to") and _has(f, "_d76") and "CAST" in _text_of(f.here)
        ),
    ),
    Rule(
        "`CAST(list AS string)`",
        lambda f: (
            f.case.subject == "cast to string" and "cannot be cast to string" in _text_of(f.here)
        ),
    ),
    Rule("`CAST(f16 AS boolean)`", lambda f: _has(f, "x_f16 as boolean")),
    Rule(
        "`f = g` with 0.0 and -0.0",
        lambda f: "-0.0" in f.arguments.values() and not isinstance(f.here, Refusal),
    ),
    Rule(
        "arithmetic of float32",
        lambda f: f.case.subject in ("+", "-", "*", "/", "%") and _kinds(f, "double", "float"),
    ),
    Rule("`ifnull` of decimals", lambda f: _kinds(f, "decimal", "double")),
    Rule(
        "dates and timestamps that nanoseconds do not hold",
        lambda f: _is_old_or_far(f) and any(part in _text_of(f.there) for part in _RANGES),
    ),
    Rule(
        "a timestamp that nanoseconds do not hold beside",
        lambda f: _is_old_or_far(f) and "out of bounds" in _text_of(f.here),
    ),
    Rule("`seconds = timestamp", _is_exact_moment),
    Rule("a float compared with a decimal", _is_exact_number),
    Rule("`us - seconds`", lambda f: _is_call(f, *_RANKS) and _kinds(f, "timestamp", "timestamp")),
    Rule(
        "`us - seconds`",
        lambda f: f.case.subject == "dates" and _kinds(f, "timestamp", "timestamp"),
    ),
    Rule(
        "`ifnull` of decimals",
        lambda f: _is_call(f, "ifnull", "nvl") and str(f.types[1]) == "string",
    ),
    Rule("`nvl2(a", lambda f: _is_call(f, "nvl2") and f.types[0] != f.types[1]),
    Rule("`power(0, -1)`", lambda f: "zero raised" in _text_of(f.there)),
    Rule(
        "decimals: a product or quotient",
        lambda f: (
            f.case.subject in "+-*/%"
            and (_kinds(f, "decimal", "decimal") or _has(f, "_d"))
            and not isinstance(f.here, Refusal)
            and (f.types[0] != f.types[1] or isinstance(f.there, Refusal))
        ),
    ),
    Rule(
        "`log(f16)`", lambda f: _has(f, "_f16") and _only_types(f) and _kinds(f, "double", "half")
    ),
    Rule("`ifnull` of decimals", lambda f: _is_call(f, "ifnull", "nvl") and _has(f, "_f16")),
    Rule("`array_has([1, NULL], i)`", lambda f: _has(f, "NULL], x_i64")),
    Rule("decimals of different scales", _is_exact_decimal),
    Rule("an expression that pylance does not plan", _is_more),
)
"""The first rule that matches a finding explains it."""


def unknown_rows() -> set[str]:
    """The rows of rules that the list of differences does not have."""
    examples = [one.example for one in sql_differences.DIFFERENCES]
    return {rule.row for rule in RULES if not any(e.startswith(rule.row) for e in examples)}
