"""The sorted pairs of token and row of a new index, in memory or in temporary files.

`write_postings` merges such runs, and the postings of existing indices, by ranges of tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.arrays import from_numpy, from_values, to_numpy
from lance_core.hookspecs.indices import IndexOutput, IndexRows, RowNumbers, RowSet, spill_errors
from lance_core_indices.ngram.treemaps import treemaps
from lance_core_indices.ngram.trigrams import trigrams

FILE = "ngram_postings.lance"
SCHEMA = pa.schema(
    [
        pa.field("tokens", pa.uint32()),
        pa.field(
            "posting_list",
            pa.binary(),
            nullable=False,
            metadata={"lance-encoding:compression": "none"},
        ),
    ]
)

NULL_TOKEN = 0
"""The token of null rows; also of ``VVV`` from capitals that have no lower case."""

MAX_RUN = 1 << 23
"""Maximum pairs, and rows, of a run: 64 MiB each. Complete runs are kept in files."""

MAX_GROUP = 1 << 22
"""Maximum pairs that are merged at once, except those of one token."""

MAX_ROWS = 1 << 16
"""Maximum rows that are added at once."""

_TOKEN_BITS = np.uint64(32)

Tokens: TypeAlias = npt.NDArray[np.uint32]
Keys: TypeAlias = npt.NDArray[np.uint64]


class Postings(NamedTuple):
    """Pairs of a token and a row with it."""

    tokens: Tokens
    rows: RowNumbers


class TokenCounts(NamedTuple):
    """Different tokens, ascending, and about how many rows have each."""

    tokens: Tokens
    counts: npt.NDArray[np.int64]


class PostingSource(Protocol):
    """What has postings for a new index."""

    def token_counts(self) -> TokenCounts:
        """The tokens that the source has."""

    def postings(self, first: int, last: int) -> Postings:
        """The pairs of the tokens from ``first`` to ``last``, both included."""


class _Run:
    """Keys of token and position, ascending and unique, and the row number of each position.

    ``keys`` are in memory, or in a file without a header; so are ``rows``, in a file of numpy. No
    file stays open: there may be many runs.
    """

    def __init__(self, keys: Keys | Path, rows: RowNumbers | Path, counts: TokenCounts) -> None:
        self._keys = keys
        self._rows = rows
        self._counts = counts
        self._starts = np.append(0, np.cumsum(counts.counts))

    def token_counts(self) -> TokenCounts:
        return self._counts

    def postings(self, first: int, last: int) -> Postings:
        tokens = self._counts.tokens
        start = int(self._starts[np.searchsorted(tokens, first)])
        stop = int(self._starts[np.searchsorted(tokens, last, side="right")])
        with spill_errors():
            if isinstance(self._keys, Path):
                keys = np.fromfile(self._keys, np.uint64, stop - start, offset=8 * start)
            else:
                keys = self._keys[start:stop]
            positions = keys.astype(np.uint32)
            if isinstance(self._rows, Path):
                rows = np.asarray(np.load(self._rows, mmap_mode="r")[positions])
            else:
                rows = self._rows[positions]
        return Postings((keys >> _TOKEN_BITS).astype(np.uint32), rows)


class _RunWriter:
    """Collects the trigrams of rows, and sorts them into runs."""

    def __init__(self, output: IndexOutput) -> None:
        self._output = output
        self._keys: list[Keys] = []
        self._rows: list[RowNumbers] = []
        self._num_keys = self._num_rows = 0
        self._runs: list[_Run] = []

    def add(self, values: pa.Array, rows: RowNumbers) -> None:
        """Add rows with their strings."""
        if values.null_count:
            valid = to_numpy(values.is_valid())
            nulls = rows[~valid]
            tokens = np.full(len(nulls), NULL_TOKEN, np.uint32)
            self._add(tokens, np.arange(len(nulls), dtype=np.uint32), nulls)
            values, rows = values.drop_null(), rows[valid]
        for grams, start, stop in trigrams(values):
            self._add(grams.tokens, grams.positions, rows[start:stop])

    def runs(self) -> list[_Run]:
        """The runs of all rows; the last one is in memory."""
        return [*self._runs, _Run(*self._sorted())]

    def _add(self, tokens: Tokens, positions: npt.NDArray[np.uint32], rows: RowNumbers) -> None:
        keys = tokens.astype(np.uint64) << _TOKEN_BITS
        keys |= positions + np.uint32(self._num_rows)
        self._keys.append(keys)
        self._rows.append(rows)
        self._num_keys += len(keys)
        self._num_rows += len(rows)
        if max(self._num_keys, self._num_rows) >= MAX_RUN:
            keys, rows, counts = self._sorted()
            path = self._output.scratch() / f"run-{len(self._runs)}"
            with spill_errors():
                keys.tofile(path)
                # Keys are most of the bytes; they are not mapped, so that they leave the memory.
                np.save(path.with_suffix(".npy"), rows)
            self._runs.append(_Run(path, path.with_suffix(".npy"), counts))

    def _sorted(self) -> tuple[Keys, RowNumbers, TokenCounts]:
        keys = np.concatenate([np.empty(0, np.uint64), *self._keys])
        rows = np.concatenate([np.empty(0, np.uint64), *self._rows])
        self._keys, self._rows, self._num_keys, self._num_rows = [], [], 0, 0
        keys.sort()
        repeated = keys[1:] == keys[:-1]
        if repeated.any():
            keys = keys[np.append(True, ~repeated)]
        counts = np.bincount((keys >> _TOKEN_BITS).astype(np.int64))
        tokens = np.flatnonzero(counts)
        return keys, rows, TokenCounts(tokens.astype(np.uint32), counts[tokens])


def token_runs(rows: IndexRows, output: IndexOutput) -> Sequence[PostingSource]:
    """The pairs of token and row of ``rows``."""
    writer, done = _RunWriter(output), 0
    for batch in rows.batches():
        for start in range(0, len(batch.rows), MAX_ROWS):
            part = slice(start, start + MAX_ROWS)
            writer.add(batch.values[part], batch.rows[part])
        done += len(batch.rows)
        output.progress("tokens", done, rows.num_rows)
    return writer.runs()


def write_postings(sources: Sequence[PostingSource], output: IndexOutput) -> None:
    """Write the file of an index that has the postings of all sources."""
    counts = _united([source.token_counts() for source in sources])
    with output.create(FILE, SCHEMA) as file:
        for first, last in _groups(counts.counts):
            bounds = int(counts.tokens[first]), int(counts.tokens[last])
            if counts.counts[first] > MAX_GROUP:
                tokens, blobs = _frequent_token(sources, bounds[0])
            else:
                parts = [source.postings(*bounds) for source in sources]
                tokens, blobs = treemaps(*_merged(parts))
            file.write(pa.record_batch([from_numpy(tokens), blobs], schema=SCHEMA))


def _united(parts: Sequence[TokenCounts]) -> TokenCounts:
    tokens = np.concatenate([np.empty(0, np.uint32), *(part.tokens for part in parts)])
    counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])
    united, inverse = np.unique(tokens, return_inverse=True)
    return TokenCounts(united, np.bincount(inverse, counts, len(united)).astype(np.int64))


def _groups(counts: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The first and last positions of groups with about `MAX_GROUP` pairs.

    A position with more pairs is a group of its own.
    """
    number = np.cumsum(counts) // MAX_GROUP
    alone = counts > MAX_GROUP
    cuts = np.flatnonzero((number[1:] != number[:-1]) | alone[1:] | alone[:-1]) + 1
    bounds = [0, *cuts.tolist(), len(counts)]
    return ((start, stop - 1) for start, stop in itertools.pairwise(bounds) if stop > start)


def _merged(parts: Sequence[Postings]) -> Postings:
    """The pairs of all parts, strictly ascending."""
    tokens = np.concatenate([part.tokens for part in parts])
    rows = np.concatenate([part.rows for part in parts])
    if not _ascends(tokens, rows):
        # Rows mostly ascend from part to part; merging by token is faster than sorting.
        order = np.argsort(tokens, kind="stable")
        if not _ascends(tokens[order], rows[order]):
            order = np.lexsort((rows, tokens))
        tokens, rows = tokens[order], rows[order]
    repeated = (tokens[1:] == tokens[:-1]) & (rows[1:] == rows[:-1])
    if not repeated.any():
        return Postings(tokens, rows)
    different = np.append(True, ~repeated)
    return Postings(tokens[different], rows[different])


def _ascends(tokens: Tokens, rows: RowNumbers) -> bool:
    """True if no pair is below the one before it."""
    later = tokens[1:] > tokens[:-1]
    later |= (tokens[1:] == tokens[:-1]) & (rows[1:] >= rows[:-1])
    return bool(later.all())


def _frequent_token(sources: Sequence[PostingSource], token: int) -> tuple[Tokens, pa.Array]:
    """The postings of one token, without the rows of all sources in memory at once."""
    sets = (RowSet.of(source.postings(token, token).rows) for source in sources)
    united = RowSet.union(sets)
    tokens = [token] if united else []
    return np.array(tokens, np.uint32), from_values(
        [united.to_treemap() for _ in tokens], pa.binary()
    )
