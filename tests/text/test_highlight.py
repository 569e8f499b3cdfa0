"""Snippets of texts with the words of a query."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError
from lance_core.query import BooleanQuery, MatchQuery, Occur, PhraseQuery
from lance_core_text import Snippet, highlight


def test_words_are_found_by_their_terms_and_marked() -> None:
    (found,) = highlight(["Größe: two Foxes, a FOX"], "größe fox", language="English")
    assert found == Snippet("Größe: two Foxes, a FOX", 0, ((0, 5), (11, 16), (20, 23)))
    assert found.marked() == "<b>Größe</b>: two <b>Foxes</b>, a <b>FOX</b>"
    assert found.marked("[", "]") == "[Größe]: two [Foxes], a [FOX]"


def test_texts_without_words_of_the_query_have_no_snippet() -> None:
    column = pa.chunked_array([["a fox", None], ["", "a hound"]])
    assert [one is None for one in highlight(column, "fox")] == [False, True, True, True]
    assert highlight([], "fox") == []


def test_the_part_with_most_distinct_words_is_taken_and_ends_between_words() -> None:
    text = "é fox fox fox " + "é stuff " * 40 + "brown fox runs " + "é stuff " * 40
    (found,) = highlight([text], "brown fox", max_length=40)
    assert found is not None
    assert "brown fox" in found.text
    assert len(found.text) <= 40
    assert text[found.start : found.start + len(found.text)] == found.text
    assert [found.text[a:b] for a, b in found.words] == ["brown", "fox"]
    assert set(found.text.split()) == {"é", "stuff", "brown", "fox", "runs"}


@pytest.mark.parametrize("max_length", [1, 3, 7, 30, 1000])
def test_offsets_are_inside_snippets_of_any_length(max_length: int) -> None:
    text = "one two  three four " * 5 + "two"
    (found,) = highlight([text], "two four", max_length=max_length)
    assert found is not None
    assert {found.text[a:b] for a, b in found.words} <= {"two", "four"}
    assert found.words
    assert len(found.text) <= max(max_length, 4)


def test_clauses_that_must_not_match_are_not_marked() -> None:
    clauses = [
        (Occur.SHOULD, MatchQuery("quikc", "t", fuzziness=2)),
        (Occur.SHOULD, PhraseQuery("brown fox", "t")),
        (Occur.MUST_NOT, MatchQuery("dog", "t")),
    ]
    (found,) = highlight(["quick brown fox, dog"], BooleanQuery(clauses))
    assert found is not None
    assert found.marked() == "<b>quick</b> <b>brown</b> <b>fox</b>, dog"


def test_words_that_overlap_are_marked_once() -> None:
    (found,) = highlight(["abcd"], "abcd", base_tokenizer="ngram")
    assert found is not None
    assert found.words == ((0, 3), (1, 4))
    assert found.marked() == "<b>abc</b>d"


def test_a_length_of_0_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="max_length"):
        highlight(["a"], "a", max_length=0)
