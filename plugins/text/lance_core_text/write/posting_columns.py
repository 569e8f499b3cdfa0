"""`PostingColumns`: posting lists as the columns of a file, one row a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import from_numpy
from lance_core_text.postings.partition import (
    IMPACTS,
    LENGTH,
    MAX_SCORE,
    POSITION_LISTS,
    POSITION_OFFSETS,
    POSITION_STREAM,
    POSTING,
)
from lance_core_text.scoring.bm25 import (
    MAX_WEIGHT,
    Floats,
    Statistics,
    inverse_frequencies,
    weights,
)
from lance_core_text.write.encode_blocks import BlockBounds, encode_blocks
from lance_core_text.write.encode_impacts import encode_impacts, rounded_lengths
from lance_core_text.write.encode_positions import encode_lists, encode_streams
from lance_core_text.write.posting_lists import Documents, PostingLists

if TYPE_CHECKING:
    from lance_core_text.write.byte_pieces import Bytes
    from lance_core_text.write.posting_format import PostingFormat

MAX_POSTINGS = 1 << 20
"""Postings that are encoded at once: whole blocks, also of those that have an impact together."""

_BLOBS = pa.list_(pa.field("item", pa.large_binary(), nullable=True))
_FIELDS = (
    pa.field(POSTING, _BLOBS, nullable=False),
    pa.field(MAX_SCORE, pa.float32(), nullable=False),
    pa.field(LENGTH, pa.uint32(), nullable=False),
    pa.field(IMPACTS, _BLOBS, nullable=False),
)
_PACKED = {"lance-encoding:compression": "none"}
"""The metadata of a column whose values are packed: trying to compress each takes long."""

_STREAM_FIELDS = (
    pa.field(POSITION_STREAM, pa.large_binary(), nullable=False, metadata=_PACKED),
    pa.field(POSITION_OFFSETS, pa.list_(pa.uint32()), nullable=False),
)
_LIST_FIELDS = (
    pa.field(POSITION_LISTS, pa.list_(pa.field("item", _BLOBS, nullable=True)), nullable=False),
)


class _Values(NamedTuple):
    """The bytes of binary values, and the offset of each and of the end."""

    data: Bytes
    offsets: Integers

    @property
    def array(self) -> pa.Array:
        """The values as large binary."""
        buffers = [None, pa.py_buffer(np.ascontiguousarray(self.offsets)), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_binary(), len(self.offsets) - 1, buffers)


class _Encoded(NamedTuple):
    """Lists of postings.

    ``of_lists``: the blocks of each list. ``scores``: the best of each block. ``of_impacts``: the
    entries of each list in ``impacts``. ``positions``: the stream of each block, or the values of
    each document, which has ``of_documents`` of them; None without positions.
    """

    of_lists: Integers
    blocks: _Values
    scores: Floats
    impacts: _Values
    of_impacts: Integers
    positions: _Values | None
    of_documents: Integers | None


def term_ranges(counts: Integers) -> Iterator[tuple[int, int]]:
    """Ranges of terms, of whose ``counts`` postings each has up to `MAX_POSTINGS`, or one term."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + MAX_POSTINGS, side="right")))
        yield first, stop
        first = stop


class PostingColumns:
    """Encodes posting lists of a partition."""

    def __init__(self, documents: Documents, form: PostingFormat) -> None:
        self._form = form
        self._num_documents = len(documents.rows)
        lengths = documents.lengths.astype(np.int64)
        self._rounded = rounded_lengths(lengths).astype(np.uint8)
        statistics = Statistics(self._num_documents, documents.total_length, {})
        self._norms = statistics.norms(form.layout.scored_lengths(lengths))

    @property
    def fields(self) -> list[pa.Field]:
        """The columns."""
        if not self._form.with_positions:
            return [*_FIELDS]
        return [*_FIELDS, *(_STREAM_FIELDS if self._form.has_streams else _LIST_FIELDS)]

    def encoded(self, lists: PostingLists) -> list[pa.Array]:
        """The columns of lists with up to `MAX_POSTINGS` postings, or of one that has more."""
        total = len(lists.documents)
        if total <= MAX_POSTINGS:
            return self._columns(lists, self._encoded(lists))
        factor = self._factors(lists.counts)
        pieces = []
        position = 0
        for start in range(0, total, MAX_POSTINGS):
            chosen = slice(start, start + MAX_POSTINGS)
            positions, frequencies = lists.positions, lists.frequencies[chosen]
            if positions is not None:
                stop = position + int(frequencies.sum(dtype=np.int64))
                positions, position = positions[position:stop], stop
            counts = np.array([len(frequencies)])
            piece = PostingLists(
                lists.terms, counts, lists.documents[chosen], frequencies, positions
            )
            pieces.append(self._encoded(piece, factor))
        return self._columns(lists, _united(pieces))

    def _encoded(self, lists: PostingLists, factors: Floats | None = None) -> _Encoded:
        """``factors``: those of the lists, if these are parts of longer ones."""
        layout, form = self._form.layout, self._form
        bounds = BlockBounds.of(lists.counts, layout.size)
        documents, frequencies = lists.documents, lists.frequencies
        factors = self._factors(lists.counts) if factors is None else factors
        shares = weights(frequencies, self._norms[documents])
        scores = np.maximum.reduceat(shares, bounds.starts) * np.repeat(factors, bounds.of_lists)
        blocks = encode_blocks(bounds, documents, frequencies, scores, layout)
        rounded = self._rounded[documents]
        impacts, impact_offsets, of_impacts = encode_impacts(
            bounds, documents, frequencies, rounded
        )
        positions, of_documents = None, None
        if lists.positions is not None:
            if form.has_streams:
                positions = _Values(*encode_streams(bounds, frequencies, lists.positions))
            else:
                data, offsets, of_documents = encode_lists(frequencies, lists.positions)
                positions = _Values(data, offsets)
        return _Encoded(
            bounds.of_lists,
            _Values(*blocks),
            scores,
            _Values(impacts, impact_offsets),
            of_impacts,
            positions,
            of_documents,
        )

    def _factors(self, counts: Integers) -> Floats:
        """What the share of each posting is multiplied by, for each list."""
        idfs = inverse_frequencies(counts.astype(np.float32), self._num_documents)
        factors: Floats = idfs * MAX_WEIGHT
        return factors

    def _columns(self, lists: PostingLists, encoded: _Encoded) -> list[pa.Array]:
        of_blocks = _offsets(encoded.of_lists)
        columns = [
            _lists_of(of_blocks, encoded.blocks.array, _BLOBS),
            from_numpy(np.maximum.reduceat(encoded.scores, of_blocks[:-1])),
            from_numpy(lists.counts.astype(np.uint32)),
            _lists_of(_offsets(encoded.of_impacts), encoded.impacts.array, _BLOBS),
        ]
        positions = encoded.positions
        if positions is None:
            return columns
        if encoded.of_documents is None:
            starts = positions.offsets[of_blocks]
            in_list = positions.offsets[:-1] - np.repeat(starts[:-1], encoded.of_lists)
            values = from_numpy(in_list.astype(np.uint32))
            streams = _Values(positions.data, starts)
            return [
                *columns,
                streams.array,
                pa.ListArray.from_arrays(from_numpy(of_blocks), values),
            ]
        documents = _lists_of(_offsets(encoded.of_documents), positions.array, _BLOBS)
        list_type = _LIST_FIELDS[0].type
        return [*columns, _lists_of(_offsets(lists.counts), documents, list_type)]


def _united(pieces: Sequence[_Encoded]) -> _Encoded:
    """One list of pieces that are whole blocks, but the last one."""
    blocks = [int(piece.of_lists[0]) for piece in pieces]
    impacts = []
    for groups in (False, True):  # the entries of blocks, then those of groups
        for piece, count in zip(pieces, blocks, strict=True):
            data, offsets = piece.impacts
            own = offsets[count:] if groups else offsets[: count + 1]
            impacts.append(_Values(data[own[0] : own[-1]], own - own[0]))
    positions = [piece.positions for piece in pieces if piece.positions is not None]
    of_documents = [piece.of_documents for piece in pieces if piece.of_documents is not None]
    return _Encoded(
        np.array([sum(blocks)]),
        _joined([piece.blocks for piece in pieces]),
        np.concatenate([piece.scores for piece in pieces]),
        _joined(impacts),
        np.array([sum(int(piece.of_impacts[0]) for piece in pieces)]),
        _joined(positions) if positions else None,
        np.concatenate(of_documents) if of_documents else None,
    )


def _joined(parts: Sequence[_Values]) -> _Values:
    lengths = [np.diff(part.offsets) for part in parts]
    return _Values(
        np.concatenate([part.data for part in parts]), _offsets(np.concatenate(lengths), np.int64)
    )


def _offsets(counts: Integers, dtype: type = np.int32) -> np.ndarray:
    """The offsets of lists with these lengths."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(dtype)


def _lists_of(offsets: np.ndarray, values: pa.Array, list_type: pa.DataType) -> pa.Array:
    return pa.ListArray.from_arrays(from_numpy(offsets), values).cast(list_type)
