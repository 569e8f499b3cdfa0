"""Words that match terms which are a few edits away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lance_core_text.postings.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Fuzziness:
    """How far away terms may be.

    ``edits``: None allows 0 for terms of up to 2 characters, 1 up to 5, and 2 for longer ones.
    ``max_terms``: the terms of a word at most, the nearest first; the word itself always counts.
    ``prefix``: so many first characters must be equal.
    """

    edits: int | None
    max_terms: int = 50
    prefix: int = 0

    def edits_of(self, term: str) -> int:
        """The edits that are allowed for a word with this term."""
        if self.edits is not None:
            return self.edits
        return 0 if len(term) <= 2 else 1 if len(term) <= 5 else 2

    def terms_near(
        self, term: str, vocabularies: Iterable[Vocabulary], fixed: int = 0
    ) -> tuple[str, ...]:
        """The term and those of ``vocabularies`` near it, the nearest first.

        ``fixed``: so many first characters are no part of the word, and must be equal.
        """
        edits = self.edits_of(term[fixed:])
        most = max(1, self.max_terms)
        distances = {term: 0}
        for vocabulary in vocabularies if edits else ():
            near = vocabulary.near(term, edits, fixed + self.prefix, most)
            distances.update(zip(near.terms, near.distances, strict=True))
        order = sorted((distance, near_term) for near_term, distance in distances.items())
        return tuple(near_term for _, near_term in order[:most])
