"""`highlight`: the parts of texts in which the words of a query are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_values, to_numpy
from lance_core.hookspecs.searches import RankedQuery
from lance_core_text.analyzers.analyze import analyze_texts
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.postings.vocabulary import Vocabulary
from lance_core_text.queries.clauses import Role
from lance_core_text.queries.compound import CompoundQuery
from lance_core_text.queries.full_text import FullTextQuery
from lance_core_text.queries.text_query import TextQuery
from lance_core_text.queries.words import TextMatch
from lance_core_text.search import query_parts

Span = tuple[int, int]
"""Where something begins and ends, in characters."""


class Snippet(NamedTuple):
    """A part of a text, which begins at its character ``start``.

    ``words``: where the words of the query are, in characters of the snippet.
    """

    text: str
    start: int
    words: tuple[Span, ...]

    def marked(self, before: str = "<b>", after: str = "</b>") -> str:
        """The snippet with something around each word. Nothing is escaped."""
        parts, end = [], 0
        for start, stop in self.words:
            if start >= end:  # the words of the analyzer ngram overlap
                parts += [self.text[end:start], before, self.text[start:stop], after]
                end = stop
        return "".join([*parts, self.text[end:]])


class _Match(NamedTuple):
    span: Span
    code: int


def highlight(
    texts: Sequence[str | None] | pa.Array | pa.ChunkedArray,
    query: str | FullTextQuery,
    *,
    max_length: int = 160,
    **parameters: Any,
) -> list[Snippet | None]:
    """For each text, the part of up to ``max_length`` characters with most words of ``query``.

    Most distinct words count first, then most words, then the place. None for a null text, and for
    one without such words. Words of clauses that must not match do not count; those of phrases
    count wherever they are. ``parameters``: those of the index, as `analyze` has them. Raises
    `InvalidInputError`, ``TypeError``, and `PluginNotFoundError` if no plugin has the analyzer.
    """
    if max_length < 1:
        raise InvalidInputError(f"max_length is at least 1, got {max_length}")
    own = TextParameters.of(parameters)
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        texts = texts.to_pylist()
    analyzed = analyze_texts(from_values(texts, pa.large_string()), own)
    terms = analyzed.terms.take(pc.sort_indices(analyzed.terms))
    searched: set[str] = set()
    for match in _matches(query):
        for word in match.expanded(match.words(own), [Vocabulary(terms)]):
            searched.update(word.terms)
    is_searched = pc.is_in(analyzed.terms, from_values(sorted(searched), pa.large_string()))
    mask = to_numpy(is_searched)[analyzed.codes]
    columns = (analyzed.texts, analyzed.starts, analyzed.stops, analyzed.codes)
    by_text: dict[int, list[tuple[int, int, int]]] = {}
    for number, *rest in zip(*(each[mask].tolist() for each in columns), strict=True):
        by_text.setdefault(number, []).append(tuple(rest))
    return [
        _snippet(text, by_text[number], max_length) if text and number in by_text else None
        for number, text in enumerate(texts)
    ]


def _matches(query: str | FullTextQuery) -> Iterator[TextMatch]:
    """What rows are ranked for."""
    if isinstance(query, str):
        yield TextMatch("", query)
    else:
        yield from _leaves(query_parts(query))


def _leaves(query: RankedQuery) -> Iterator[TextMatch]:
    if isinstance(query, TextQuery):
        yield from (match for role, match in query.matches if role is not Role.MUST_NOT)
    elif isinstance(query, CompoundQuery):
        for part in query.scored_parts:
            yield from _leaves(part)


def _snippet(text: str, spans: list[tuple[int, int, int]], max_length: int) -> Snippet:
    """The best snippet; ``spans``: of words, in bytes of UTF-8, with their terms' codes."""
    data = text.encode()
    every = [
        _Match((len(data[:start].decode()), len(data[:stop].decode())), code)
        for start, stop, code in spans
    ]
    best: list[_Match] = []
    best_key = (-1, -1)
    for number, first in enumerate(every):
        end = first.span[0] + max_length
        inside = [match for match in every[number:] if match.span[1] <= end] or [first]
        key = (len({match.code for match in inside}), len(inside))
        if key > best_key:
            best, best_key = inside, key
    low, high = best[0].span[0], max(match.span[1] for match in best)
    start = max(0, low - max(0, max_length - (high - low)) // 2)
    stop = min(len(text), max(high, start + max_length))
    start = max(0, min(start, stop - max_length))
    # Words at the ends are whole, if there is a space between them and the words of the query.
    if start and not text[start - 1].isspace():
        start += next((n + 1 for n, letter in enumerate(text[start:low]) if letter.isspace()), 0)
    if stop < len(text) and not text[stop].isspace():
        stop -= next(
            (n + 1 for n, letter in enumerate(text[high:stop][::-1]) if letter.isspace()), 0
        )
    words = tuple(
        (match.span[0] - start, match.span[1] - start)
        for match in every
        if start <= match.span[0] and match.span[1] <= stop
    )
    return Snippet(text[start:stop], start, words)
