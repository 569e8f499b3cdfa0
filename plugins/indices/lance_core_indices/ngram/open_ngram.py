"""An opened NGRAM index: finds rows by the tokens of a text, and gives its postings to others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial, reduce
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.hookspecs.concurrency import LruCache
from lance_core.hookspecs.indices import (
    EMPTY,
    Contains,
    IndexFolder,
    IndexPart,
    IndexQuery,
    MatchesRegex,
    OpenIndex,
    RowSet,
    SearchResult,
    StartsWith,
    count_parts,
)
from lance_core_indices.ngram.postings import FILE, SCHEMA, Postings, TokenCounts
from lance_core_indices.ngram.required_literals import required_literals
from lance_core_indices.ngram.trigrams import MAX_TOKEN, tokens_of

MAX_CACHE_BYTES = 64 << 20
"""Maximum bytes of the postings that an open index keeps, in each of its two forms."""

MAX_COMPARED = 64
"""Maximum postings that a search reads. The rows are checked in any case."""

_TOKENS, _POSTINGS = SCHEMA.names


def query_tokens(query: IndexQuery) -> frozenset[int]:
    """Tokens that each string has for which ``query`` is true; empty if none are known."""
    match query:
        case Contains(text) | StartsWith(text):
            texts: Iterable[str] = [text]
        case MatchesRegex(pattern):
            texts = required_literals(pattern)
        case _:
            texts = ()
    return frozenset().union(*map(tokens_of, texts))


class OpenNGram(OpenIndex):
    """An opened NGRAM index. It caches parsed postings."""

    def __init__(self, folder: IndexFolder) -> None:
        self._file = folder.reader(FILE)
        self._size = folder.sizes.get(FILE) or MAX_CACHE_BYTES
        self._check_schema()
        stored = self._read_tokens()
        self._order = np.argsort(stored, kind="stable")
        self._tokens = stored[self._order]
        self._blobs: pa.Array | None = None
        self._sets: LruCache[int, tuple[RowSet, int]] = LruCache(MAX_CACHE_BYTES, lambda x: x[1])

    @property
    def nbytes(self) -> int:
        arrays: int = self._tokens.nbytes + self._order.nbytes
        return arrays + 2 * min(self._size, MAX_CACHE_BYTES)

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        tokens = np.array(sorted(query_tokens(query)), np.uint32)
        positions = np.searchsorted(self._tokens, tokens)
        if not np.isin(tokens, self._tokens).all():
            return SearchResult(EMPTY)
        sets = sorted(self._row_sets(self._order[positions[:MAX_COMPARED]]), key=lambda x: x[1])
        return SearchResult(reduce(and_, (rows for rows, _ in sets)), num_pages=len(sets))

    def statistics(self) -> Mapping[str, Any]:
        return {"num_ngrams": len(self._tokens)}

    def prewarm(self) -> None:
        if self._size <= MAX_CACHE_BYTES and self._blobs is None:
            self._blobs = self._file.read([_POSTINGS]).column(0).combine_chunks()

    def token_counts(self) -> TokenCounts:
        """The tokens, each with the average number of rows, estimated from the file's size."""
        average = self._size // 2 // max(len(self._tokens), 1)
        return TokenCounts(self._tokens, np.full(len(self._tokens), average, np.int64))

    def postings(self, first: int, last: int) -> Postings:
        """The pairs of the tokens from ``first`` to ``last``, both included."""
        start = int(np.searchsorted(self._tokens, first))
        stop = int(np.searchsorted(self._tokens, last, side="right"))
        blobs = self._read(self._order[start:stop])
        rows = [self._row_set(blob).numbers() for blob in blobs]
        counts = [len(numbers) for numbers in rows]
        tokens = np.repeat(self._tokens[start:stop], counts)
        return Postings(tokens, np.concatenate([np.empty(0, np.uint64), *rows]))

    def _check_schema(self) -> None:
        schema = self._file.schema
        for expected in SCHEMA:
            if expected.name not in schema.names:
                reason = "the column is missing"
            elif (stored := schema.field(expected.name).type) != expected.type:
                reason = f"the type is {stored} instead of {expected.type}"
            else:
                continue
            raise CorruptFileError(reason, self._file.path, field=expected.name)

    def _read_tokens(self) -> npt.NDArray[np.uint32]:
        tokens = self._file.read([_TOKENS]).column(0).combine_chunks()
        stored: npt.NDArray[np.uint32] = to_numpy(tokens.drop_null())
        if len(stored) < len(tokens):
            raise CorruptFileError("a token is null", self._file.path, field=_TOKENS)
        if len(stored) and stored.max() > MAX_TOKEN:
            reason = f"token {stored.max()} is above {MAX_TOKEN}, which no trigram has"
            raise CorruptFileError(reason, self._file.path, field=_TOKENS)
        if len(np.unique(stored)) < len(stored):
            raise CorruptFileError("a token is stored twice", self._file.path, field=_TOKENS)
        return stored

    def _read(self, file_rows: npt.NDArray[np.int64]) -> list[bytes]:
        """The serialised postings at these rows of the file, in this order."""
        ordered = np.sort(file_rows)
        if self._blobs is not None:
            blobs = self._blobs.take(from_numpy(ordered))
        else:
            count_parts(len(file_rows))
            blobs = self._file.take(ordered, [_POSTINGS]).column(0)
        if blobs.null_count:
            raise CorruptFileError("a posting list is null", self._file.path, field=_POSTINGS)
        blob_of = dict(zip(ordered.tolist(), blobs.to_pylist(), strict=True))
        return [blob_of[row] for row in file_rows.tolist()]

    def _row_sets(self, file_rows: npt.NDArray[np.int64]) -> list[tuple[RowSet, int]]:
        """The postings at these rows of the file, and their bytes; reads missing ones at once."""
        missing = [row for row in file_rows.tolist() if row not in self._sets]
        read = dict(zip(missing, self._read(np.array(missing, np.int64)), strict=True))

        def make(row: int) -> tuple[RowSet, int]:
            # The cache may have dropped a place after the look at it.
            blob = read[row] if row in read else self._read(np.array([row]))[0]
            return self._row_set(blob), len(blob)

        return [self._sets.get(row, partial(make, row)) for row in file_rows.tolist()]

    def _row_set(self, blob: bytes) -> RowSet:
        try:
            return RowSet.from_treemap(blob)
        except CorruptFileError as error:
            raise error.at(self._file.path, field=_POSTINGS) from None


class MovedPostings:
    """The postings of an existing index, with the row numbers of a new one."""

    def __init__(self, part: IndexPart) -> None:
        if not isinstance(part.source, OpenNGram):
            raise TypeError(f"an NGRAM index cannot have the rows of {part.source!r}")
        self._source = part.source
        self._map = part.map

    def token_counts(self) -> TokenCounts:
        """The tokens, with estimates of their rows."""
        return self._source.token_counts()

    def postings(self, first: int, last: int) -> Postings:
        """The pairs of the tokens from ``first`` to ``last`` that the new index has."""
        tokens, rows = self._source.postings(first, last)
        moved, is_live = self._map.moved(rows)
        return Postings(tokens[is_live], moved[is_live])
