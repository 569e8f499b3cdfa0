"""The templates of operators, predicates, casts and literals; `cases` says what they mean."""

from __future__ import annotations

from collections.abc import Mapping

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")

OPERATORS: Mapping[str, str] = {
    **{
        sign: f"""
        {{few}} {sign} {{y:few}}
        {{number}} {sign} {{y:same}}
        {{number}} {sign} 2
        {{number}} {sign} 0
        {{number}} {sign} 1.5
        2 {sign} {{number}}
        {{i64}} {sign} {{y:i64}} {sign} 1
        """
        for sign in ("+", "-", "*", "/", "%")
    },
    "negative": "-{number}\n-(-{number})\n- 1 + {number}",
    "dates": """
        {moment} - {y:same}
        {moment} + {y:dur_us}
        {moment} - {y:dur_us}
        {span} + {y:same}
        """,
    **{
        sign: f"""
        {{few}} {sign} {{y:few}}
        {{number}} {sign} {{y:same}}
        {{flat}} {sign} {{y:same}}
        {{number}} {sign} 1
        {{number}} {sign} 0.5
        {{string}} {sign} 'a'
        {{moment}} {sign} {{y:moment}}
        {{date}} {sign} date '2024-02-29'
        {{ts_us}} {sign} timestamp '1969-12-31 23:59:59'
        """
        for sign in _COMPARISONS
    },
    "IS NULL": "{any} IS NULL\n{any} IS NOT NULL\n{bool} IS UNKNOWN",
    "IS TRUE": """
        {bool} IS TRUE
        {bool} IS NOT TRUE
        {bool} IS FALSE
        {bool} IS NOT FALSE
        """,
    "IS DISTINCT FROM": """
        {flat} IS DISTINCT FROM {y:same}
        {flat} IS NOT DISTINCT FROM {y:same}
        {i32} IS DISTINCT FROM NULL
        """,
    "BETWEEN": """
        {number} BETWEEN 0 AND 2
        {number} NOT BETWEEN -1 AND 1.5
        {flat} BETWEEN {y:same} AND {y:same}
        {text} BETWEEN 'a' AND 'b'
        """,
    "IN": """
        {number} IN (1, 2, 3)
        {number} NOT IN (1, NULL)
        {string} IN ('a', 'ß', '')
        {flat} IN ({y:same})
        {f64} IN (0.0, 1.5)
        {i32} IN (1, {y:i32}, NULL)
        """,
    "AND, OR, NOT": """
        {bool} AND {y:bool}
        {bool} OR {y:bool}
        NOT {bool}
        {bool} AND NULL
        {bool} OR NULL
        NOT ({bool} AND {y:bool}) OR {bool}
        """,
    "LIKE": """
        {string} LIKE 'a%'
        {string} LIKE '%b_'
        {string} NOT LIKE '%a%'
        {string} ILIKE 'A%'
        {text} ILIKE '%STRASSE%'
        {text} ILIKE '%ß%'
        {text} ILIKE '%\u03b9%'
        {text} LIKE ''
        {text} LIKE '%'
        {text} LIKE '%\\%%'
        {text} LIKE '%!%%' ESCAPE '!'
        {text} LIKE NULL
        {text} LIKE '\\'
        {text} LIKE {y:text}
        """,
    "SIMILAR TO": """
        {text} SIMILAR TO 'a'
        {text} SIMILAR TO 'a%'
        {text} NOT SIMILAR TO '(a|b)_*'
        {text} SIMILAR TO '%!%%' ESCAPE '!'
        """,
    "~": """
        {text} ~ 'a'
        {text} !~ 'a'
        {text} ~* 'A'
        {text} !~* 'A'
        """,
    "||": """
        {string} || 'x'
        {text} || {y:large}
        {flat} || '|'
        {text} || NULL
        'a' || {text} || 'b'
        """,
    "bits": """
        {integer} & {y:same}
        {integer} | {y:same}
        {integer} ^ {y:same}
        {integer} << 2
        {integer} >> 1
        {i64} << {y:i64}
        {i64} >> {y:i64}
        """,
    "CASE": """
        CASE WHEN {bool} THEN {y:i32} ELSE 7 END
        CASE {i32} WHEN 1 THEN 'one' WHEN 2 THEN 'two' END
        CASE WHEN {i32} > 1 THEN {y:i8} WHEN {bool} THEN 1.5 END
        """,
    "members": "{record}.a\n{record}['b']\n{ints}[1]\n{ints}[-1]\n{texts}[2]\n{fours}[2]",
    "precedence": """
        {i16} + 2 * 3
        {bool} OR {bool} AND false
        NOT {i16} = 1
        {i16} = 1 IS NULL
        - {i16} % 3
        """,
}

_NUMBER_TYPES = (
    *("tinyint", "smallint", "int", "bigint", "tinyint unsigned", "smallint unsigned"),
    *("int unsigned", "bigint unsigned", "float", "double", "decimal(9, 2)", "decimal(38, 10)"),
    *("decimal(38, 0)", "decimal(50, 2)", "decimal(76, 38)"),
)
_TIME_TYPES = ("date", "time", "timestamp", *(f"timestamp({digits})" for digits in (0, 3, 6, 9)))

CASTS: Mapping[str, str] = {
    **{name: f"cast({{flat}} as {name})" for name in (*_NUMBER_TYPES, *_TIME_TYPES)},
    "string": "cast({any} as string)\n{f64}::string",
    "boolean": "cast({flat} as boolean)",
    "binary": "cast({flat} as binary)",
    "try_cast": "try_cast({text} as int)\ntry_cast({f64} as tinyint)",
}

LITERALS: Mapping[str, str] = {
    "numbers": """
        7 + {i64}
        1.5 + {f64}
        1e3 + {f64}
        -7 + {i64}
        .5 + {f64}
        5. + {f64}
        9223372036854775807 - {u8}
        """,
    "text": """
        'it''s' || {text}
        "double" || {text}
        'back\\slash' || {text}
        '' || {text}
        """,
    "bytes": "X'616263' = {bytes}\n0x616263 = {bytes}\nx'' = {bytes}",
    "truth": "true AND {bool}\nFALSE OR {bool}\nNULL = {i64}",
    "time": """
        date '2024-02-29' = {date}
        timestamp '2024-02-29 01:02:03' = {ts_us}
        timestamp(9) '1969-12-31 23:59:59.999999999' = {ts_ns}
        timestamp(0) '2024-02-29 01:02:03' = {ts_s}
        time '23:59:59' = {time_us}
        """,
    "decimal": "decimal(5, 2) '1.25' + {d9}\ndecimal(38, 0) '1' = {d38}",
    "lists": "array_has([1, 2], {i64})\narray_has(ARRAY[1, NULL], {i64})",
}
