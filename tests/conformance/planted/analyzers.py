"""Defects of analyzers: each splits texts at spaces, with one thing wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.analyzers import Analyzer, Words
from tests.conformance.planted.runner import Defect, defects_of

Row = tuple[str, int, int, int, int]
"""A word, its text, its position, and where it begins and ends."""


class Plain(Analyzer):
    """Without a defect; others override `rows` or `of_text`."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        return self.arrays(list(self.rows(texts.to_pylist())))

    def rows(self, texts: list[str | None]) -> Iterator[Row]:
        for number, text in enumerate(texts):
            for word, *rest in self.of_text(text or ""):
                yield word, number, *rest

    def of_text(self, text: str) -> Iterator[Any]:
        for position, match in enumerate(re.finditer(r"[^ ]+", text)):
            start = len(text[: match.start()].encode())
            yield match[0], position, start, start + len(match[0].encode())

    def arrays(self, rows: list[Row]) -> Words:
        columns = list(zip(*rows, strict=True)) if rows else [()] * 5
        numbers = (np.array(column, np.int64) for column in columns[1:])
        return Words(pa.array(columns[0], pa.large_string()), *numbers)


class NoAnalyzer:
    """It has the method, but not the base."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> None: ...


class OffsetsOfCharacters(Plain):
    def of_text(self, text: str) -> Iterator[Any]:
        for position, match in enumerate(re.finditer(r"[^ ]+", text)):
            yield match[0], position, *match.span()


class LowerCase(Plain):
    """It does what filters do."""

    def of_text(self, text: str) -> Iterator[Any]:
        for word, *rest in super().of_text(text):
            yield word.lower(), *rest


class EmptyWords(Plain):
    def of_text(self, text: str) -> Iterator[Any]:
        yield "", 0, 0, 0
        yield from super().of_text(text)


class LosesLastWords(Plain):
    def of_text(self, text: str) -> Iterator[Any]:
        return iter(list(super().of_text(text))[:-1])


class PositionsOfTheColumn(Plain):
    def rows(self, texts: list[str | None]) -> Iterator[Row]:
        for number, (word, text, _, *rest) in enumerate(super().rows(texts)):
            yield word, text, number, *rest  # type: ignore[misc]


class PositionsFrom1(Plain):
    def of_text(self, text: str) -> Iterator[Any]:
        for word, position, *rest in super().of_text(text):
            yield word, position + 1, *rest


class Backwards(Plain):
    def of_text(self, text: str) -> Iterator[Any]:
        return iter(list(super().of_text(text))[::-1])


class ByWords(Plain):
    """The words of a column are in the order of the alphabet."""

    def rows(self, texts: list[str | None]) -> Iterator[Row]:
        return iter(sorted(super().rows(texts)))


class EachWordOnce(Plain):
    """It forgets words that an earlier text has."""

    def rows(self, texts: list[str | None]) -> Iterator[Row]:
        known: dict[str, int] = {}
        for row in super().rows(texts):
            if known.setdefault(row[0], row[1]) == row[1]:
                yield row


class NullIsAWord(Plain):
    def rows(self, texts: list[str | None]) -> Iterator[Row]:
        return super().rows([str(text) for text in texts])


class WithoutNulls(Plain):
    """It numbers the texts that are not null."""

    def rows(self, texts: list[str | None]) -> Iterator[Row]:
        return super().rows([text for text in texts if text is not None])


class BytesUnderNulls(Plain):
    """It reads the buffers of a column without its nulls."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        _, *buffers = texts.buffers()
        bare = pa.Array.from_buffers(texts.type, len(texts), [None, *buffers], 0, texts.offset)
        return super().words(bare, parameters)


class WithoutTheSlice(Plain):
    """It reads the buffers of a column from their beginning."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        bare = pa.Array.from_buffers(texts.type, len(texts), texts.buffers())
        return super().words(bare, parameters)


class Int32(Plain):
    def arrays(self, rows: list[Row]) -> Words:
        words = super().arrays(rows)
        return words._replace(starts=words.starts.astype(np.int32))  # type: ignore[arg-type]


class NullsOfNothing(Plain):
    """Without words, the array of words has no type."""

    def arrays(self, rows: list[Row]) -> Words:
        words = super().arrays(rows)
        return words if rows else words._replace(words=pa.array([]))


class Counting(Plain):
    """Its results depend on earlier calls."""

    calls = 0

    def of_text(self, text: str) -> Iterator[Any]:
        Counting.calls += 1
        for word, position, start, stop in super().of_text(text):
            yield word, position + Counting.calls % 7, start, stop


class ChangesParameters(Plain):
    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        parameters["language"] = "Klingon"  # type: ignore[index]
        return super().words(texts, parameters)


def with_an_argument(language: str) -> Analyzer:
    return Plain()


ALL: list[Defect] = [
    *defects_of(
        "test_the_descriptor_is_valid_and_its_analyzer_can_be_made", NoAnalyzer, with_an_argument
    ),
    *defects_of("test_texts_have_the_expected_words", LosesLastWords, EmptyWords),
    *defects_of("test_arrays_have_their_types_and_one_value_for_each_word", Int32, NullsOfNothing),
    *defects_of("test_words_are_parts_of_their_texts", OffsetsOfCharacters, LowerCase, EmptyWords),
    *defects_of("test_positions_begin_at_0_and_never_descend", PositionsFrom1, Backwards),
    *defects_of(
        "test_the_words_of_a_column_are_those_of_each_text",
        *(PositionsOfTheColumn, ByWords, EachWordOnce),
    ),
    *defects_of(
        "test_nulls_have_no_words_and_leave_other_texts_alone",
        *(NullIsAWord, WithoutNulls, BytesUnderNulls),
    ),
    *defects_of("test_sliced_columns_have_the_words_of_their_texts", WithoutTheSlice),
    *defects_of("test_the_same_texts_have_the_same_words_in_threads", Counting, ChangesParameters),
]
