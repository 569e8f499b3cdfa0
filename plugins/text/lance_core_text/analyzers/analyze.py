"""From a column of texts to its terms; `analyze` shows those of one text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.errors import InvalidTypeError
from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import from_numpy, from_values, to_numpy, to_scalar
from lance_core_text.analyzers.filters import terms_of
from lance_core_text.analyzers.lookup import analyzer_named
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.analyzers.runs import RunsAnalyzer
from lance_core_text.loops.word_runs import encoded


class Token(NamedTuple):
    """A term of a text: its position among the words, and its bytes of UTF-8 in the text."""

    term: str
    position: int
    start: int
    stop: int


class AnalyzedTexts(NamedTuple):
    """The terms of some texts, in the order of the texts, without the words that are dropped.

    ``terms``: distinct large strings. ``codes``: for each term of a text, its index in ``terms``;
    the other arrays are those of `Words`. Positions count dropped words as well.
    """

    terms: pa.Array
    codes: Integers
    texts: Integers
    positions: Integers
    starts: Integers
    stops: Integers


def analyze_texts(
    texts: pa.Array, parameters: TextParameters, *, with_offsets: bool = True
) -> AnalyzedTexts:
    """The terms of large strings. Raises `PluginNotFoundError` if the analyzer is missing.

    ``with_offsets=False``: without ``starts`` and ``stops``, and in 32 bits, for many texts.
    """
    analyzer = analyzer_named(parameters.base_tokenizer)
    if isinstance(analyzer, RunsAnalyzer):
        words = analyzer.encoded_words(texts, with_offsets=with_offsets)
    else:
        words = encoded(analyzer.words(texts, parameters.as_mapping()))
    # Several words may have one term; -1 for those that are dropped.
    made = terms_of(words.distinct, parameters).dictionary_encode()
    of_word = to_numpy(made.indices.fill_null(to_scalar(-1, pa.int32()))).astype(np.int64)
    terms = words.with_codes(made.dictionary, of_word)
    integer_type: Any = np.int64 if with_offsets else np.int32
    return AnalyzedTexts(
        terms.distinct, *(each.astype(integer_type, copy=False) for each in terms[1:])
    )


def analyze(text: str, parameters: TextParameters | None = None, **options: Any) -> list[Token]:
    """The terms of ``text``, as an index with these parameters has them.

    ``options``: the parameters of a new index by name, such as ``language="French"``. Raises
    `InvalidInputError`, ``TypeError``, and `PluginNotFoundError` if no plugin has the analyzer.
    """
    if not isinstance(text, str):
        raise InvalidTypeError(f"text must be a string, got {text!r}")
    if parameters is None:
        parameters = TextParameters.of(options)
    analyzed = analyze_texts(from_values([text], pa.large_string()), parameters)
    terms = analyzed.terms.take(from_numpy(analyzed.codes)).to_pylist()
    numbers = (analyzed.positions.tolist(), analyzed.starts.tolist(), analyzed.stops.tolist())
    return [Token(*each) for each in zip(terms, *numbers, strict=True)]
