"""Check the bytes of pages against their checksums, before a decoder gets any of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.byte_ranges import BufferSlices, ByteRange, RangeArrays
from lance_core.checksums import environment
from lance_core.checksums.crc32c import BLOCK_BYTES, crc32c_loop, num_blocks
from lance_core.datafile.column_metadata import parse_column_metadata
from lance_core.datafile.footer import TABLE_ENTRY
from lance_core.datafile.page_messages import SLACK, PageMessages, single_pages
from lance_core.datafile.raw_columns import RawColumns, column_ranges
from lance_core.datafile.varints import gather
from lance_core.encodings.arrow.spans import edges_of, spans_index
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.registry import EncodingRegistry

Read = Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]
"""Reads ranges of a file."""


BATCH_BYTES = 16 << 20
"""Bytes of pages that are read at once to check a whole file."""


def checks_pages(registry: EncodingRegistry) -> bool:
    """True if pages are checked: by an option of the dataset, or by the environment."""
    return registry.checks_pages or environment.CHECKED == "pages"


class _Blocks(NamedTuple):
    """The blocks of the buffers of pages that have checksums, in ascending order of ``starts``.

    Block b is of buffer ``buffers[b]`` of page ``pages[b]`` of column ``columns[b]``.
    """

    columns: Int64Array
    pages: Int64Array
    buffers: Int64Array
    starts: Int64Array
    stops: Int64Array
    sums: npt.NDArray[np.uint32]


class PageChecks:
    """Checks each block of the pages of files once, when some of its bytes are read first.

    A position in several files is a position in a file plus the file's base. Thread-safe. Pages
    without checksums are not checked.
    """

    def __init__(
        self,
        files: Sequence[RawColumns],
        is_sealed: Sequence[bool],
        bases: Sequence[int] = (0,),
        name_of: Callable[[int], str] = str,
    ) -> None:
        """``name_of``: the name of a column, for errors; columns of later files count on.

        Raises `CorruptFileError` if pages have checksums, but the metadata of the file has no seal.
        """
        table = _Table.of(files)
        buffers = _single_page_buffers(table) or _buffers(table)
        of_buffer = table.owners[buffers.columns]
        if not np.array(is_sealed, np.bool_)[of_buffer].all():
            raise CorruptFileError("pages have checksums, but the metadata of the file has none")
        offsets = buffers.offsets + np.array(bases, np.int64)[of_buffer]
        self._blocks = _blocks(buffers._replace(offsets=offsets))
        self._name_of = name_of
        self._is_checked = np.zeros(len(self._blocks.sums), np.bool_)

    def __len__(self) -> int:
        """The number of blocks that have a checksum."""
        return len(self._is_checked)

    def get(self, ranges: Sequence[ByteRange], read: Read) -> Sequence[pa.Buffer]:
        """The bytes of ``ranges``, by one call of ``read``, which may read whole blocks.

        Raises `CorruptFileError`, naming the first damaged block.
        """
        arrays, blocks = RangeArrays.of(ranges), self._blocks
        first = np.searchsorted(blocks.stops, arrays.starts, "right")
        stop = np.searchsorted(blocks.starts, arrays.stops, "left")
        touched = np.unique(spans_index(first, np.maximum(first, stop)))
        if self._is_checked[touched].all():
            return read(ranges)
        starts, stops = blocks.starts[touched], blocks.stops[touched]
        cuts = np.flatnonzero(np.append(True, starts[1:] != stops[:-1]))
        runs = RangeArrays(starts[cuts], stops[np.append(cuts[1:], len(touched)) - 1])
        owners = np.searchsorted(runs.starts, arrays.starts, "right") - 1
        others = np.flatnonzero((owners < 0) | (arrays.stops > runs.stops[owners]))
        own = RangeArrays(arrays.starts[others], arrays.stops[others])
        buffers = list(read([*runs, *own]))
        of_block = np.searchsorted(cuts, np.arange(len(touched)), "right") - 1
        self._check(touched, buffers, of_block, starts - runs.starts[of_block])
        owners[others] = len(runs) + np.arange(len(others))
        begins = np.concatenate([runs.starts, own.starts])[owners]
        return BufferSlices(buffers, owners, arrays.starts - begins, arrays.stops - begins)

    def check_all(self, read: Read, columns: Sequence[int] | None = None) -> int:
        """Check all blocks, or those of ``columns``; returns their bytes.

        About `BATCH_BYTES` are in memory at a time. Raises as `get` does.
        """
        blocks = self._blocks
        chosen = np.arange(len(blocks.starts))
        if columns is not None:
            chosen = np.flatnonzero(np.isin(blocks.columns, columns))
        starts, stops = blocks.starts[chosen], blocks.stops[chosen]
        batches = np.cumsum(stops - starts) // BATCH_BYTES
        edges = [0, *(np.flatnonzero(np.diff(batches)) + 1).tolist(), len(chosen)]
        for first, stop in pairwise(edges):
            if first < stop:
                self.get(RangeArrays(starts[first:stop], stops[first:stop]), read)
        return int((stops - starts).sum())

    def _check(
        self, numbers: Int64Array, runs: Sequence[pa.Buffer], owners: Int64Array, begins: Int64Array
    ) -> None:
        """Check the blocks ``numbers``, each at ``begins`` of its run."""
        blocks = self._blocks
        sizes = blocks.stops[numbers] - blocks.starts[numbers]
        spans = zip(owners.tolist(), begins.tolist(), sizes.tolist(), strict=True)
        computed = crc32c_loop()([runs[owner].slice(begin, size) for owner, begin, size in spans])
        damaged = np.flatnonzero(np.array(computed, np.uint32) != blocks.sums[numbers])
        if not len(damaged):
            self._is_checked[numbers] = True
            return
        number = int(numbers[damaged[0]])
        column, page = int(blocks.columns[number]), int(blocks.pages[number])
        raise CorruptFileError(
            f"{sizes[damaged[0]]} bytes of column {self._name_of(column)!r}, page {page}, have the "
            f"CRC-32C {computed[damaged[0]]:08x}, not {blocks.sums[number]:08x}",
            offset=int(blocks.starts[number]),
            field=f"columns[{column}].pages[{page}].buffers[{blocks.buffers[number]}]",
        )


class _Table(NamedTuple):
    """The metadata of all columns of files: column c is ``raw[begins[c]:ends[c]]``.

    ``owners``: the number of the file of each.
    """

    raw: bytes
    begins: Int64Array
    ends: Int64Array
    owners: Int64Array

    @classmethod
    def of(cls, files: Sequence[RawColumns]) -> _Table:
        raw = b"".join([*(file.raw_metadata for file in files), SLACK])
        counts = [len(file.raw_table) // TABLE_ENTRY for file in files]
        return cls(raw, *column_ranges(files), np.repeat(np.arange(len(files)), counts))


class _Buffers(NamedTuple):
    """The buffers of pages that have checksums; ``sums`` are those of all their blocks."""

    columns: Int64Array
    pages: Int64Array
    numbers: Int64Array
    offsets: Int64Array
    sizes: Int64Array
    sums: npt.NDArray[np.uint32]


def _blocks(buffers: _Buffers) -> _Blocks:
    counts = num_blocks(buffers.sizes)
    if counts.sum() != len(buffers.sums):
        raise CorruptFileError(f"pages of {counts.sum()} blocks have {len(buffers.sums)} checksums")
    of_block = np.repeat(np.arange(len(counts)), counts)
    begins = BLOCK_BYTES * (np.arange(len(of_block)) - np.repeat(edges_of(counts)[:-1], counts))
    starts = buffers.offsets[of_block] + begins
    order = starts.argsort(kind="stable")
    of_block, starts = of_block[order], starts[order]
    stops = np.minimum(starts + BLOCK_BYTES, (buffers.offsets + buffers.sizes)[of_block])
    column, page, number = (numbers[of_block] for numbers in buffers[:3])
    return _Blocks(column, page, number, starts, stops, buffers.sums[order])


def _single_page_buffers(table: _Table) -> _Buffers | None:
    """All buffers at once, if each column has one page; else None."""
    data = np.frombuffer(table.raw, np.uint8)
    single = single_pages(data, table.begins, table.ends)
    if not single.is_single.all():
        return None
    try:
        pages = PageMessages(data, single.starts, table.ends)
    except UnsupportedFeatureError:
        return None
    starts, stops = pages.sums
    has_sums = stops > starts
    counts = np.diff(pages.first_buffer)
    chosen = np.flatnonzero(np.repeat(has_sums, counts))
    numbers = np.arange(len(pages.offsets)) - np.repeat(pages.first_buffer[:-1], counts)
    return _Buffers(
        np.repeat(np.arange(len(counts)), counts)[chosen],
        np.zeros(len(chosen), np.int64),
        numbers[chosen],
        pages.offsets[chosen],
        pages.sizes[chosen],
        gather(data, starts[has_sums], stops[has_sums]).view("<u4"),
    )


def _buffers(table: _Table) -> _Buffers:
    owners: list[int] = []
    pages: list[int] = []
    numbers: list[int] = []
    offsets: list[int] = []
    sizes: list[int] = []
    sums: list[int] = []
    spans = zip(table.begins.tolist(), table.ends.tolist(), strict=True)
    for column, (begin, end) in enumerate(spans):
        for number, page in enumerate(parse_column_metadata(table.raw[begin:end]).pages):
            if page.buffer_crc32c:
                count = len(page.buffer_sizes)
                owners += [column] * count
                pages += [number] * count
                numbers += range(count)
                offsets += page.buffer_offsets
                sizes += page.buffer_sizes
                sums += page.buffer_crc32c
    if len(offsets) != len(sizes):
        raise CorruptFileError("pages have unequal numbers of buffer offsets and sizes")
    lists = (owners, pages, numbers, offsets, sizes)
    of_column, of_page, number_of, starts, lengths = (np.array(own, np.int64) for own in lists)
    return _Buffers(of_column, of_page, number_of, starts, lengths, np.array(sums, np.uint32))
