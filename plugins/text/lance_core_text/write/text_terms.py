"""`TextTerms`: the terms of texts, inverted to posting lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import from_numpy, from_values, to_numpy
from lance_core.hookspecs.indices import IndexBatch
from lance_core_text.analyzers.columns import analyze_column, element_texts
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.loops.inversion import inverted
from lance_core_text.write.posting_lists import Documents, Numbers, PostingLists


class TextTerms:
    """The terms of texts that are added, until they are inverted."""

    def __init__(
        self, parameters: TextParameters, first_document: int = 0, *, by_element: bool = False
    ) -> None:
        """``first_document``: its number. ``by_element``: as in `BuildParameters`."""
        self._parameters = parameters
        self._by_element = by_element
        self._terms: list[pa.Array] = []
        self._documents: list[Documents] = []
        self._parts: list[tuple[Numbers, ...]] = []
        self.num_documents = first_document
        """The number of the next document."""
        self.num_terms = 0
        """The terms of all texts so far, with repetitions."""

    def add(self, batch: IndexBatch) -> None:
        """Add rows; those without a term are no documents, but elements without one are."""
        values, rows = batch
        elements = None
        if self._by_element:
            values, rows, elements = element_texts(values, rows)
        analyzed = analyze_column(values, self._parameters, with_offsets=False)
        lengths = np.bincount(analyzed.texts, minlength=len(values))
        is_document = (lengths > 0) | self._by_element
        texts = np.flatnonzero(is_document)
        self._terms.append(analyzed.terms)
        self._documents.append(Documents(rows[texts], lengths[texts].astype(np.int32), elements))
        documents = (np.cumsum(is_document) - 1 + self.num_documents).astype(np.int32)
        positions = analyzed.positions if self._parameters.with_position else analyzed.positions[:0]
        parts = (analyzed.codes, np.repeat(documents, lengths), positions)
        self._parts.append(tuple(part.astype(np.int32, copy=False) for part in parts))
        self.num_documents += len(texts)
        self.num_terms += len(analyzed.codes)

    def inverted(self) -> tuple[Documents, PostingLists]:
        """The documents and posting lists of all texts; nothing can be added any more."""
        nothing = np.empty(0, np.int32)
        every = pa.concat_arrays([from_values([], pa.large_string()), *self._terms])
        distinct = every.dictionary_encode()
        terms, ranks = _sorted(distinct.dictionary)
        of_terms = to_numpy(distinct.indices)
        start = 0
        for at, own in enumerate(self._terms):
            codes, *others = self._parts[at]
            self._parts[at] = (of_terms[start : start + len(own)][codes], *others)
            start += len(own)
        parts = zip((nothing,) * 3, *self._parts, strict=True)
        numbers, documents, positions = (np.concatenate(part) for part in parts)
        self._parts.clear()
        inverted_lists = inverted(
            numbers, documents, positions if self._parameters.with_position else None, ranks
        )
        lists = PostingLists(terms, *inverted_lists)
        return Documents.joined(self._documents), lists


def _sorted(terms: pa.Array) -> tuple[pa.Array, Integers]:
    """``terms`` by their bytes, and for each of the given ones its place among these."""
    order = to_numpy(pc.sort_indices(terms)).astype(np.int64)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return terms.take(from_numpy(order)), ranks
