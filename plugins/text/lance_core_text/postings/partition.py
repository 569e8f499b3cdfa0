"""`Partition`: the terms, documents and postings of a part of an index."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import to_numpy
from lance_core.hookspecs.concurrency import LruCache, cached_property
from lance_core.hookspecs.indices import IndexFileReader, IndexFolder, RowNumbers, count_parts
from lance_core.hookspecs.searches import Elements
from lance_core_text.postings import index_files
from lance_core_text.postings.blocks import BlockLayout, Bytes, Postings, decode_blocks
from lance_core_text.postings.positions import Streams, decode_lists, decode_streams
from lance_core_text.postings.token_set import TokenSet, read_tokens
from lance_core_text.postings.vocabulary import Vocabulary

ROW_ID = "_rowid"
NUM_TOKENS = "_num_tokens"
ELEMENT = "_doc_index_0"
"""The position of an element that is a document, in the list of its row."""
INNER_ELEMENT = "_doc_index_1"
"""The position in an inner list, in indices of lists in lists."""

POSTING = "_posting"
MAX_SCORE = "_max_score"
LENGTH = "_length"
IMPACTS = "_impacts"
POSITION_LISTS = "_position"
POSITION_STREAM = "_compressed_position"
POSITION_OFFSETS = "_position_block_offset"

_TYPES: Mapping[str, pa.DataType] = {
    POSTING: pa.list_(pa.large_binary()),
    LENGTH: pa.uint32(),
    POSITION_LISTS: pa.list_(pa.list_(pa.large_binary())),
    POSITION_STREAM: pa.large_binary(),
    POSITION_OFFSETS: pa.list_(pa.uint32()),
}
"""The types of the columns that are read."""

_DOCUMENT_TYPES: Mapping[str, pa.DataType] = {
    ROW_ID: pa.uint64(),
    NUM_TOKENS: pa.uint32(),
    ELEMENT: pa.uint32(),
}

MAX_CACHED_BYTES = 256 << 20
"""Maximum bytes of cached postings of a partition: blocks for the compiled loops, decoded ones for
numpy."""

_MAX_KNOWN_TERMS = 1 << 14
"""Terms whose numbers are kept, of a partition."""


TermNumbers: TypeAlias = Mapping[str, int]
"""The numbers of terms in a partition, such as those that match a word."""


class TermBlocks(NamedTuple):
    """Blocks, or streams of positions, of a term: i is ``data[offsets[i] : offsets[i + 1]]``.

    ``length``: the documents of all blocks.
    """

    data: Bytes
    offsets: Integers
    length: int


class Documents(NamedTuple):
    """The documents of a partition: the row number and the number of terms of each.

    ``elements``: the position in the list of the row, None if rows are documents.
    """

    rows: RowNumbers
    lengths: Integers
    elements: Elements | None = None


class Partition:
    """A part of an index, with documents and numbers of terms of its own. Thread-safe."""

    def __init__(self, folder: IndexFolder, number: int) -> None:
        self._tokens = folder.reader(index_files.tokens_file(number))
        self._documents = folder.reader(index_files.documents_file(number))
        self._postings = folder.reader(index_files.postings_file(number))
        self.layout = index_files.block_layout(self._postings)
        _check_types(self._documents, _DOCUMENT_TYPES)
        self.has_elements = ELEMENT in self._documents.names
        if INNER_ELEMENT in self._documents.names:
            raise UnsupportedFeatureError("text indices of the elements of lists in lists")
        _check_types(self._postings, _TYPES)
        names = self._postings.names
        self.has_positions = POSITION_STREAM in names or POSITION_LISTS in names
        self._cache: LruCache[tuple[int, bool], _Cached] = LruCache(
            MAX_CACHED_BYTES, lambda postings: postings.nbytes + 256, made_once=True
        )
        self._blocks: LruCache[tuple[int, bool], TermBlocks] = LruCache(
            MAX_CACHED_BYTES,
            lambda blocks: blocks.data.nbytes + blocks.offsets.nbytes + 256,
            made_once=True,
        )
        self._numbers: dict[str, int | None] = {}

    @property
    def num_documents(self) -> int:
        """The rows that have a term."""
        return self._documents.num_rows

    @property
    def num_terms(self) -> int:
        """The distinct terms."""
        return self._postings.num_rows

    @property
    def nbytes(self) -> int:
        """The most bytes in memory: documents, terms, and cached postings."""
        return 16 * self.num_documents + 16 * self.num_terms + MAX_CACHED_BYTES

    @cached_property
    def total_length(self) -> int:
        """The numbers of terms of all documents together."""
        stored = index_files.total_tokens(self._documents)
        return int(self.documents.lengths.sum()) if stored is None else stored

    @cached_property
    def tokens(self) -> TokenSet:
        """The terms."""
        return read_tokens(self._tokens, self.num_terms)

    @cached_property
    def documents(self) -> Documents:
        """The documents. Raises `CorruptFileError`."""
        names = [ROW_ID, NUM_TOKENS, ELEMENT] if self.has_elements else [ROW_ID, NUM_TOKENS]
        columns = self._documents.arrays(names)
        if any(column.null_count for column in columns):
            raise CorruptFileError("a value is null", self._documents.path, field=ROW_ID)
        rows, lengths, *others = (to_numpy(column) for column in columns)
        elements = others[0] if others else None
        if has_repeated(rows, elements):
            raise CorruptFileError("a row is in two documents", self._documents.path, field=ROW_ID)
        documents = Documents(rows, lengths.astype(np.int64), elements)
        total = index_files.total_tokens(self._documents)
        if total is not None and total != documents.lengths.sum():
            raise CorruptFileError(
                f"documents have {documents.lengths.sum()} terms, not {total}",
                self._documents.path,
                field=NUM_TOKENS,
            )
        return documents

    @cached_property
    def has_sorted_rows(self) -> bool:
        """True if the rows of documents ascend, and the elements of each row."""
        rows, _, elements = self.documents
        ascends = rows[1:] > rows[:-1]
        if elements is not None:
            ascends |= (rows[1:] == rows[:-1]) & (elements[1:] > elements[:-1])
        return bool(ascends.all())

    @cached_property
    def lengths(self) -> Integers:
        """The number of documents of each term."""
        (stored,) = self._postings.arrays([LENGTH])
        if stored.null_count:
            raise CorruptFileError("a value is null", self._postings.path, field=LENGTH)
        lengths: Integers = to_numpy(stored).astype(np.int64)
        return lengths

    @cached_property
    def scored_lengths(self) -> Integers:
        """The number of terms of each document as scores have it.

        Format 3, with blocks of 256 documents, scores by the four highest bits.
        """
        return self.layout.scored_lengths(self.documents.lengths)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """All terms, to find those near a word; decoded at the first fuzzy query."""
        return Vocabulary(self.tokens.all()[0])

    def number(self, term: str) -> int | None:
        """The number of ``term``; None if no document has it. Raises `CorruptFileError`."""
        known = self._numbers
        if term in known:
            return known[term]
        number = self.tokens.number(term)
        if number is not None and not 0 <= number < self.num_terms:
            raise CorruptFileError(f"a term has the number {number}", self._tokens.path)
        if len(known) >= _MAX_KNOWN_TERMS:
            self._numbers = known = {}
        known[term] = number
        return number

    @property
    def postings_path(self) -> str:
        """The path of the file of postings."""
        return self._postings.path

    @property
    def has_streams(self) -> bool:
        """True if positions are streams, False if they are lists of blocks or missing."""
        return self.has_positions and index_files.has_streams(self._postings)

    def blocks(self, number: int) -> TermBlocks:
        """The blocks of a term as they are stored. Raises `CorruptFileError`."""
        return self._blocks.get((number, False), lambda: self._read_blocks(number))

    def streams(self, number: int) -> tuple[Bytes, Integers]:
        """The streams of positions of a term, one a block, and their offsets.

        Raises `CorruptFileError`.
        """
        blocks = self._blocks.get((number, True), lambda: self._read_streams(number))
        return blocks.data, blocks.offsets

    def postings(self, number: int) -> Postings:
        """The postings of a term. Raises `CorruptFileError`."""
        return self._cache.get((number, False), lambda: self._read(number)).postings

    def positions(self, number: int) -> Integers:
        """The positions of a term in each of its documents, all one after the other."""
        positions = self._cache.get((number, True), lambda: self._read_positions(number)).positions
        assert positions is not None
        return positions

    def prewarm(self) -> None:
        """Load the documents, the terms, and as many blocks as the cache holds."""
        _ = self.documents, self.tokens, self.lengths
        (stored,) = self._postings.arrays([POSTING])
        data, ends = _items(stored.flatten())
        of_terms = np.append(0, np.cumsum(-(-self.lengths // self.layout.size)))
        if len(ends) - 1 != of_terms[-1]:
            raise CorruptFileError("terms have other blocks", self._postings.path, field=POSTING)
        if len(data) > MAX_CACHED_BYTES:
            data = data[:MAX_CACHED_BYTES].copy()  # those that are cached must not keep the others
        for number, length in enumerate(self.lengths.tolist()):
            first, stop = of_terms[number : number + 2].tolist()
            offsets = ends[first : stop + 1]
            if offsets[-1] > MAX_CACHED_BYTES:
                break
            own = TermBlocks(data[offsets[0] : offsets[-1]], offsets - offsets[0], length)
            self._blocks.get((number, False), functools.partial(_itself, own))

    def _read(self, number: int) -> _Cached:
        data, offsets, _ = self.blocks(number)
        postings = self._decoded(data, offsets, self.lengths[number : number + 1])
        if (postings.frequencies > self.documents.lengths[postings.documents]).any():
            raise CorruptFileError(
                "a document has a term more often than all terms", self.postings_path, field=POSTING
            )
        return _Cached(postings, None)

    def _read_blocks(self, number: int) -> TermBlocks:
        count_parts(1)
        (stored,) = self._postings.arrays([POSTING], number, number + 1)
        return TermBlocks(*_items(stored.flatten()), int(self.lengths[number]))

    def _read_streams(self, number: int) -> TermBlocks:
        path = self._postings.path
        try:
            columns = [POSITION_STREAM, POSITION_OFFSETS]
            stored, offsets = self._postings.arrays(columns, number, number + 1)
            lengths = self.lengths[number : number + 1]
            data, streams = _streams(stored, offsets, lengths, self.layout)
        except (ValueError, TypeError) as error:
            raise CorruptFileError(str(error), path, field=POSITION_STREAM) from None
        return TermBlocks(data, np.append(streams.starts, len(data)), int(lengths[0]))

    def postings_between(self, first: int, stop: int) -> Postings:
        """The postings of the terms with the numbers ``first`` to ``stop``, one after the other.

        Raises `CorruptFileError`.
        """
        (stored,) = self._postings.arrays([POSTING], first, stop)
        data, offsets = _items(stored.flatten())
        return self._decoded(data, offsets, self.lengths[first:stop])

    def _decoded(
        self, data: npt.NDArray[np.uint8], offsets: Integers, lengths: Integers
    ) -> Postings:
        try:
            postings = decode_blocks(data, offsets, lengths, self.layout)
        except ValueError as error:
            raise CorruptFileError(str(error), self._postings.path, field=POSTING) from None
        last = postings.documents.max(initial=-1)
        if last >= self.num_documents:
            raise CorruptFileError(
                f"document {last} of {self.num_documents}", self._postings.path, field=POSTING
            )
        return postings

    def _read_positions(self, number: int) -> _Cached:
        postings = self.postings(number)
        positions = self.positions_between(number, number + 1, postings.frequencies)
        return _Cached(postings, positions)

    def positions_between(self, first: int, stop: int, frequencies: Integers) -> Integers:
        """The positions of the terms with the numbers ``first`` to ``stop``."""
        path = self._postings.path
        try:
            if index_files.has_streams(self._postings):
                columns = [POSITION_STREAM, POSITION_OFFSETS]
                stored, offsets = self._postings.arrays(columns, first, stop)
                data, streams = _streams(stored, offsets, self.lengths[first:stop], self.layout)
                return decode_streams(data, streams, frequencies)
            (lists,) = self._postings.arrays([POSITION_LISTS], first, stop)
            return decode_lists(lists.flatten(), frequencies)
        except (ValueError, TypeError) as error:
            raise CorruptFileError(str(error), path, field=POSITION_STREAM) from None


def _check_types(reader: IndexFileReader, expected: Mapping[str, pa.DataType]) -> None:
    """Raise `CorruptFileError` if a column that there is has another type."""
    for field in reader.schema:
        expected_type = expected.get(field.name, field.type)
        if field.type != expected_type:
            text = f"has the type {field.type}, expected {expected_type}"
            raise CorruptFileError(text, reader.path, field=field.name)


def _itself(blocks: TermBlocks) -> TermBlocks:
    return blocks


def has_repeated(rows: RowNumbers, elements: Elements | None) -> bool:
    """True if a row number is in ``rows`` more than once, with the same element if it has some."""
    if elements is None:
        ordered = np.sort(rows)
        return bool((ordered[1:] == ordered[:-1]).any())
    order = np.lexsort((elements, rows))
    is_same = [each[order][1:] == each[order][:-1] for each in (rows, elements)]
    return bool((is_same[0] & is_same[1]).any())


class _Cached(NamedTuple):
    """What is cached of a term."""

    postings: Postings
    positions: Integers | None

    @property
    def nbytes(self) -> int:
        own = sum(part.nbytes for part in self.postings)
        return own if self.positions is None else self.positions.nbytes


def _items(values: pa.Array) -> tuple[npt.NDArray[np.uint8], Integers]:
    """The bytes of large binary values, and their offsets."""
    if values.null_count:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    if not len(ends):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    return np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]], ends - ends[0]


def _streams(
    stored: pa.Array, offsets: pa.Array, lengths: Integers, layout: BlockLayout
) -> tuple[npt.NDArray[np.uint8], Streams]:
    """The bytes of the streams of some terms, and where the streams of their blocks are."""
    data, ends = _items(stored)
    own = to_numpy(offsets.flatten()).astype(np.int64)
    of_lists = -(-lengths // layout.size)
    if stored.null_count or offsets.null_count or len(own) != of_lists.sum():
        raise ValueError(f"{len(own)} streams of positions for {of_lists.sum()} blocks")
    lists = np.repeat(np.arange(len(lengths)), of_lists)
    starts = own + ends[lists]
    is_last = np.append(lists[1:] != lists[:-1], True)[: len(lists)]
    stops = np.where(is_last, ends[lists + 1], np.append(starts[1:], 0)[: len(starts)])
    if (starts > stops).any():
        raise ValueError("streams of positions overlap")
    counts = np.full(len(lists), layout.size)
    counts[is_last] = (lengths[lengths > 0] - 1) % layout.size + 1
    return data, Streams(starts, stops, counts)
