"""What is searched in a column: words with their terms, and how they must match."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lance_core_text.analyzers.analyze import analyze
from lance_core_text.analyzers.json_documents import (
    analyze_triples,
    is_json,
    prefix_length,
)
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.postings.vocabulary import Vocabulary
from lance_core_text.queries.fuzzy import Fuzziness


class Word(NamedTuple):
    """A word of a query: the terms that match it, and its position in the query.

    ``fixed``: the first characters that terms near it have as well.
    """

    terms: tuple[str, ...]
    position: int
    fixed: int = 0


@dataclass(frozen=True, slots=True)
class TextMatch:
    """What a user wants to find in a column.

    ``boost``: a factor of scores. ``needs_all``: True if a row must have all words. ``slop``: None
    for words in any order; otherwise, how many other words may be between two words of a phrase.
    ``fuzziness``: None if words match as they are. ``by_element``: elements of lists are ranked,
    not rows.
    """

    column: str
    text: str
    boost: float = 1.0
    needs_all: bool = False
    slop: int | None = None
    fuzziness: Fuzziness | None = None
    by_element: bool = False

    def words(self, parameters: TextParameters) -> tuple[Word, ...]:
        """The words of the text, as an index with these parameters has them.

        Terms at one position, such as all of the analyzer ``ngram``, are alternatives.
        """
        return _words(self.text, parameters)

    def expanded(
        self, words: Sequence[Word], vocabularies: Sequence[Vocabulary]
    ) -> tuple[Word, ...]:
        """``words`` with the terms of ``vocabularies`` that are near enough."""
        fuzziness = self.fuzziness
        if fuzziness is None:
            return tuple(words)
        return tuple(
            word._replace(terms=fuzziness.terms_near(word.terms[0], vocabularies, word.fixed))
            for word in words
        )


@functools.lru_cache(maxsize=256)
def _words(text: str, parameters: TextParameters) -> tuple[Word, ...]:
    """The words of a text. A query is analyzed for each column and segment, and often repeated."""
    terms: dict[int, dict[str, None]] = {}
    tokens = (analyze_triples if is_json(parameters) else analyze)(text, parameters)
    for token in tokens:
        terms.setdefault(token.position, {})[token.term] = None
    first = min(terms, default=0)
    words = (Word(tuple(own), position - first) for position, own in terms.items())
    if not is_json(parameters):
        return tuple(words)
    return tuple(word._replace(fixed=prefix_length(word.terms[0])) for word in words)
