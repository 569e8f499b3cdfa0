"""The operators, literals and casts of our SQL.

With the functions, these are all constructs that an expression may contain; everything else raises
`UnsupportedFeatureError`, which names it. The reference page and the differential tests are made
from these lists (`scripts.sql_page`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Construct:
    """An operator, a form of literals or a form of casts.

    ``signs``: its forms, as users write them; ``operands``: the types of its operands, as in
    `SqlFunctionSpec.parameters`.
    """

    signs: tuple[str, ...]
    operands: str
    summary: str


OPERATORS = (
    Construct(
        (
            "=",
            "==",
        ),
        "any, any",
        "True for equal values.",
    ),
    Construct(
        (
            "<>",
            "!=",
        ),
        "any, any",
        "True for different values.",
    ),
    Construct(
        (
            "<",
            "<=",
            ">",
            ">=",
        ),
        "any, any",
        "True by the order of values.",
    ),
    Construct(
        (
            "BETWEEN",
            "NOT BETWEEN",
        ),
        "any, any, any",
        "True for values from the second to the third.",
    ),
    Construct(
        (
            "IN (…)",
            "NOT IN (…)",
        ),
        "any, any, ...",
        "True for a value that is equal to one in the list.",
    ),
    Construct(
        (
            "IS NULL",
            "IS NOT NULL",
            "IS UNKNOWN",
        ),
        "any",
        "True for NULL; never NULL.",
    ),
    Construct(
        (
            "IS TRUE",
            "IS FALSE",
            "IS NOT TRUE",
            "IS NOT FALSE",
        ),
        "boolean",
        "Never NULL.",
    ),
    Construct(
        (
            "IS DISTINCT FROM",
            "IS NOT DISTINCT FROM",
        ),
        "any, any",
        "As `<>` and `=`, with NULL as a value.",
    ),
    Construct(
        (
            "AND",
            "OR",
            "NOT",
        ),
        "boolean",
        "Logic with three values.",
    ),
    Construct(
        (
            "LIKE",
            "NOT LIKE",
            "ILIKE",
            "NOT ILIKE",
        ),
        "text, text",
        "True if the whole text matches the pattern: `%` is any text, `_` one character. An"
        " escape (`\\` or"
        " `ESCAPE '!'`) makes the next character literal. `ILIKE` ignores case.",
    ),
    Construct(
        ("SIMILAR TO", "NOT SIMILAR TO"),
        "text, text",
        "True if the whole text matches the pattern of the SQL standard: `%`, `_`, `|`, `*`, `+`,"
        " `?`, `{m,n}`, `( )`, `[a-z]`, `[^a]`, `[[:ALPHA:]]`; an escape as in `LIKE`.",
    ),
    Construct(
        ("~", "~*", "!~", "!~*"),
        "text, text",
        "`regexp_like`, with `*` ignoring case; `!` negates.",
    ),
    Construct(("||",), "any, any", "The texts joined; NULL if one is NULL."),
    Construct(
        (
            "+",
            "-",
            "*",
            "/",
            "%",
        ),
        "number, number",
        "Arithmetic.",
    ),
    Construct(
        ("<<", ">>"),
        "integer, integer",
        "The bits shifted by the rest of the second number and the width of the type; bits that"
        " leave are lost.",
    ),
    Construct(("&", "|", "^"), "integer, integer", "The bits joined by and, or, exclusive or."),
    Construct(
        ("time + interval", "time - interval", "time - time"),
        "time, time",
        "The time an interval later or earlier; the duration (of dates, the days) between times.",
    ),
    Construct(("extract(year FROM time)",), "time", "As `date_part`."),
    Construct(
        (
            "-a",
            "+a",
        ),
        "number",
        "The negative number; the number.",
    ),
    Construct(
        (
            "CASE WHEN … THEN … ELSE … END",
            "CASE a WHEN … THEN … END",
        ),
        "any, ...",
        "The value of the first true branch.",
    ),
    Construct(
        ("list[…]",),
        "list, integer",
        "The element at a position: `l[1]` is the first, `l[-1]` the last.",
    ),
)

LITERALS = (
    Construct(
        (
            "7",
            "-7",
        ),
        "integer",
        "`int64`, or `uint64` if it is larger.",
    ),
    Construct(
        (
            "1.5",
            "1e3",
        ),
        "float",
        "`float64`; compared with decimals by its exact value.",
    ),
    Construct(
        (
            "'it''s'",
            '"it\'s"',
        ),
        "text",
        "A backslash has no special meaning.",
    ),
    Construct(
        (
            "true",
            "false",
            "NULL",
        ),
        "boolean",
        "",
    ),
    Construct(
        (
            "X'00ff'",
            "0x00ff",
        ),
        "bytes",
        "",
    ),
    Construct(("date '2024-02-29'",), "time", "`date32`."),
    Construct(
        (
            "timestamp '2024-02-29 23:59:59.5'",
            "timestamp(9) '…'",
        ),
        "time",
        "Microseconds; with digits 0, 3, 6 or 9.",
    ),
    Construct(("time '23:59:59'",), "time", "Nanoseconds."),
    Construct(
        ("interval '1 day 2 hours'", "interval '1' month"),
        "interval",
        "Months, days and nanoseconds, in units from `millennium` to `nanosecond`.",
    ),
    Construct(("decimal(5, 2) '1.25'",), "number", "A decimal with precision and scale."),
    Construct(
        (
            "[1, 2]",
            "ARRAY[1, 2]",
        ),
        "list",
        "A list of literals.",
    ),
)

CASTS = (
    Construct(("boolean",), "any", "`bool`"),
    Construct(
        (
            "tinyint",
            "smallint",
            "int",
            "bigint",
            "tinyint unsigned",
            "smallint unsigned",
            "int unsigned",
            "bigint unsigned",
        ),
        "any",
        "`int8` to `int64`; with `unsigned`, `uint8` to `uint64`.",
    ),
    Construct(
        (
            "float",
            "double",
        ),
        "any",
        "`float32`, `float64`",
    ),
    Construct(("decimal(p, s)",), "any", "`decimal128`, from precision 39 on `decimal256`."),
    Construct(("string",), "any", "`string`"),
    Construct(("binary",), "any", "`binary`"),
    Construct(
        (
            "date",
            "time",
        ),
        "any",
        "`date32`, `time64[ns]`",
    ),
    Construct(
        (
            "timestamp",
            "timestamp(0)",
            "timestamp(3)",
            "timestamp(6)",
            "timestamp(9)",
        ),
        "any",
        "Microseconds; seconds to nanoseconds.",
    ),
)
"""Types in ``CAST(a AS type)`` and ``a::type``."""
