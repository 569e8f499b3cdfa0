"""The contract of analyzers, as tests to inherit.

::

    class TestBigrams(AnalyzerTests):
        spec = lance_core_bigrams.SPEC
        words = {"東京都 BM25": ["東京", "京都", "BM25"]}

Each text is analyzed alone, in columns with nulls and empty texts, in slices, and in threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.analyzers import Analyzer, AnalyzerSpec, Words
from lance_core.hookspecs.stores import resolve_factory
from lance_core.plugins.descriptors import check_descriptor
from lance_core.plugins.factory_checks import problem_of
from lance_core_testing.threads import race_threads

DEFAULTS: Mapping[str, Any] = {
    "language": "English",
    "min_ngram_length": 3,
    "max_ngram_length": 3,
    "prefix_only": False,
    "split_identifiers": False,
    "split_on_numerics": False,
    "preserve_original": False,
    "index_operators": False,
}
"""Parameters of an index that analyzers get, beside those that filters use."""

TEXTS = (
    *("", " ", ".", "a", "one two", "  two  spaces ", "don't stop-now", "a.b,c;d", "x_y = 1.5e3"),
    *(
        "Straße ÉTÉ ﬁn",
        "ends with é",
        "İstanbul ΟΔΟΣ",
        "नमस्ते दुनिया",
        "שלום עולם",
        "a\u0301b\u200dc",
    ),
    *(
        "中文 日本語・テスト 한국어",
        "東京都に住む",
        "\U0001d518\U0001f600 \U00020000",
        "nul\0and\nline\ttab",
    ),
    *("word " * 300, "x" * 1000, "\ufeffmark", "\ue000\uffff", "same same same"),
)
"""Texts of many scripts, and those without words."""


class _Word(NamedTuple):
    text: str
    position: int
    start: int
    stop: int


class AnalyzerTests:
    """The contract of an analyzer. Subclass it and set ``spec`` and ``words``.

    ``words``: some texts, and the words of each in their order. ``parameters``: those of an index
    that differ from the defaults.
    """

    spec: AnalyzerSpec
    words: ClassVar[Mapping[str, Sequence[str]]] = {}
    parameters: ClassVar[Mapping[str, Any]] = {}

    def test_the_descriptor_is_valid_and_its_analyzer_can_be_made(self) -> None:
        check_descriptor(self.spec)
        problem = problem_of(self.spec)
        assert problem is None, f"factory: {problem}"
        assert isinstance(self._analyzer(), Analyzer), f"{self._analyzer()!r} is no Analyzer"
        assert self.words, "nothing to try it with: set `words`"

    def test_texts_have_the_expected_words(self) -> None:
        for text, expected in self.words.items():
            got = [word.text for word in self._of_text(text)]
            assert got == list(expected), f"{text!r} has the words {got}"

    def test_arrays_have_their_types_and_one_value_for_each_word(self) -> None:
        for texts in (self._texts(), []):
            words = self._words(_column(texts))
            text_types = (pa.string(), pa.large_string())
            assert words.words.type in text_types, f"words are strings, not {words.words.type}"
            assert not words.words.null_count, "words are not null"
            for name, numbers in zip(words._fields[1:], words[1:], strict=True):
                assert numbers.dtype == np.int64, f"{name} are int64, not {numbers.dtype}"
                assert numbers.shape == (len(words.words),), f"{name} are one for each word"

    def test_words_are_parts_of_their_texts(self) -> None:
        for text in self._texts():
            data = text.encode()
            for word in self._of_text(text):
                assert 0 <= word.start < word.stop <= len(data), f"{word} is outside of {text!r}"
                part = data[word.start : word.stop]
                assert part == word.text.encode(), f"{word}: {text!r} has {part!r} there"

    def test_positions_begin_at_0_and_never_descend(self) -> None:
        for text in self._texts():
            positions = [word.position for word in self._of_text(text)]
            assert positions == sorted(positions), f"positions of {text!r} descend: {positions}"
            assert min(positions, default=0) >= 0, f"a position of {text!r} is negative"
            assert not positions or positions[0] == 0, f"{text!r} begins at {positions[0]}"

    def test_the_words_of_a_column_are_those_of_each_text(self) -> None:
        texts = self._texts()
        for name, own in (("forwards", texts), ("backwards", texts[::-1])):
            words = self._words(_column(own))
            assert (np.diff(words.texts) >= 0).all(), "the texts of words ascend"
            self._same(f"a column {name}", _by_text(words, len(own)), self._alone(own))

    def test_nulls_have_no_words_and_leave_other_texts_alone(self) -> None:
        texts = self._texts()
        whole = _column(texts)
        is_null = np.arange(len(texts)) % 3 == 1
        bits = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
        _, *buffers = whole.buffers()
        hidden = pa.Array.from_buffers(whole.type, len(whole), [bits, *buffers])
        expected = [
            [] if null else own for null, own in zip(is_null, self._alone(texts), strict=True)
        ]
        plain = _column([None if n else text for n, text in zip(is_null, texts, strict=True)])
        for name, column in (("nulls", plain), ("nulls above the bytes of texts", hidden)):
            self._same(name, _by_text(self._words(column), len(texts)), expected)
        assert not len(self._words(_column([None, None])).words), "nulls have no words"

    def test_sliced_columns_have_the_words_of_their_texts(self) -> None:
        texts = self._texts()
        column = _column(texts)
        for start, stop in ((1, len(texts)), (2, 5), (len(texts) - 1, len(texts)), (3, 3)):
            words = self._words(column.slice(start, stop - start))
            got = _by_text(words, stop - start)
            self._same(f"texts {start} to {stop}", got, self._alone(texts[start:stop]))

    def test_the_same_texts_have_the_same_words_in_threads(self) -> None:
        texts = self._texts()
        column, analyzer = _column(texts), self._analyzer()
        parameters = {**DEFAULTS, **self.parameters}
        before = dict(parameters)
        expected = self._alone(texts)
        for words in race_threads(lambda _: analyzer.words(column, parameters), 4):
            self._same("a column in several threads", _by_text(words, len(texts)), expected)
        assert column.to_pylist() == texts, "texts are changed"
        assert parameters == before, "parameters are changed"

    def _analyzer(self) -> Analyzer:
        made: Analyzer = resolve_factory(self.spec.factory, repr(self.spec.name))()
        return made

    def _texts(self) -> list[str]:
        return [*TEXTS, *self.words]

    def _words(self, texts: pa.Array) -> Words:
        return self._analyzer().words(texts, {**DEFAULTS, **self.parameters})

    def _of_text(self, text: str) -> list[_Word]:
        return _by_text(self._words(_column([text])), 1)[0]

    def _alone(self, texts: Sequence[str]) -> list[list[_Word]]:
        return [self._of_text(text) for text in texts]

    @staticmethod
    def _same(name: str, got: list[list[_Word]], expected: list[list[_Word]]) -> None:
        for number, (own, alone) in enumerate(zip(got, expected, strict=True)):
            assert own == alone, f"{name}: text {number} has {own}; alone, it has {alone}"


def _column(texts: Sequence[str | None]) -> pa.Array:
    return pa.array(texts, pa.large_string())


def _by_text(words: Words, count: int) -> list[list[_Word]]:
    """The words of each text."""
    words_of_texts: list[list[_Word]] = [[] for _ in range(count)]
    numbers = (each.tolist() for each in words[1:])
    for text, owner, *rest in zip(words.words.to_pylist(), *numbers, strict=True):
        assert 0 <= owner < count, f"{text!r} is in text {owner} of {count}"
        words_of_texts[owner].append(_Word(text, *rest))
    return words_of_texts
