"""The SQL function ``contains_tokens``: whether a text has all words of another one."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.arrays import from_numpy, from_values, to_scalar
from lance_core.sql_functions import Constant, Node, by_chunk, call
from lance_core_text.analyzers.analyze import analyze_texts
from lance_core_text.analyzers.parameters import TextParameters

_WORDS = TextParameters(
    stem=False,
    lower_case=False,
    remove_stop_words=False,
    ascii_folding=False,
    max_token_length=None,
)
"""Words are runs of letters and digits, and match as they are written, as in pylance."""


def contains_tokens(text: Node, words: Constant) -> Node:
    """Plan ``contains_tokens(text, words)``; the words are a constant."""
    analyzed = analyze_texts(from_values([words.value.as_py()], pa.large_string()), _WORDS)
    kernel = by_chunk(functools.partial(_has_all, words=tuple(analyzed.terms.to_pylist())))
    return call("contains_tokens", kernel, text)


def _has_all(texts: pa.Array, *, words: tuple[str, ...]) -> pa.Array:
    analyzed = analyze_texts(texts.cast(pa.large_string()), _WORDS)
    codes = pc.index_in(from_values(words, pa.large_string()), value_set=analyzed.terms)
    has_all = np.ones(len(texts), np.bool_)
    for code in codes.to_pylist():
        has_word = np.zeros(len(texts), np.bool_)
        if code is not None:
            has_word[analyzed.texts[analyzed.codes == code]] = True
        has_all &= has_word
    found_rows: Any = from_numpy(has_all)
    return pc.if_else(texts.is_valid(), found_rows, to_scalar(None, pa.bool_()))
