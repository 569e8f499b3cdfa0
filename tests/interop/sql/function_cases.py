"""The templates of functions; `cases` says what they mean. A function without templates fails."""

from __future__ import annotations

from collections.abc import Mapping

_ANY = {
    "coalesce": """
        coalesce({flat}, {y:same})
        coalesce({integer}, {y:f64})
        coalesce({i32}, {y:number})
        coalesce({text}, 'none')
        coalesce({i64}, 7)
        coalesce({date}, {y:ts_us})
        coalesce(NULL, {flat})
        """,
    "ifnull": "ifnull({flat}, {y:same})\nifnull({i8}, 1.5)",
    "nvl": "nvl({flat}, {y:same})",
    "nvl2": "nvl2({flat}, {y:i32}, 7)\nnvl2({text}, {y:same}, 'none')",
    "nullif": "nullif({flat}, {y:same})\nnullif({number}, 1)\nnullif({text}, '')",
    "greatest": "greatest({flat}, {y:same})\ngreatest({number}, 1)\ngreatest({i8}, {y:number})",
    "least": "least({flat}, {y:same})\nleast({number}, 1)\nleast({text}, 'b', {y:same})",
    "is_valid": "is_valid({any})",
    "arrow_try_cast": "arrow_try_cast('abc', 'Int8')\narrow_try_cast('7', 'Int8')",
    "arrow_cast": """
        arrow_cast(7, 'Int8')
        arrow_cast('abc', 'Binary')
        arrow_cast('abc', 'LargeUtf8')
        arrow_cast(1.5, 'Float32')
        """,
}
_NUMBERS = {
    **{
        name: f"{name}({{number}})"
        for name in (
            *("abs", "ceil", "ceiling", "floor", "sign", "signum", "sqrt", "exp", "ln", "log2"),
            *("log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh", "degrees", "radians", "isnan", "iszero", "cbrt", "cot"),
        )
    },
    **{
        name: f"""
        {name}({{number}})
        {name}({{number}}, 0)
        {name}({{number}}, 2)
        {name}({{number}}, -1)
        {name}({{f64}}, {{y:i8}})
        """
        for name in ("round", "trunc")
    },
    **{
        name: f"""
        {name}({{float}}, {{y:float}})
        {name}({{number}}, 2)
        {name}(2, {{number}})
        {name}({{i32}}, 0)
        {name}({{f64}}, 0.5)
        """
        for name in ("power", "pow")
    },
    "mod": "mod({integer}, 3)\nmod({float}, 2)",
    "log": "log({number})\nlog(2, {number})\nlog({f64}, {y:f64})",
    "atan2": "atan2({float}, {y:float})\natan2({i32}, 2)",
    "nanvl": "nanvl({float}, {y:same})\nnanvl({f64}, 1.5)",
    "factorial": "factorial({integer})",
    "gcd": "gcd({i64}, {y:i64})\ngcd({i8}, 15)",
    "lcm": "lcm({i32}, {y:i32})\nlcm({i8}, 15)",
    "pi": "pi() + {f64}",
    "to_hex": "to_hex({integer})",
}
_TEXT = {
    **{
        name: f"{name}({{string}})"
        for name in (
            *("lower", "upper", "initcap", "length", "char_length", "character_length", "reverse"),
            *("octet_length", "bit_length", "ascii", "md5", "trim", "btrim", "ltrim", "rtrim"),
        )
    },
    **{
        name: f"""
        {name}({{string}}, 'a')
        {name}({{string}}, '')
        {name}({{string}}, 'ß')
        {name}({{string}}, '\u0301')
        {name}({{text}}, {{y:text}})
        {name}({{text}}, NULL)
        {name}('abcABC abc', {{text}})
        """
        for name in ("starts_with", "ends_with", "contains", "strpos", "instr", "position")
    },
    **{
        name: f"""
        {name}({{string}})
        {name}({{string}}, ' ')
        {name}({{string}}, 'a')
        {name}({{string}}, 'aΣ\u00a0')
        {name}({{text}}, '')
        {name}({{text}}, {{y:text}})
        """
        for name in ("trim", "btrim", "ltrim", "rtrim")
    },
    **{
        name: f"""
        {name}({{string}}, 2)
        {name}({{string}}, 0)
        {name}({{string}}, -2)
        {name}({{text}}, 100)
        {name}({{text}}, -100)
        {name}({{text}}, {{y:i32}})
        {name}({{text}}, NULL)
        """
        for name in ("left", "right")
    },
    **{
        name: f"""
        {name}({{string}}, 5)
        {name}({{string}}, 0)
        {name}({{string}}, -3)
        {name}({{string}}, 7, 'ab')
        {name}({{string}}, 7, '')
        {name}({{text}}, 9, 'ß\u0301')
        {name}({{text}}, {{y:u8}}, '-')
        {name}({{text}}, 6, {{y:text}})
        {name}({{text}}, NULL, 'a')
        {name}({{text}}, 5, NULL)
        {name}({{i32}}, 5)
        """
        for name in ("lpad", "rpad")
    },
    **{
        name: f"""
        {name}({{string}}, 2)
        {name}({{string}}, 2, 3)
        {name}({{text}}, 0, 3)
        {name}({{text}}, -2, 4)
        {name}({{text}}, 100)
        {name}({{text}}, 1, 0)
        {name}({{text}}, {{y:i16}})
        {name}({{text}}, {{y:i16}}, 5)
        {name}({{text}}, NULL, 2)
        """
        for name in ("substr", "substring")
    },
    "replace": """
        replace({string}, 'a', 'xyz')
        replace({string}, 'abc', '')
        replace({string}, '', '-')
        replace({text}, '', '')
        replace({text}, '\u0301', 'Σ')
        replace({text}, {y:text}, 'x')
        replace({text}, 'a', NULL)
        replace({text}, 'a', '\\1')
        """,
    "repeat": "repeat({string}, 3)\nrepeat({text}, 0)\nrepeat({text}, -1)\nrepeat({text}, {y:u8})",
    "concat": """
        concat({string}, 'x')
        concat({text}, {y:large})
        concat({flat}, '|')
        concat({text}, NULL, {y:text})
        concat('a')
        """,
    "concat_ws": """
        concat_ws('-', {text}, {y:text})
        concat_ws('', {text}, NULL, 'x')
        concat_ws(',', {i32}, {text})
        concat_ws({text}, 'a', 'b')
        concat_ws(NULL, {text}, 'a')
        """,
    "translate": """
        translate({string}, 'abc', 'xy')
        translate({text}, 'aa', 'xy')
        translate({text}, '', 'x')
        translate({text}, 'ß\u0301', 'Σ')
        """,
    "overlay": """
        overlay({string} PLACING 'xx' FROM 2)
        overlay({string} PLACING 'xx' FROM 2 FOR 1)
        """,
    "split_part": """
        split_part({string}, 'b', 1)
        split_part({string}, ' ', 2)
        split_part({text}, 'b', -1)
        split_part({text}, '', 1)
        split_part({text}, 'a', 100)
        """,
    "chr": "chr({u8})\nchr({i64})\nchr(8364 + {u8})",
    "levenshtein": "levenshtein({text}, {y:text})\nlevenshtein({text}, 'abc')",
    **{
        name: f"{name}({{text}}, 'b', 1)\n{name}({{text}}, 'b', -1)\n{name}({{text}}, '', 1)"
        for name in ("substr_index", "substring_index")
    },
    **{name: f"{name}({{text}})" for name in ("sha224", "sha256", "sha384", "sha512")},
    "digest": "digest({text}, 'sha256')\ndigest({text}, 'blake3')",
    "encode": "encode({text}, 'hex')\nencode({text}, 'base64')",
    "decode": "decode('616263', 'hex') = {bytes}\ndecode(encode({text}, 'hex'), 'hex')",
    "find_in_set": "find_in_set({text}, 'a,b,12')",
    "uuid": "",
}
_REGEXP = {
    "regexp_like": """
        regexp_like({string}, 'a')
        regexp_like({string}, '^[a-z]+$')
        regexp_like({text}, 'A', 'i')
        regexp_like({text}, 'a.b', 's')
        regexp_like({text}, '^c', 'm')
        regexp_like({text}, '\\d{2}')
        regexp_like({text}, '')
        regexp_like({text}, NULL)
        regexp_like({text}, '\\p{Lu}')
        regexp_like({text}, '(?i)STRASSE|ß')
        """,
    "regexp_match": """
        regexp_match({string}, 'a')
        regexp_match({text}, '(\\d+)-(\\d+)')
        regexp_match({text}, '(a)|(b)')
        regexp_match({text}, '(?P<x>a)b')
        regexp_match({text}, 'A', 'i')
        regexp_match({text}, '')
        """,
    "regexp_replace": """
        regexp_replace({string}, 'a', 'xyz')
        regexp_replace({string}, 'a', 'xyz', 'g')
        regexp_replace({text}, '(\\d+)-(\\d+)', '$2.$1')
        regexp_replace({text}, '(\\d+)-(\\d+)', '${2}x$1y')
        regexp_replace({text}, '(\\d+)-(\\d+)', '\\2.\\1')
        regexp_replace({text}, '(?P<y>\\d+)-', '${y}/$y')
        regexp_replace({text}, 'b', '$0$0', 'g')
        regexp_replace({text}, 'b', '$$', 'g')
        regexp_replace({text}, 'b', '$', 'g')
        regexp_replace({text}, 'b', '\\\\', 'g')
        regexp_replace({text}, '(b)', '$9')
        regexp_replace({text}, '(b)', '$1a')
        regexp_replace({text}, '', '-', 'g')
        regexp_replace({text}, 'A', 'x', 'gi')
        regexp_replace({text}, NULL, 'x')
        regexp_replace({text}, 'a', NULL)
        """,
    "regexp_count": """
        regexp_count({string}, 'a')
        regexp_count({text}, 'A', 1, 'i')
        regexp_count({text}, 'b', 4)
        regexp_count({text}, '')
        regexp_count({text}, NULL)
        """,
    "regexp_instr": "regexp_instr({string}, 'b')\nregexp_instr({text}, '\\d')",
}
_PARTS = (
    *("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"),
    *("microsecond", "nanosecond", "doy", "dow", "isodow", "isoyear", "epoch"),
)
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
_TIME = {
    **{
        name: "\n".join(
            f"{name}('{part}', {{{group}}})" for part in _PARTS for group in ("moment", "clock")
        )
        for name in ("date_part", "datepart")
    },
    **{
        name: "\n".join(f"{name}('{unit}', {{moment}})" for unit in (*_UNITS, "microsecond"))
        for name in ("date_trunc", "datetrunc")
    },
    "date_bin": """
        date_bin(INTERVAL '15 minutes', {ts_us})
        date_bin(INTERVAL '1 day', {moment}, TIMESTAMP '2001-01-01')
        """,
    "now": "now() > {ts_us}",
    "current_timestamp": "current_timestamp > {ts_us}",
    "current_date": "current_date > {date}",
    "today": "today() > {date}",
    "to_unixtime": "to_unixtime({moment})\nto_unixtime({i64})",
    "from_unixtime": "from_unixtime({integer})",
    "to_timestamp": "to_timestamp({number})\nto_timestamp({text})\nto_timestamp({moment})",
    "to_timestamp_seconds": "to_timestamp_seconds({integer})\nto_timestamp_seconds({moment})",
    "to_timestamp_millis": "to_timestamp_millis({integer})\nto_timestamp_millis({moment})",
    "to_timestamp_micros": "to_timestamp_micros({integer})\nto_timestamp_micros({moment})",
    "to_timestamp_nanos": "to_timestamp_nanos({integer})\nto_timestamp_nanos({moment})",
    "to_date": "to_date({text})\nto_date({integer})",
    "make_date": "make_date({i16}, 2, 3)\nmake_date(2024, {i8}, 1)",
    "to_char": "to_char({moment}, '%Y-%m-%d %H:%M:%S')\nto_char({clock}, '%H:%M')",
    "date_format": "date_format({moment}, '%Y-%m-%d')",
}
_LISTS = {
    **{
        name: f"{name}({{list}})"
        for name in ("array_length", "list_length", "cardinality", "empty")
    },
    **{
        name: f"{name}({{list}}, 1)\n{name}({{ints}}, -1)\n{name}({{ints}}, 0)"
        for name in ("array_element", "list_element")
    },
    **{
        name: f"{name}({{ints}}, 1)\n{name}({{texts}}, 'a')\n{name}({{ints}}, {{y:i64}})"
        for name in ("array_has", "list_has", "array_contains", "list_contains")
    },
    **{
        name: f"{name}({{ints}}, [1, 2])\n{name}({{texts}}, ['a'])\n{name}({{ints}}, {{y:ints}})"
        for name in ("array_has_any", "list_has_any")
    },
    **{
        name: f"{name}({{ints}}, [1, 2])\n{name}({{texts}}, ['a'])\n{name}({{ints}}, {{y:ints}})"
        for name in ("array_has_all", "list_has_all")
    },
    **{name: f"{name}({{list}})" for name in ("array_max", "list_max", "array_min", "list_min")},
    "get_field": "get_field({record}, 'a')\nget_field({record}, 'b')",
}
_ENGINE_LISTS = {
    "append": "({ints}, 5)\n({texts}, 'z')\n({ints}, {y:i64})",
    "prepend": "(5, {ints})\n('z', {texts})",
    "concat": "({ints}, {y:ints})\n({texts}, {y:texts})",
    "cat": "({ints}, {y:ints})",
    "distinct": "({list})",
    "except": "({ints}, {y:ints})\n({texts}, {y:texts})",
    "intersect": "({ints}, {y:ints})\n({texts}, {y:texts})",
    "union": "({ints}, {y:ints})\n({texts}, {y:texts})",
    "position": "({ints}, 1)\n({texts}, 'a')\n({ints}, 1, 2)",
    "positions": "({ints}, 1)\n({texts}, 'a')",
    "remove": "({ints}, 1)\n({texts}, 'a')",
    "remove_n": "({ints}, 1, 2)",
    "remove_all": "({ints}, 1)\n({texts}, 'a')",
    "replace": "({ints}, 1, 9)\n({texts}, 'a', 'zz')",
    "replace_n": "({ints}, 1, 9, 2)",
    "replace_all": "({ints}, 1, 9)\n({texts}, 'a', 'zz')",
    "reverse": "({list})",
    "slice": "({ints}, 2, 3)\n({ints}, -2, -1)\n({texts}, 1, 3, 2)\n({ints}, 0, 1)",
    "sort": "({ints})\n({ints}, 'DESC')\n({texts}, 'ASC', 'NULLS LAST')",
    "pop_back": "({list})",
    "pop_front": "({list})",
    "to_string": "({ints}, ',')\n({texts}, '-', 'none')\n({fours}, ' ')",
    "join": "({ints}, ',')",
}
_ENGINE = {
    **{
        f"{prefix}_{name}": "\n".join(f"{prefix}_{name}{line}" for line in lines.split("\n"))
        for prefix in ("array", "list")
        for name, lines in _ENGINE_LISTS.items()
        if (prefix, name) != ("list", "cat")
    },
    "string_to_array": "string_to_array({text}, 'b')\nstring_to_array({text}, ' ', 'abc')",
    "string_to_list": "string_to_list({text}, 'b')",
    "flatten": "flatten({nested})",
}
FUNCTIONS: Mapping[str, str] = {
    **_ANY,
    **_NUMBERS,
    **_TEXT,
    **_REGEXP,
    **_TIME,
    **_LISTS,
    **_ENGINE,
}
"""The templates of each function, by every name that it has."""
