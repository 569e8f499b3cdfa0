"""Functions of text."""

from __future__ import annotations

import functools

from lance_core_functions.descriptors.describe import function, of_engine

GROUP = "text"
_function = functools.partial(function, GROUP)
_of_engine = functools.partial(of_engine, GROUP)

FUNCTIONS = (
    _function("concat", "text:concat", "any, ...", "The texts joined; NULL counts as empty."),
    _function(
        "concat_ws",
        "text:concat_ws",
        "text*, any, ...",
        "The texts that are not NULL, joined with the separator.",
    ),
    _function("repeat", "text:repeat", "text, integer*", "The text so many times."),
    _function(
        "length",
        "text:length",
        "text",
        "The number of characters.",
        "char_length",
        "character_length",
    ),
    _function("octet_length", "text:octet_length", "text", "The number of bytes."),
    _function("bit_length", "text:bit_length", "text", "The number of bits."),
    _function(
        "starts_with",
        "text:starts_with",
        "text, text*",
        "True if the text begins with the second one.",
        infers_nullable=True,
    ),
    _function(
        "ends_with",
        "text:ends_with",
        "text, text*",
        "True if the text ends with the second one.",
    ),
    _function(
        "contains",
        "text:contains",
        "text, text*",
        "True if the text contains the second one.",
    ),
    _function(
        "strpos",
        "text:position",
        "text, text*",
        "The position of the first occurrence of the second text, 0 if there is none.",
        "instr",
        "position",
        infers_nullable=True,
    ),
    _function(
        "replace",
        "text:replace",
        "text, text*, text*",
        "The text with every occurrence of the second replaced by the third.",
    ),
    _function("reverse", "text:reverse", "text", "The characters in reverse order."),
    _function(
        "left",
        "text:left",
        "text, integer*",
        "The first characters; for a negative number, all but the last ones.",
    ),
    _function(
        "right",
        "text:right",
        "text, integer*",
        "The last characters; for a negative number, all but the first ones.",
    ),
    _function(
        "substr",
        "text:substring",
        "text, integer*, [integer*]",
        "The text from a position, of at most so many characters.",
        "substring",
    ),
    _function(
        "btrim",
        "text:trim",
        "text, [text*]",
        "The text without leading and trailing characters of a set (default: a space).",
        "trim",
    ),
    _function(
        "ltrim",
        "text:ltrim",
        "text, [text*]",
        "The text without leading characters of a set.",
    ),
    _function(
        "rtrim",
        "text:rtrim",
        "text, [text*]",
        "The text without trailing characters of a set.",
    ),
    _function("lower", "letter_case:lower", "text", "The text in lower case."),
    _function("upper", "letter_case:upper", "text", "The text in upper case."),
    _function(
        "initcap",
        "letter_case:initcap",
        "text",
        "The text with the first letter of each word in upper case, all others in lower case.",
    ),
    _function(
        "split_part",
        "text_parts:split_part",
        "text, text*, integer*",
        "A part of the text between separators, counted from 1, or from -1 at the end; empty if"
        " there is none.",
    ),
    _function(
        "substr_index",
        "text_parts:substr_index",
        "text, text*, integer*",
        "The text before so many separators; for a negative number, after them from the end.",
        "substring_index",
    ),
    _function(
        "find_in_set",
        "text_parts:find_in_set",
        "text, text*",
        "The position of the text in a list of texts between commas, 0 if it is not there.",
    ),
    _function(
        "translate",
        "text_parts:translate",
        "text, text*, text*",
        "The text with each character of the second replaced by that of the third at the same"
        " position, or removed.",
    ),
    _function(
        "overlay",
        "text_parts:overlay",
        "text, text, integer, [integer]",
        "The text with the second put over it at a position, in place of so many characters; also"
        " `overlay(a PLACING b FROM 2 FOR 1)`.",
    ),
    _function(
        "ascii",
        "text_parts:ascii_code",
        "text",
        "The code point of the first character; 0 if empty.",
    ),
    _function("chr", "text_parts:character", "integer", "The character with a code point."),
    _function(
        "to_hex",
        "text_parts:to_hex",
        "integer",
        "The hexadecimal digits; of negative integers, of their 64 bits.",
    ),
    _function(
        "lpad",
        "padding:lpad",
        "any, integer, [any]",
        "The text with the third one (default: spaces) before it, up to a number of characters.",
    ),
    _function(
        "rpad",
        "padding:rpad",
        "any, integer, [any]",
        "The text with the third one (default: spaces) after it, up to a number of characters.",
    ),
    _function(
        "regexp_match",
        "regexp:regexp_match",
        "text, text*, [text]",
        "The groups of the first match as a list, the whole match if the pattern has no groups;"
        " NULL without a match.",
    ),
    _function(
        "regexp_replace",
        "regexp:regexp_replace",
        "text, text*, text*, [text*]",
        "The text with the first match replaced; with the flag `g`, every match. `$1`, `${name}`"
        " and `\\1` are groups, `$0` is the match, `$$` a dollar.",
    ),
    _function(
        "regexp_count",
        "regexp:regexp_count",
        "text, text, [integer], [text]",
        "The number of matches, from a position (default: 1).",
    ),
    _function(
        "regexp_instr",
        "regexp:regexp_instr",
        "text, text*, [integer*], [integer*], [text], [integer*]",
        "The position of the first match from a position, 0 if there is none; of a group, with"
        " arguments `text, pattern, position, 1, flags, group`.",
    ),
    _of_engine(
        "levenshtein",
        "text, text",
        "The number of characters to change, insert or remove.",
    ),
    _of_engine("md5", "text", "The MD5 hash of text or bytes, in hexadecimal digits."),
    _of_engine("sha224", "text", "The SHA-224 hash of text or bytes."),
    _of_engine("sha256", "text", "The SHA-256 hash of text or bytes."),
    _of_engine("sha384", "text", "The SHA-384 hash of text or bytes."),
    _of_engine("sha512", "text", "The SHA-512 hash of text or bytes."),
    _of_engine("digest", "text, text", "The hash by a method such as `'sha256'` or `'blake3'`."),
    _of_engine("encode", "text, text", "Text or bytes as `'hex'`, `'base64'` or `'base64pad'`."),
    _of_engine("decode", "text, text", "The bytes of text that is `'hex'` or `'base64'`."),
)
