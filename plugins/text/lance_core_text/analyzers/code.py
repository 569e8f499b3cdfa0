"""The analyzer ``code``: words are identifiers of programs, their parts, and operators."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.analyzers import Analyzer, Words
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core_text.analyzers.letters import is_letter_byte
from lance_core_text.analyzers.text_bytes import TextBytes, numbers_in_texts, substrings
from lance_core_text.loops.word_runs import runs

_OPERATOR = re.compile(
    r">>>=|!==|&&=|\*\*=|//=|<<=|<=>|===|>>=|>>>|\?\?=|\|\|="
    r"|[!%&*+\-/:<=>^|~]=|&&|\*\*|\+\+|--|->|//|::|<-|<<|=>|>>|\?\?|\|>|\|\|"
    r"|[!%&*+\-/:<=>?^|~]"
)
"""The longest operator at a place; ``@``, ``.``, brackets and so on are none."""

_UNDERSCORE = ord("_")
_OPERATOR_BYTES = np.frombuffer(b"!%&*+-/:<=>?^|~", np.uint8)
_DIGITS = frozenset("0123456789")

_Part = tuple[int, int, int]
"""Part of a word: where it begins and ends, in bytes of the word, and its number among them."""


class CodeAnalyzer(Analyzer):
    """Words are runs of letters, digits and underscores, and operators with ``index_operators``.

    With ``split_identifiers``, identifiers of several parts are split: at underscores, before
    capitals as in ``parse|XML|File``, and with ``split_on_numerics`` beside digits of ASCII. With
    ``preserve_original``, they are words themselves as well, at the position of their first part.
    """

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        own = TextBytes.of(texts)
        is_identifier = is_letter_byte(own.data)
        is_identifier |= own.data == _UNDERSCORE
        identifiers = runs(own, is_identifier)
        if parameters["split_identifiers"]:
            identifiers = _divided(identifiers, functools.partial(_parts, parameters))
        if not parameters["index_operators"]:
            return identifiers
        operators = _divided(runs(own, np.isin(own.data, _OPERATOR_BYTES)), _operators)
        return _merged(identifiers, operators)


def _parts(parameters: Mapping[str, Any], identifier: str) -> list[_Part]:
    """The parts of an identifier, after itself if it is a word as well."""
    by_numbers = parameters["split_on_numerics"]
    parts: list[_Part] = []
    begin = offset = 0
    for number, letter in enumerate(identifier):
        before = identifier[number - 1] if number else "_"
        after = identifier[number + 1 : number + 2]
        ends = before != "_" and (
            letter == "_"
            or (letter.isupper() and (before.islower() or (before.isupper() and after.islower())))
            or (by_numbers and (letter in _DIGITS) != (before in _DIGITS))
        )
        if ends:
            parts.append((begin, offset, len(parts)))
        if ends or before == "_":
            begin = offset
        offset += len(letter.encode())
    if not identifier.endswith("_"):
        parts.append((begin, offset, len(parts)))
    if len(parts) <= 1:
        return [(0, offset, 0)]  # with its underscores
    return [(0, offset, 0), *parts] if parameters["preserve_original"] else parts


def _operators(run: str) -> list[_Part]:
    return [(*own.span(), number) for number, own in enumerate(_OPERATOR.finditer(run))]


def _divided(words: Words, parts_of: Callable[[str], list[_Part]]) -> Words:
    """The parts of words, which are found once for each distinct word."""
    if not len(words.texts):
        return words
    encoded = words.words.dictionary_encode()
    by_word = [parts_of(word) for word in encoded.dictionary.to_pylist()]
    counts = np.array([len(parts) for parts in by_word])
    firsts = np.cumsum(counts) - counts
    starts, stops, numbers = np.array([part for parts in by_word for part in parts]).T
    codes = to_numpy(encoded.indices)
    owners = np.repeat(np.arange(len(codes)), counts[codes])
    part = firsts[codes][owners] + numbers_in_texts(owners)
    texts = words.texts[owners]
    # A word has as many positions as its last part says.
    sizes = (numbers[firsts + counts - 1] + 1)[codes]
    ends = np.cumsum(sizes)
    of_text = np.searchsorted(words.texts, words.texts)  # the first word of the same text
    bases = ends - sizes - (ends - sizes)[of_text]
    data = TextBytes.of(words.words)
    begins = data.offsets[:-1][owners]
    return Words(
        substrings(data.data, begins + starts[part], begins + stops[part]),
        texts,
        bases[owners] + numbers[part],
        words.starts[owners] + starts[part],
        words.starts[owners] + stops[part],
    )


def _merged(identifiers: Words, operators: Words) -> Words:
    """Both, by their places in the texts; positions count both."""
    both = [np.concatenate(pair) for pair in zip(identifiers[1:], operators[1:], strict=True)]
    words = pa.concat_arrays([identifiers.words, operators.words])
    texts, _, starts, stops = both
    is_first = np.concatenate([_begins(identifiers), _begins(operators)])
    order = np.lexsort((-stops, starts, texts))
    numbers = np.cumsum(is_first[order]) - 1
    texts = texts[order]
    return Words(
        words.take(from_numpy(order)),
        texts,
        numbers - numbers[np.searchsorted(texts, texts)],
        starts[order],
        stops[order],
    )


def _begins(words: Words) -> npt.NDArray[np.bool_]:
    """True for words at another position than the word before them."""
    is_new = np.ones(len(words.texts), np.bool_)
    is_new[1:] = (np.diff(words.texts) != 0) | (np.diff(words.positions) != 0)
    return is_new
