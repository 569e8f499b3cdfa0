"""Sorted runs in local files, merged within a memory budget and with few open files.

A sort of more rows than fit into memory writes them as *runs*: files whose rows are in order,
in blocks. A merge reads one block of each run at a time. So the number of runs that are merged at
once is limited, by `MAX_OPEN_RUNS` and by the largest block; more runs are merged in several
passes, each of which makes one run of neighbouring ones.

`ExternalSort` sorts rows by a column this way. An index type whose runs hold something else, such
as values with sets of rows, brings its own function to merge them, see `merge_runs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_core.lazy_dataclass import dataclass
from lance_core.store.temporary_folder import spill_errors

MAX_OPEN_RUNS = 16
"""Maximum runs that are merged at once, and so the maximum of open files."""

_MIN_BLOCK_BYTES, _MAX_BLOCK_BYTES = 32 << 10, 2 << 20

Batches: TypeAlias = Iterator[pa.RecordBatch]
"""Rows of a run, in its order."""


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """How much memory each part of an external sort may take, in bytes, of ``total``.

    Sorting takes the rows of a run up to four times: batches, keys, and the sorted columns. A merge
    takes a block of each run, and a slice of rows that is sorted, up to three times.
    """

    total: int

    @property
    def run(self) -> int:
        """Bytes of the rows of a run."""
        return max(1, self.total // 4)

    @property
    def slice(self) -> int:
        """Bytes of the rows of a slice of a merge."""
        return min(16 * _MAX_BLOCK_BYTES, self.total // 8)

    @property
    def block(self) -> int:
        """Bytes of a block. A longer row is a block of its own."""
        return min(_MAX_BLOCK_BYTES, max(_MIN_BLOCK_BYTES, self.total // (4 * MAX_OPEN_RUNS)))

    def runs_at_once(self, largest_block: int) -> int:
        """How many runs with blocks of up to so many bytes can be merged at once: at least 2."""
        return max(2, min(MAX_OPEN_RUNS, self.total // 4 // max(1, largest_block)))


class Run:
    """Rows in a local file, in blocks. Reading and writing raise `StoreError` for a full disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.num_rows = 0
        self.nbytes = 0
        """Bytes of all blocks in memory."""
        self.largest_block = 0
        """Bytes of the largest block in memory."""

    @classmethod
    def written(cls, path: Path, batches: Iterable[pa.RecordBatch], block_bytes: int) -> Run:
        """A new file with ``batches``, which are not empty all together, cut into blocks."""
        run, writer = cls(path), None
        try:
            for batch in batches:
                for block in blocks_of(batch, block_bytes):
                    with spill_errors():
                        writer = writer or pa.ipc.new_stream(str(path), block.schema)
                        writer.write_batch(block)
                    run.num_rows += block.num_rows
                    size = bytes_of(block)
                    run.nbytes += size
                    run.largest_block = max(run.largest_block, size)
        finally:
            if writer is not None:
                with spill_errors():
                    writer.close()
        return run

    def blocks(self) -> Batches:
        """The blocks in order; the file is open from the first one to the last one."""
        if not self.num_rows:
            return
        with spill_errors():
            source = pa.OSFile(str(self.path))
        with source, pa.ipc.open_stream(source) as reader:
            while True:
                try:
                    with spill_errors():
                        block = reader.read_next_batch()
                except StopIteration:
                    return
                yield block

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def merge_runs(
    runs: Sequence[Run],
    merge: Callable[[Sequence[Batches]], Batches],
    scratch: Callable[[], Path],
    shares: MemoryShares,
) -> Batches:
    """The rows of all runs in order; removes the files.

    ``merge`` returns the rows of some runs in order; their blocks are handed over in the order of
    the runs. ``scratch`` returns the folder for the runs of passes before the last one.
    """
    left, passes = list(runs), 0
    try:
        while len(left) > (limit := shares.runs_at_once(max(run.largest_block for run in left))):
            start, stop = _smallest(left, min(limit, len(left) - limit + 1))
            merged = merge([run.blocks() for run in left[start:stop]])
            path = scratch() / f"merged-{passes}.arrow"
            run = Run.written(path, merged, shares.block)
            for used in left[start:stop]:
                used.remove()
            left[start:stop] = [run]
            passes += 1
        yield from merge([run.blocks() for run in left])
    finally:
        for run in left:
            run.remove()


def _smallest(runs: Sequence[Run], count: int) -> tuple[int, int]:
    """The start and the end of ``count`` neighbouring runs with the fewest bytes; at least 2."""
    count = max(2, count)
    ends = np.cumsum([0, *(run.nbytes for run in runs)])
    start = int(np.argmin(ends[count:] - ends[:-count]))
    return start, start + count


def blocks_of(batch: pa.RecordBatch, block_bytes: int) -> Batches:
    """Slices of ``batch`` in their order, of up to ``block_bytes`` or a single row."""
    waiting = [batch] if batch.num_rows else []
    while waiting:
        block = waiting.pop()
        half = block.num_rows // 2
        if not half or bytes_of(block) <= block_bytes:
            yield block
        else:
            waiting += [block.slice(half), block.slice(0, half)]


def bytes_of(batch: pa.RecordBatch) -> int:
    """Bytes of the rows in memory, without dictionaries: batches of a sort mostly share them."""
    if not any(map(pa.types.is_dictionary, batch.schema.types)):
        return int(batch.nbytes)
    return sum(
        int(column.indices.nbytes if pa.types.is_dictionary(column.type) else column.nbytes)
        for column in batch.columns
    )
