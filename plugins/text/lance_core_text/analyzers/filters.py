"""What makes terms of words: lower case, stems, stop words, ASCII letters.

Each filter gets distinct words, so that its cost grows with the vocabulary and not with the texts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import resources

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.arrays import from_numpy, from_values, to_numpy, to_scalar
from lance_core_text.analyzers.parameters import TextParameters

Words = list[str]


def terms_of(words: pa.Array, parameters: TextParameters) -> pa.Array:
    """The term of each of the distinct ``words``, as strings; null if the word is dropped."""
    terms, dropped = words, to_scalar(None, words.type)
    if parameters.max_token_length is not None:
        is_short = pc.less(pc.binary_length(words), to_scalar(parameters.max_token_length))
        terms = pc.if_else(is_short, words, dropped)
    if parameters.lower_case:
        terms = _lower(terms)
    if parameters.stem:
        terms = _each(terms, _stemmer(parameters.language))
    if parameters.remove_stop_words:
        custom = parameters.custom_stop_words
        drops = stop_words(parameters.language) if custom is None else custom
        is_dropped = pc.is_in(terms, from_values(sorted(drops), pa.large_string()))
        terms = pc.if_else(is_dropped, dropped, terms)
    if parameters.ascii_folding:
        terms = _of_others(terms, fold)
    return pc.if_else(pc.equal(pc.binary_length(terms), to_scalar(0)), dropped, terms)


def fold(word: str) -> str:
    """``word`` with letters of ASCII instead of letters with accents, ligatures and so on."""
    return word.translate(_folding())


@functools.cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, in lower case."""
    return _all_stop_words().get(language, frozenset())


def _lower(words: pa.Array) -> pa.Array:
    """Lower case as Unicode has it; Arrow's own function maps each character alone."""
    return _of_others(pc.ascii_lower(words), str.lower)


def _of_others(words: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """``words`` with the results of ``change`` for those that are not of ASCII."""
    is_other = pc.invert(pc.string_is_ascii(words)).fill_null(to_scalar(False))
    indices = np.flatnonzero(to_numpy(is_other))
    if not len(indices):
        return words
    others = words.take(from_numpy(indices)).to_pylist()
    changed = from_values([change(word) for word in others], words.type)
    return pc.replace_with_mask(words, is_other, changed)


def _each(words: pa.Array, change: Callable[[Words], Words]) -> pa.Array:
    """The results of ``change``, which takes a list, for words that are not null."""
    distinct = words.dictionary_encode()
    changed = change(distinct.dictionary.to_pylist())
    return from_values(changed, words.type).take(distinct.indices)


def _stemmer(language: str) -> Callable[[Words], Words]:
    import Stemmer

    # A stemmer has a state, so that threads cannot share one; 0: it keeps no results.
    stem: Callable[[Words], Words] = Stemmer.Stemmer(language.lower(), 0).stemWords
    return stem


@functools.cache
def _folding() -> dict[int, str]:
    table = {}
    for line in _data("ascii_folding.txt"):
        letters, _, characters = line.partition(":")
        replacement = "".join(chr(int(letter, 16)) for letter in letters.split("-"))
        for character in characters.split():
            table[int(character, 16)] = replacement
    return table


@functools.cache
def _all_stop_words() -> dict[str, frozenset[str]]:
    words: dict[str, set[str]] = {}
    language = ""
    for line in _data("stop_words.txt"):
        if line.startswith("["):
            language = line.strip("[]")
        words.setdefault(language, set()).update(() if line.startswith("[") else line.split())
    return {name: frozenset(own) for name, own in words.items()}


def _data(name: str) -> Sequence[str]:
    folder = resources.files("lance_core_text.analyzers").joinpath("data")
    return folder.joinpath(name).read_text(encoding="utf-8").splitlines()
