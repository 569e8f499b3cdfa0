"""Merge sorted streams of values with their blobs, and move the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.arrays import empty_array, from_numpy, from_values
from lance_core.hookspecs.indices import EMPTY, RowMap, RowNumbers, RowSet
from lance_core_indices.bitmaps.blobs import RowGroups, decode_blobs, encode_blobs, spread
from lance_core_indices.bitmaps.grouping import KeyedBlobs, group_rows, ranked_values

Mask = npt.NDArray[np.bool_]
Ranks = npt.NDArray[np.uint32]

_LARGE_BLOB = 1 << 13
"""Bytes from which on a blob is handled as a set; smaller ones are decoded together."""
_MERGED_BYTES, _MIN_BLOCK_BYTES = 4 << 20, 128 << 10
"""Bytes of the blocks of all sources of a merge together, and the least of one. The rows of a small
blob take about twenty times its bytes while they are decoded, moved and grouped."""

_WINDOW = 1 << 22
"""The most row numbers of a set that are moved at a time."""


@dataclass(frozen=True, slots=True)
class MergeSource:
    """A stream of values in ascending order, and where their rows are now (None: unchanged)."""

    blocks: Iterator[KeyedBlobs]
    map: RowMap | None = None


def merged_block_bytes(num_sources: int) -> int:
    """Bytes of a block of each of the sources of a merge."""
    return max(_MIN_BLOCK_BYTES, _MERGED_BYTES // max(1, num_sources))


def merge_blobs(sources: Sequence[MergeSource]) -> Iterator[KeyedBlobs]:
    """The values of all sources in ascending order, each once, with all of its rows.

    Values without rows are left out. Memory is bounded by the blocks and the largest blobs.
    """
    streams = [_Stream(source) for source in sources]
    while True:
        streams = [stream for stream in streams if stream.fill()]
        if not streams:
            return
        yield from _merge_step(streams)


class _Stream:
    """A source and its current block."""

    def __init__(self, source: MergeSource) -> None:
        self._blocks = source.blocks
        self.map = source.map
        self.block: KeyedBlobs | None = None

    def fill(self) -> bool:
        """Load the next block if the current one is used up; False after the last one."""
        while self.block is None or not len(self.block.keys):
            self.block = next(self._blocks, None)
            if self.block is None:
                return False
        return True

    def pop(self, count: int) -> KeyedBlobs:
        """The first values of the current block, which loses them."""
        assert self.block is not None
        keys, blobs = self.block
        self.block = KeyedBlobs(keys.slice(count), blobs.slice(count))
        return KeyedBlobs(keys.slice(0, count), blobs.slice(0, count))


def _merge_step(streams: list[_Stream]) -> Iterator[KeyedBlobs]:
    """Merge the values up to the lowest end of a block: no later block has any of these."""
    blocks = [stream.block.keys for stream in streams if stream.block]
    keys, ranks = ranked_values(pa.concat_arrays(blocks))
    each = np.split(ranks, np.cumsum([len(block) for block in blocks])[:-1])
    bound = min(int(own_ranks[-1]) for own_ranks in each)
    counts = [int(np.searchsorted(own_ranks, bound, "right")) for own_ranks in each]
    taken = zip(streams, counts, strict=True)
    parts = [(stream.map, stream.pop(count).blobs) for stream, count in taken]
    used = [own_ranks[:count] for own_ranks, count in zip(each, counts, strict=True)]
    filled, blobs = _merge_ranked(used, parts, bound + 1)
    if len(filled):
        yield KeyedBlobs(keys.take(from_numpy(filled)), blobs)


def _merge_ranked(
    ranks: list[Ranks], parts: list[tuple[RowMap | None, pa.Array]], count: int
) -> tuple[Ranks, pa.Array]:
    """The ranks that have rows, ascending, and their blobs."""
    sizes = [_sizes(blobs) for _, blobs in parts]
    # A value is copied, or handled as a set if one of its blobs is large, or else decoded.
    copied, large = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    times = np.bincount(np.concatenate(ranks), minlength=count)
    for own_ranks, (map_, _), size in zip(ranks, parts, sizes, strict=True):
        large[own_ranks[size >= _LARGE_BLOB]] = True
        copied[own_ranks] = map_ is None
    copied &= times == 1
    large &= ~copied
    small = ~copied & ~large
    results = [_small_blobs(ranks, parts, small), _large_blobs(ranks, parts, large)]
    for own_ranks, (_, blobs) in zip(ranks, parts, strict=True):
        chosen = copied[own_ranks]
        results.append(
            (own_ranks[chosen], blobs if chosen.all() else blobs.filter(from_numpy(chosen)))
        )
    filled = [result for result in results if len(result[0])]
    if len(filled) == 1:
        return filled[0]
    all_ranks = np.concatenate([np.empty(0, np.uint32), *(result[0] for result in filled)])
    blobs = pa.concat_arrays([empty_array(pa.binary()), *(result[1] for result in filled)])
    order = np.argsort(all_ranks)
    return all_ranks[order], blobs.take(from_numpy(order))


def _small_blobs(
    ranks: list[Ranks], parts: list[tuple[RowMap | None, pa.Array]], chosen: Mask
) -> tuple[Ranks, pa.Array]:
    pairs: list[tuple[Ranks, RowNumbers]] = []
    for own_ranks, (map_, blobs) in zip(ranks, parts, strict=True):
        here = chosen[own_ranks]
        counts, rows = decode_blobs(blobs.filter(from_numpy(here)))
        owners = own_ranks[here][spread(counts)]
        if map_ is not None:
            rows, is_live = map_.moved(rows)
            rows, owners = rows[is_live], owners[is_live]
        pairs.append((owners, rows))
    owners = np.concatenate([pair[0] for pair in pairs])
    rows = np.concatenate([pair[1] for pair in pairs])
    groups = group_rows(owners, rows, len(chosen))
    filled = np.flatnonzero(groups.counts)
    blobs = encode_blobs(RowGroups(groups.counts[filled], groups.rows))
    return filled.astype(np.uint32), blobs


def _large_blobs(
    ranks: list[Ranks], parts: list[tuple[RowMap | None, pa.Array]], chosen: Mask
) -> tuple[Ranks, pa.Array]:
    sets: dict[int, RowSet] = {}
    for own_ranks, (map_, blobs) in zip(ranks, parts, strict=True):
        for number in np.flatnonzero(chosen[own_ranks]).tolist():
            rows = RowSet.from_tree_map(blobs[number].as_py())
            rank = int(own_ranks[number])
            sets[rank] = sets.get(rank, EMPTY) | moved_set(rows, map_)
    filled = sorted(rank for rank, rows in sets.items() if rows)
    blobs = from_values([sets[rank].to_tree_map() for rank in filled], pa.binary())
    return np.array(filled, np.uint32), blobs


def moved_set(rows: RowSet, map_: RowMap | None) -> RowSet:
    """Where ``rows`` are now."""
    if map_ is None:
        return rows
    return RowSet.union(_moved_windows(rows, map_))


def _moved_windows(rows: RowSet, map_: RowMap) -> Iterator[RowSet]:
    for high, bitmap in rows.bitmaps.items():
        size = len(bitmap or ())
        for start in range(0, max(size, 1), _WINDOW):
            window = (
                bitmap if bitmap is None or size <= _WINDOW else bitmap[start : start + _WINDOW]
            )
            moved, is_live = map_.moved(RowSet({high: window}).numbers())
            yield RowSet.of(moved[is_live])


def _sizes(blobs: pa.Array) -> npt.NDArray[np.int32]:
    offsets = np.frombuffer(blobs.buffers()[1], np.int32, len(blobs) + 1, blobs.offset * 4)
    return offsets[1:] - offsets[:-1]
