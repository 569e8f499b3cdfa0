"""`PostingTable`: the documents and postings of a partition that is written.

It is made of texts, or of the partitions of existing indices whose rows may have moved, or of
several tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.indices import IndexBatch, RowNumbers
from lance_core_text.analyzers.columns import analyze_column
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.loops.inversion import inverted
from lance_core_text.postings.partition import Partition

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import RowMap


_BYTES_OF_WORD = 4
"""Bytes of a word and the space after it, at least about."""


class PostingTable(NamedTuple):
    """Documents and postings.

    ``terms``: distinct large strings; the number of a term is its index. ``rows`` and ``lengths``:
    the row number and the terms, with repetitions, of each document. A posting is a number of a
    term, a document and how often it has the term, by ascending term and document. ``positions``:
    those of all postings, as many for each as its frequency; None if they are not stored.
    """

    terms: pa.Array
    rows: RowNumbers
    lengths: Integers
    numbers: Integers
    documents: Integers
    frequencies: Integers
    positions: Integers | None


class TextTerms:
    """The terms of texts that are added, until they are a table."""

    def __init__(self, parameters: TextParameters) -> None:
        self._parameters = parameters
        self._terms: list[pa.Array] = []
        self._rows: list[RowNumbers] = []
        self._lengths: list[Integers] = []
        self._parts: list[tuple[npt.NDArray[np.int32], ...]] = []
        self._num_documents = 0
        self.num_terms = 0
        """The terms of all texts so far, with repetitions."""

    def add(self, batch: IndexBatch) -> None:
        """Add rows; those without a term are no documents."""
        found = analyze_column(batch.values, self._parameters, with_places=False)
        lengths = np.bincount(found.texts, minlength=len(batch.values))
        there = np.flatnonzero(lengths)
        self._terms.append(found.terms)
        self._rows.append(batch.rows[there])
        self._lengths.append(lengths[there])
        documents = (np.cumsum(lengths > 0) - 1 + self._num_documents).astype(np.int32)
        positions = found.positions if self._parameters.with_position else found.positions[:0]
        self._parts.append(
            (
                found.codes.astype(np.int32),
                np.repeat(documents, lengths),
                positions.astype(np.int32),
            )
        )
        self._num_documents += len(there)
        self.num_terms += len(found.codes)

    def table(self) -> PostingTable:
        """The documents and postings; the numbers of terms are in the order of their bytes."""
        nothing = np.empty(0, np.int32)
        every = pa.concat_arrays([pa.array([], pa.large_string()), *self._terms])
        distinct = every.dictionary_encode()
        terms, ranks = _sorted(distinct.dictionary)
        of_terms = distinct.indices.to_numpy()
        start = 0
        for at, own in enumerate(self._terms):
            codes, *others = self._parts[at]
            self._parts[at] = (of_terms[start : start + len(own)][codes], *others)
            start += len(own)
        parts = zip(*self._parts, strict=True) if self._parts else ((nothing,),) * 3
        numbers, documents, positions = (np.concatenate(part) for part in parts)
        self._parts.clear()
        with_positions = self._parameters.with_position
        return PostingTable(
            terms,
            np.concatenate([np.empty(0, np.uint64), *self._rows]),
            np.concatenate([np.empty(0, np.int64), *self._lengths]),
            *inverted(numbers, documents, positions if with_positions else None, ranks),
        )


def stored_table(partition: Partition, rows: RowMap, *, with_positions: bool) -> PostingTable:
    """The documents of a partition that ``rows`` keeps, with their new row numbers.

    Raises `CorruptFileError`.
    """
    terms, numbers = partition.tokens.all()
    found = partition.all_postings()
    positions = partition.all_positions() if with_positions else None
    moved, is_kept = rows.moved(partition.documents.rows)
    documents = np.cumsum(is_kept) - 1
    chosen = is_kept[found.documents]
    if positions is not None:
        positions = positions[np.repeat(chosen, found.frequencies)]
    rank = np.empty(len(numbers), np.int64)
    rank[numbers] = np.arange(len(numbers))
    lists = rank[np.repeat(np.arange(partition.num_terms), partition.lengths)]
    table = PostingTable(
        terms,
        moved[is_kept],
        partition.documents.lengths[is_kept],
        lists[chosen],
        documents[found.documents[chosen]],
        found.frequencies[chosen],
        positions,
    )
    return combined([table])


def combined(tables: Sequence[PostingTable]) -> PostingTable:
    """One table of all documents, which are sorted by their rows; unused terms are left out."""
    rows = np.concatenate([table.rows for table in tables])
    by_row = np.argsort(rows, kind="stable")
    new_document = np.empty(len(rows), np.int64)
    new_document[by_row] = np.arange(len(rows))
    starts = np.cumsum([0, *(len(table.rows) for table in tables)]).tolist()
    documents = np.concatenate(
        [new_document[start + t.documents] for start, t in zip(starts, tables, strict=False)]
    )
    every = pa.concat_arrays([table.terms for table in tables]).dictionary_encode()
    offsets = np.cumsum([0, *(len(table.terms) for table in tables)]).tolist()
    of_term = every.indices.to_numpy().astype(np.int64)
    numbers = np.concatenate(
        [of_term[offset + t.numbers] for offset, t in zip(offsets, tables, strict=False)]
    )
    is_used = np.bincount(numbers, minlength=len(every.dictionary)) > 0
    terms, sorted_numbers = _sorted(every.dictionary.filter(pa.array(is_used)))
    renumbered = np.zeros(len(is_used), np.int64)
    renumbered[is_used] = sorted_numbers
    numbers = renumbered[numbers]
    order = np.lexsort((documents, numbers))
    frequencies = np.concatenate([table.frequencies for table in tables])
    positions = None
    if tables[0].positions is not None:
        stored = np.concatenate([t.positions for t in tables if t.positions is not None])
        firsts = np.cumsum(frequencies) - frequencies
        counts = frequencies[order]
        ends = np.cumsum(counts)
        places = np.repeat(firsts[order] - (ends - counts), counts)
        positions = stored[places + np.arange(len(places))]
    return PostingTable(
        terms,
        rows[by_row],
        np.concatenate([table.lengths for table in tables])[by_row],
        numbers[order],
        documents[order],
        frequencies[order],
        positions,
    )


def text_tables(
    batches: Iterable[IndexBatch], parameters: TextParameters, max_terms: int
) -> Iterable[PostingTable]:
    """Tables of at most about ``max_terms`` terms each, with repetitions."""
    found = TextTerms(parameters)
    for batch in batches:
        for part in _slices(batch, _BYTES_OF_WORD * max_terms):
            found.add(part)
            if found.num_terms >= max_terms:
                yield found.table()
                found = TextTerms(parameters)
    if found.num_terms:
        yield found.table()


def _slices(batch: IndexBatch, size: int) -> Iterable[IndexBatch]:
    """The rows of ``batch`` in parts of about ``size`` bytes at most."""
    count = len(batch.rows)
    step = max(1, count * size // max(1, batch.values.nbytes))
    for start in range(0, count, step):
        yield IndexBatch(batch.values.slice(start, step), batch.rows[start : start + step])


def _sorted(terms: pa.Array) -> tuple[pa.Array, Integers]:
    """``terms`` by their bytes, and for each of the given ones its place among these."""
    order = pc.sort_indices(terms).to_numpy().astype(np.int64)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return terms.take(pa.array(order)), places
