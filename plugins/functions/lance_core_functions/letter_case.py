"""`upper`, `lower` and `initcap` with Unicode's full case mapping, which may change the length.

Arrow maps characters one to one, so that ß stays ß or becomes ẞ. It maps texts whose characters are
all known to have no other mapping; the other texts are mapped together as one Python string.
Letters that Python's version of Unicode does not know are in `_NEW_PAIRS`, so that results depend
neither on the version of Python nor on that of Arrow.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.arrays import from_numpy
from lance_core.sql_functions import (
    Datum,
    Node,
    call,
    constant,
    each_chunk,
    text_argument,
)
from lance_core_functions.characters import (
    BoolArray,
    Int64Array,
    characters,
    text_array,
    text_bytes,
)

_FALSE = constant(False).value
_RANGES = ((0x10D50, 0x10D66, 0x20), (0x16EA0, 0x16EB9, 0x1B))
"""First and last upper-case letter (exclusive), and the distance to the lower-case letters."""

_NEW_PAIRS: dict[int, int] = {
    0x1C89: 0x1C8A,
    0xA7CB: 0x264,
    0xA7CC: 0xA7CD,
    0xA7CE: 0xA7CF,
    0xA7D2: 0xA7D3,
    0xA7D4: 0xA7D5,
    0xA7DA: 0xA7DB,
    0xA7DC: 0x19B,
    **{code: code + step for first, stop, step in _RANGES for code in range(first, stop)},
}
"""Lower-case letters by upper-case ones: pairs of Unicode 15 to 17, of which Python 3.11 knows
none."""

_ALPHABETIC = re.compile(
    "[\u0345\u0363-\u036f\u1dd3-\u1df4\u24b6-\u24e9\u2de0-\u2dff\ua674-\ua67b\ua69e\ua69f"
    "\U0001e000-\U0001e02a\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]"
)
"""Marks and symbols that Unicode counts as alphabetic, in scripts whose letters have a case."""


ArrayKernel = Callable[[pa.Array], pa.Array]
TextMap = Callable[[str], str]


def upper(node: Node) -> Node:
    """The text in upper case."""
    return call("upper", uppercase, text_argument("upper", node))


def lower(node: Node) -> Node:
    """The text in lower case; a Σ at the end of a word becomes ς."""
    return call("lower", lowercase, text_argument("lower", node))


def initcap(node: Node) -> Node:
    """The text with the first letter of each word in upper case, all others in lower case.

    A word consists of letters, digits and marks that are alphabetic.
    """
    return call("initcap", title_case, text_argument("initcap", node))


_BLOCKS = (
    r"\x{370}-\x{52f}\x{600}-\x{6ff}\x{900}-\x{e7f}\x{2000}-\x{206f}\x{3000}-\x{9fff}"
    r"\x{ac00}-\x{d7a3}\x{1f300}-\x{1f64f}"
)
_NOT_UPPER = (
    r"[^\x{0}-\x{de}\x{e0}-\x{148}\x{14a}-\x{19a}\x{19c}-\x{1ef}\x{1f1}-\x{24f}"
    + _BLOCKS.replace(r"\x{370}", r"\x{370}-\x{38f}\x{391}-\x{3af}\x{3b1}")
    + "]"
)
_NOT_LOWER = (
    r"[^\x{0}-\x{12f}\x{131}-\x{24f}" + _BLOCKS.replace(r"\x{370}", r"\x{370}-\x{3a2}\x{3a4}") + "]"
)
"""Characters that Arrow may map in another way. The blocks in `_BLOCKS` are complete since long;
exceptions in them are ß, ŉ, ǰ, ΐ, ΰ, a letter that was paired later, İ, and Σ, which depends on the
letters around it."""


def uppercase(value: Datum) -> Datum:
    """The kernel of `upper`."""
    return each_chunk(value, _uppercase)


def lowercase(value: Datum) -> Datum:
    """The kernel of `lower`."""
    return each_chunk(value, _lowercase)


def title_case(value: Datum) -> Datum:
    """The kernel of `initcap`."""
    return each_chunk(value, _title_case)


def _uppercase(texts: pa.Array) -> pa.Array:
    is_special = pc.match_substring_regex(texts, _NOT_UPPER)
    return _mapped(
        texts, is_special, pc.utf8_upper, lambda special: _together(special, str.upper, _upper)
    )


def _lowercase(texts: pa.Array) -> pa.Array:
    is_special = pc.match_substring_regex(texts, _NOT_LOWER)
    return _mapped(
        texts, is_special, pc.utf8_lower, lambda special: _together(special, str.lower, _lower)
    )


def _title_case(texts: pa.Array) -> pa.Array:
    is_special = pc.invert(pc.string_is_ascii(texts))
    return _mapped(texts, is_special, _title_case_of_ascii, _title_case_of_all)


def _mapped(
    texts: pa.Array, is_special: pa.BooleanArray, plain: ArrayKernel, special: ArrayKernel
) -> pa.Array:
    """The results of ``special`` for the texts that are so, and of ``plain`` for all others."""
    is_special = pc.fill_null(is_special, _FALSE)
    special_texts = texts.filter(is_special)
    if not len(special_texts):
        return plain(texts)
    mapped = special(special_texts).cast(texts.type)
    if len(special_texts) == len(texts):
        return mapped
    return pc.replace_with_mask(
        plain(pc.if_else(is_special, constant("", texts.type).value, texts)), is_special, mapped
    )


def _together(texts: pa.Array, known: TextMap, with_new: TextMap) -> pa.Array:
    """All texts in another case; ``texts`` has no nulls.

    ``known`` is ``with_new`` for texts without letters of `_NEW_PAIRS`, and much faster.
    """
    has_new = pc.any(pc.match_substring_regex(texts, _NEW_LETTERS)).as_py()
    of_text = with_new if has_new else known
    lists = pa.ListArray.from_arrays(
        pa.array([0, len(texts)], pa.int32()), texts.cast(pa.large_string())
    )
    separator = _separator(texts)
    joined = pc.binary_join(lists, pa.scalar(separator, pa.large_string()))[0].as_py()
    mapped = pa.scalar(of_text(joined), pa.large_string())
    return pc.split_pattern(mapped, separator).values


def _separator(texts: pa.Array) -> str:
    """A sequence of private characters that no text contains.

    Its first character is none of the others, so it cannot begin in a text either. Letters do not
    depend on it.
    """
    count = 1
    while True:
        separator = chr(0xF0000) + chr(0xF0001) * count
        if not pc.any(pc.match_substring(texts, separator)).as_py():
            return separator
        count *= 2


def _upper(text: str) -> str:
    return text.upper().translate(_TO_UPPER)


def _lower(text: str) -> str:
    return text.lower().translate(_NEW_PAIRS)


_TO_UPPER = {lower: upper for upper, lower in _NEW_PAIRS.items()}
_NEW_LETTERS = f"[{''.join(map(chr, (*_TO_UPPER, *_NEW_PAIRS)))}]"


def _title_case_of_ascii(texts: pa.Array) -> pa.Array:
    edges, data = text_bytes(texts)
    follows = _follows(_ASCII_IN_WORD[data], edges)
    mapped = np.where(follows, _ASCII_LOWER[data], _ASCII_UPPER[data])
    return text_array(edges, mapped, np.asarray(texts.is_null()), texts.type)


def _title_case_of_all(texts: pa.Array) -> pa.Array:
    points = characters(texts)
    distinct, codes = points.distinct()
    letters = [chr(code) for code in distinct.tolist()]
    in_word = np.array([_is_in_word(letter) for letter in letters], bool)[codes]
    table = pa.array([*map(_upper, letters), *map(_lower, letters)], pa.large_string())
    mapped = table.take(from_numpy(codes + _follows(in_word, points.edges) * len(letters)))
    _, offsets, data = mapped.buffers()
    edges = np.frombuffer(offsets, np.int64)[points.edges]
    return text_array(edges, data, points.is_null, texts.type)


def _follows(in_word: BoolArray, edges: Int64Array) -> BoolArray:
    """True for characters that follow one of a word in the same text."""
    follows = np.zeros(len(in_word), bool)
    follows[1:] = in_word[:-1]
    firsts = edges[:-1]
    follows[firsts[firsts < edges[1:]]] = False
    return follows


_ASCII = [chr(code) for code in range(128)]
_ASCII_IN_WORD = np.array([letter.isalnum() for letter in _ASCII])
_ASCII_UPPER = np.array([ord(letter.upper()) for letter in _ASCII], np.uint8)
_ASCII_LOWER = np.array([ord(letter.lower()) for letter in _ASCII], np.uint8)


def _is_in_word(letter: str) -> bool:
    return (
        letter.isalnum()
        or _ALPHABETIC.fullmatch(letter) is not None
        or unicodedata.category(letter) == "Mc"
        or ord(letter) in _NEW_PAIRS
        or ord(letter) in _TO_UPPER
    )
