"""The known differences of our SQL from pylance, with their reasons.

The reference page lists them (`scripts.sql_page`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """What an expression returns here and in pylance 14, and why.

    ``example`` is Markdown: an expression, or a description of several. ``constructs``: the
    functions and operators of which this is known, as the lists name them.
    """

    example: str
    here: str
    pylance: str
    reason: str
    constructs: tuple[str, ...] = ()


LATER = "not implemented"
BY_VALUE = "a literal that the column's type lacks is compared by its value"
READ = "text is read as the date or time that the column holds"
MORE = "pylance does not plan it"

DIFFERENCES = (
    Difference("`u8 < 300`, `i32 > 0.5`, `dec = 1.5`", "by value", "error", BY_VALUE),
    Difference("`d >= '2024-02-29'`", "supported", "error", READ),
    Difference(
        *("`CASE`, `ESCAPE`, `SIMILAR TO`, `~`", "supported", "error in filters", MORE),
        ("SIMILAR TO", "~"),
    ),
    Difference(
        *("integer overflow", "`InvalidInputError`", "wraps around"),
        "a wrong number must not select or change rows",
        ("+", "-", "*", "abs"),
    ),
    Difference(
        *("`price * 0.1`, `nullif(price, 1.5)` of a decimal", "a decimal", "error or a float"),
        "the literal has an exact value",
        ("+", "-", "*", "/", "%", "nullif", "coalesce", "greatest", "least"),
    ),
    Difference(
        *("decimals: a product or quotient of more than 38 digits", "up to 76 digits"),
        *("38 digits, an error for larger values", "only a value that does not fit is an error"),
        ("*", "/"),
    ),
    Difference(
        *("decimals: `a + 1` of 38 digits, where the sum has 39", "`InvalidInputError`"),
        *("a value of 39 digits", "no column can hold the value"),
        ("+", "-"),
    ),
    Difference(
        *("`trunc(price)`, `trunc(price, 1)` of a decimal", "a decimal", "a float"),
        "digits are not lost",
        ("trunc",),
    ),
    Difference(
        *("`power(price, 2)` of a decimal", "a float", "a decimal with the scale of the column"),
        "2.25 * 2.25 is not 5.06",
        ("power",),
    ),
    Difference(
        *("`trunc(-0.0)` of a literal", "0.0, as of a column", "-0.0"),
        "a function has one value for an argument, constant or not",
        ("trunc",),
    ),
    Difference(
        *("`trunc(x, 300)`, `round(x, -400)`", "the number, 0", "infinite or NaN"),
        "digits that a float does not have change nothing",
        ("trunc", "round"),
    ),
    Difference(
        *("`trunc(i32, -1)`, `nanvl(i32, 1)`", "float64", "float32"),
        "float32 does not hold all integers",
        ("trunc", "nanvl"),
    ),
    Difference(
        *("`date_trunc`, `date_bin` of dates", "microseconds", "nanoseconds, an error beyond 2262"),
        "9999-12-31 is a date",
        ("date_trunc", "date_bin"),
    ),
    Difference(
        *("`date_trunc`, `date_bin` before 1677 and after 2262", "supported", "error, other times"),
        "the unit of the column holds them",
        ("date_trunc", "date_bin"),
    ),
    Difference(
        *("`date_trunc('minute', tz)` where offsets have seconds (before 1900)", "local minutes"),
        *("minutes of UTC", "the parts of a timestamp with a zone are local"),
        ("date_trunc",),
    ),
    Difference(
        *("`date_bin` of a negative interval", "`InvalidInputError`"),
        *("other times before and after 1970", "a bin has a length"),
        ("date_bin",),
    ),
    Difference(
        *("`date_bin` of timestamps with a zone", "the unit of the column", "nanoseconds"),
        "the unit of the column holds them",
        ("date_bin",),
    ),
    Difference(
        *("`date_bin` with months, `d + interval '1 day'`, `extract`", "supported"),
        *("error", MORE),
        ("date_bin",),
    ),
    Difference("`a & b`, `a | b`, `a ^ b`", "supported", "error", MORE, ("&", "|", "^")),
    Difference(
        *("`to_timestamp(x)` of NaN and of floats beyond 2262", "`InvalidInputError`"),
        *("1970, the last timestamp", "a time that is not in the data"),
        ("to_timestamp",),
    ),
    Difference(
        *("timestamps of two units (also `BETWEEN`, `IN`)", "compared by value"),
        *("compared in the coarser unit, NULL beyond 2262", "a moment is compared by its value"),
        ("=", "<>", "<", "<=", ">", ">="),
    ),
    Difference(
        *("`f32 + price` of a decimal", "float64", "float32"),
        "float32 does not hold the decimal",
        ("+", "-", "*", "/", "%"),
    ),
    Difference(
        *("`CAST(i AS binary)` of a number, `CAST(l AS string)` of a list", "error", "supported"),
        LATER,
    ),
    Difference(
        *("`CAST(CAST(i AS tinyint) AS date)`, `CAST(f16 AS decimal(9, 2))`", "supported", "error"),
        MORE,
    ),
    Difference(
        *("`us - seconds`, `greatest(us, seconds)` of timestamps", "the finer unit"),
        *("the coarser unit", "no digit is lost"),
        ("-", "greatest", "least", "coalesce", "nullif"),
    ),
    Difference(
        *("`t - tz` of timestamps without and with a zone", "t is local time in the zone"),
        *("t is UTC", "as in comparisons"),
        ("-",),
    ),
    Difference(
        *("the difference of two times", "a duration"),
        *("an interval", "durations can be stored"),
        ("-",),
    ),
    Difference(
        *("`sqrt(-1)`, `ln(-1)`", "NaN, above all numbers", "NaN with a sign, below all numbers"),
        "the sign of such a NaN depends on the processor",
        ("sqrt", "ln", "log2", "log10", "log"),
    ),
    Difference(
        *("`power(x, 0)` where x is NULL", "NULL", "1"), "a NULL argument is NULL", ("power",)
    ),
    Difference(
        *("`greatest(-0.0, 0.0)`", "either", "0.0"), "0.0 equals -0.0", ("greatest", "least")
    ),
    Difference(
        *("`log(f16)`, `nanvl(f16, 1)`", "float64", "float16, float32"),
        "the other functions of float16 return float64, too",
        ("log", "nanvl", "atan2"),
    ),
    Difference(
        *("`log(x)`", "the nearest float", "may differ in the last digit"),
        "pylance divides two logarithms",
        ("log",),
    ),
    Difference(*("`power(0, -1)`", "infinite", "error"), "floats follow IEEE 754", ("power",)),
    Difference(
        *("`coalesce(f32, i32)`, `greatest(f32, i32)`", "float64", "float32"),
        "float32 does not hold all integers",
        ("coalesce", "greatest", "least", "nullif"),
    ),
    Difference(
        *("`coalesce(price, f64)` of a decimal", "float64", "decimal(30, 15)"),
        "a larger float is no error",
        ("coalesce", "greatest", "least"),
    ),
    Difference(
        *("`nullif(x, 0)` where x is -0.0", "NULL", "-0.0"),
        "0.0 equals -0.0",
        ("nullif",),
    ),
    Difference(
        *("`CAST(x AS decimal(38, 20))` of a float", "exact", "digits that the float lacks"),
        "pylance multiplies in floating-point",
    ),
    Difference(
        *("`1.005` stored as decimal(10, 2)", "1.01", "1.00"),
        "the literal has an exact value, of which halves are rounded away from zero",
    ),
    Difference(
        *("text as decimal: `1e2`, the empty text, `.`", "100, error, error", "error, 0, 0"),
        "a text that is not a number in full is an error",
    ),
    Difference(
        *("text as timestamp: `2020-1-1`, `2020-01-01 12:30`", "supported", "error"),
        "the text says one time",
    ),
    Difference(
        *("text as timestamp with the name of a zone; second 60", "error", "supported"),
        "an offset is unambiguous; leap seconds are not in the format",
    ),
    Difference(
        *("`CAST(CAST(i AS int) AS time)` beyond a day", "error", "an invalid time"),
        "a time is less than 24 hours",
    ),
    Difference(
        *("`f = g` with 0.0 and -0.0 in two columns", "equal", "different"),
        "equality does not depend on whether an operand is a literal",
        ("=",),
    ),
    Difference(
        *("`seconds = timestamp '… 03.5'`", "false", "truncates the literal, true"),
        "a moment is compared by its value",
    ),
    Difference(
        *("`tz = timestamp '… 12:00:00Z'`", "an instant", "local time"),
        "a literal with an offset is an instant",
    ),
    Difference(
        *("`a = 1 LIMIT 5`", "`InvalidInputError`", "ignores the rest"),
        "a text that is not understood in full is an error",
    ),
    Difference(
        *("`f32 = 0.1` under `NOT` or `IS TRUE`", "the nearest float", "compared in 64 bits"),
        "a condition means the same wherever it stands",
    ),
    Difference(
        *("a filter or an operator in a JSON path", "`UnsupportedFeatureError`", "supported"), LATER
    ),
    Difference(
        *("a range of elements (`[0 to 2]`) in a JSON path", "supported", "does not return"),
        "the notation is that of `jsonpath`",
    ),
    Difference(
        *("`ifnull`, `nvl` of dates, times, bytes and decimals", "the same type"),
        *("text, or `double` for decimals", "`ifnull` is `coalesce` of two values"),
        ("ifnull",),
    ),
    Difference(
        *("`nvl2(a, b, c)`", "the type of `b` and `c`", "the common type of all three"),
        "`a` is no result",
        ("nvl2",),
    ),
    Difference(
        *("`coalesce`, `greatest`, `least` of an integer and a small float", "`double`"),
        *("the type of the float", "no digit is lost"),
        ("coalesce", "greatest", "least"),
    ),
    Difference(
        *("`coalesce(date, microseconds)`", "microseconds", "nanoseconds"),
        "the finer unit of both",
        ("coalesce",),
    ),
    Difference(
        *("`greatest(-0.0, 0.0)`, `nullif(-0.0, 0.0)`", "the first, NULL", "0.0, -0.0"),
        "`0.0` equals `-0.0`",
        ("greatest", "least", "nullif"),
    ),
    Difference(
        *("`cardinality` of lists of lists", "the number of inner lists"),
        *("the product of the first lengths", "as the SQL standard has it"),
        ("array_length",),
    ),
    Difference(
        *("`array_max`, `array_min` of lists of lists", "`UnsupportedFeatureError`", "supported"),
        LATER,
        ("array_max", "array_min"),
    ),
    Difference(
        *("`concat` of lists", "`InvalidInputError`", "the lists as text"), LATER, ("concat",)
    ),
    Difference(
        *("`translate` of combining characters", "code points", "graphemes"),
        "all text functions count code points",
        ("translate",),
    ),
    Difference("`i64 >= -9223372036854775808`", "compared exactly", "error", BY_VALUE),
    Difference(
        *("`CAST(a AS t) = 1`", "casts the column", "may cast the literal instead"),
        "the cast means what it says; a value that does not fit is an error",
    ),
    Difference(
        *("`x NOT IN (1) AND x IN (2, NULL)`", "false where x is 1", "NULL"),
        "FALSE AND NULL is false",
    ),
    Difference(
        *("text functions of dictionaries and of `large_string`", "`string`, `large_string`"),
        *("`string_view`", "the types of Arrow that all readers know"),
    ),
    Difference(
        "`coalesce`, `nullif` of a dictionary",
        "text",
        "dictionary",
        "results are plain values",
    ),
    Difference(
        *("`coalesce(seconds, timestamp '…')`", "the finer unit", "the column's unit"),
        "no digit is lost",
    ),
    Difference(
        *("daylight saving time after 2037", "the zone's standard time", "supported"),
        "Arrow's table of zones ends there",
    ),
    Difference(
        *("years beyond ±32767 in text, `date_part`, `date_trunc`", "`InvalidInputError`"),
        *("supported", "Arrow's calendar ends there"),
        ("date_part", "date_trunc"),
    ),
    Difference(
        "`[a&&b]`, `(?x)`, `\\<`, counts above 1000 in regular expressions",
        *("error", "supported", "Arrow evaluates regular expressions with RE2, in linear time"),
        ("regexp_like", "regexp_match", "regexp_replace", "regexp_count", "regexp_instr"),
    ),
    Difference(
        *("`{`, `{,2}`, `\\Q…\\E` in regular expressions", "as in RE2", "error"),
        "Arrow evaluates regular expressions with RE2",
        ("regexp_like", "regexp_match", "regexp_replace", "regexp_count", "regexp_instr"),
    ),
    Difference(
        *(
            "`\\b`, `\\B` in regular expressions",
            "between letters of ASCII",
            "between letters of Unicode",
        ),
        "RE2 has no other",
        ("regexp_like", "regexp_match", "regexp_replace", "regexp_count", "regexp_instr"),
    ),
    Difference(
        *("`regexp_replace(s, 'a', 'x', '')`", "supported", "error"),
        "no flags are no error in the other functions",
        ("regexp_replace",),
    ),
    Difference(
        *("`regexp_instr` of an occurrence other than the first", "`UnsupportedFeatureError`"),
        *("supported", LATER),
        ("regexp_instr",),
    ),
    Difference(
        *("`regexp_instr(NULL, '')`", "NULL", "0", "it is NULL for all other patterns"),
        ("regexp_instr",),
    ),
    Difference(
        *("an expression that pylance does not plan", "supported", "error"),
        "the value is that of the SQL standard",
    ),
    Difference(
        *("functions of numbers: the last digit", "of the C library", "of Rust"),
        "both are within one unit of the last digit",
    ),
    Difference(
        *("`cardinality(nested)`", "the number of inner lists", "0 if one is NULL or empty"),
        "the length of a list does not depend on its elements",
        ("cardinality",),
    ),
    Difference(
        *("`array_distinct([-0.0, 0.0])`", "one element", "two"),
        *("0.0 equals -0.0", ("array_distinct",)),
    ),
    Difference(
        *("`array_max` of nested lists", "`UnsupportedFeatureError`", "supported", LATER),
        ("array_max", "array_min"),
    ),
    Difference(
        *("`make_date` of a year before 1 or after 9999", "`InvalidInputError`", "supported"),
        *("dates as text have four digits of the year", ("make_date",)),
    ),
    Difference(
        *("`x / 0`, `x % 0` where x is NULL", "`InvalidInputError`", "NULL"),
        "a division by zero is an error for every dividend",
        ("/", "%"),
    ),
    Difference(
        *("a cast of a dictionary of which an unused entry cannot be cast", "supported", "error"),
        "only values of rows count",
    ),
    Difference(
        *("`CAST(i AS binary)` of a number", "`InvalidInputError`", "the bytes in memory"),
        "the bytes depend on the type of the column",
    ),
    Difference(
        *("`CAST(price AS bigint)` of more than 64 bits", "`InvalidInputError`", "another number"),
        "a wrong number must not select or change rows",
    ),
    Difference("`CAST(list AS string)`", "`InvalidInputError`", "supported", LATER),
    Difference("`CAST(f16 AS boolean)`", "`InvalidInputError`", "supported", LATER),
    Difference(
        *("arithmetic of float32 with decimals and large integers", "float64", "float32"),
        "float32 does not hold all of them",
        ("+", "-", "*", "/", "%"),
    ),
    Difference(
        "`ifnull` of decimals of more than 38 digits, float16, bytes, dates, times and durations",
        *("of their type", "float64 or text", "no digit is lost", ("ifnull", "nvl")),
    ),
    Difference(
        *("dates and timestamps that nanoseconds do not hold, compared", "supported", "error"),
        "the finest unit of the operands holds them",
    ),
    Difference(
        "a timestamp that nanoseconds do not hold beside one in nanoseconds",
        *("`InvalidInputError`", "compared in the coarser unit", LATER),
    ),
    Difference(
        *("`nvl2(a, b, c)`", "the type of b and c", "the type of a, b and c"),
        *("a is not in the result", ("nvl2",)),
    ),
    Difference(
        "a float compared with a decimal, for NaN and numbers that the decimal lacks",
        *("by value", "error", BY_VALUE),
    ),
    Difference(
        *("`array_has([1, NULL], i)` of an element that is not in the list", "false", "NULL"),
        *("as for a list of a column", ("array_has",)),
    ),
    Difference(
        *("decimals of different scales compared, beyond 38 digits", "by value", "error", BY_VALUE),
    ),
)
