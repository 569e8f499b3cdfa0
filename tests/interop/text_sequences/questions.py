"""Random queries in words that say nothing of classes, and which rows they match by definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from random import Random
from typing import Any

from lance_core_text import analyze
from lance_core_text.analyzers.parameters import TextParameters
from tests.interop.text_sequences.rows import Positions, Rows

COLUMN = "t"

Words = list[tuple[int, frozenset[str]]]
"""The position of each word of a query, and the terms that match it."""


@dataclass(frozen=True)
class Question:
    """A query. ``form``: any, all, phrase, fuzzy, boolean or boost; the last two have ``parts``.

    ``number``: the slop of a phrase, or the edits of fuzzy words. ``boost``: of words, or what a
    negative part loses.
    """

    form: str
    text: str = ""
    boost: float = 1.0
    number: int = 0
    parts: tuple[Question, ...] = ()
    occurs: tuple[str, ...] = ()

    def query(self, library: Any) -> Any:
        """The query as an object of ``library``."""
        classes = import_module(f"{library.__name__}.query")
        if self.form == "boolean":
            pairs = zip(self.occurs, self.parts, strict=True)
            clauses = [(getattr(classes.Occur, name), part.query(library)) for name, part in pairs]
            return classes.BooleanQuery(clauses)
        if self.form == "boost":
            both = [part.query(library) for part in self.parts]
            return classes.BoostQuery(*both, negative_boost=self.boost)
        if self.form == "phrase":
            return classes.PhraseQuery(self.text, COLUMN, slop=self.number)
        operator = classes.FullTextOperator.AND if self.form == "all" else None
        more: dict[str, Any] = {} if operator is None else {"operator": operator}
        if self.form == "fuzzy":
            more = {"fuzziness": self.number, "max_expansions": 1000}
        return classes.MatchQuery(self.text, COLUMN, boost=self.boost, **more)

    @property
    def leaves(self) -> list[Question]:
        """The parts of parts that have words."""
        return [leaf for part in self.parts for leaf in part.leaves] if self.parts else [self]

    def matches(self, rows: Mapping[int, Positions], parameters: TextParameters) -> set[int]:
        """Those of ``rows`` that match."""
        if self.form == "boost":
            return self.parts[0].matches(rows, parameters)
        if self.form == "boolean":
            found = {
                name: [
                    part.matches(rows, parameters)
                    for occur, part in zip(self.occurs, self.parts, strict=True)
                    if occur == name
                ]
                for name in ("MUST", "SHOULD", "MUST_NOT")
            }
            must, should = found["MUST"], found["SHOULD"]
            chosen = set.intersection(*must) if must else set().union(*should)
            return chosen - set().union(*found["MUST_NOT"])
        words = self._words(rows, parameters)
        if not words:
            return set()
        if self.form == "phrase":
            return {id_ for id_, own in rows.items() if _has_phrase(own, words, self.number)}
        needed = all if self.form == "all" else any
        return {
            id_
            for id_, own in rows.items()
            if needed(not terms.isdisjoint(own) for _, terms in words)
        }

    def _words(self, rows: Mapping[int, Positions], parameters: TextParameters) -> Words:
        terms: dict[int, set[str]] = {}
        for token in analyze(self.text, parameters):
            terms.setdefault(token.position, set()).add(token.term)
        if self.form == "fuzzy":
            known = {term for own in rows.values() for term in own}
            for own in terms.values():
                first = next(iter(own))
                own |= {term for term in known if edits(first, term) <= self.number}
        return [(position, frozenset(own)) for position, own in sorted(terms.items())]


def _has_phrase(own: Positions, words: Words, slop: int) -> bool:
    ends: set[int] | None = None
    before = 0
    for position, terms in words:
        places: set[int] = set().union(*(own.get(term, frozenset()) for term in terms))
        if ends is not None:
            distance = position - before
            places = {
                place
                for place in places
                if any(place - end in ends for end in range(distance, distance + slop + 1))
            }
        ends, before = places, position
    return bool(ends)


def edits(first: str, second: str) -> int:
    """Levenshtein's distance; a transposition counts as two."""
    row = list(range(len(second) + 1))
    for number, letter in enumerate(first, 1):
        above, row[0] = row[0], number
        for place, other in enumerate(second, 1):
            above, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, above + (letter != other)),
            )
    return row[-1]


def random_question(rows: Rows, forms: Iterable[str]) -> Question:
    """A question of one of ``forms``, mostly of words that some rows have."""
    chance = rows.random
    form = chance.choice(list(forms))
    if form in ("boolean", "boost"):
        inner = [one for one in forms if one not in ("boolean", "boost", "fuzzy")]
        parts = tuple(random_question(rows, inner) for _ in range(2 + (form == "boolean")))
        occurs = (
            *(chance.choice(["MUST", "SHOULD"]),),
            *(chance.choice(["MUST", "SHOULD", "MUST_NOT"]) for _ in parts[1:]),
        )
        return Question(form, parts=parts, occurs=occurs, boost=chance.choice([0.5, 0.3]))
    boost = chance.choice([1.0, 1.0, 2.5])
    if form == "phrase":
        return Question(form, _phrase(rows), number=chance.choice([0, 0, 0, 1, 3]))
    words = rows.words_of(chance.choice([1, 1, 2, 3, 4]))
    if form == "fuzzy":
        return Question(form, _misspelt(words[0], chance), boost, chance.choice([1, 2]))
    if chance.random() < 0.05:
        words = [chance.choice(["unknown", "", "...", "the"])]
    return Question(form, " ".join(words), boost)


def _phrase(rows: Rows) -> str:
    """Words that follow each other in a row, or any."""
    chance = rows.random
    texts = [text for text in chance.sample(list(rows.texts.values()), 5) if text]
    if texts and chance.random() < 0.8:
        text = texts[0] if isinstance(texts[0], str) else " ".join(one or "" for one in texts[0])
        words = text.split()
        if words:
            start = chance.randrange(len(words))
            return " ".join(words[start : start + chance.choice([1, 2, 2, 3])])
    return " ".join(rows.words_of(chance.choice([2, 2, 3])))


def _misspelt(word: str, chance: Random) -> str:
    place = chance.randrange(len(word))
    return chance.choice([word, word[:place] + word[place + 1 :], f"{word[:place]}x{word[place:]}"])
