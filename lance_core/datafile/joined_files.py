"""Read many small files with the same columns as if they were one file.

A stream or many appends leave one small file each. The fixed cost of a file and of a page then
exceeds the cost of its rows. Joined files have one table of pages for each column, so that pages
with equal encodings are planned, read and decoded together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.datafile.column_metadata import ColumnParser
from lance_core.datafile.footer import FOOTER_LENGTH, MAGIC
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.decoding import run_interleaved
from lance_core.encodings.dispatch import decode_field
from lance_core.encodings.page import Column
from lance_core.encodings.page_table import PageTable
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core.on_demand import Part, load

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.decoding import Decoding, Int64Array
    from lance_core.encodings.page import ForeignEncoding
    from lance_core.encodings.registry import EncodingRegistry
    from lance_core.schema import Field
    from lance_core.store.base import ByteRange

T = TypeVar("T")

GAP = 8 << 10
"""Bytes between two ranges of a file up to which they are read as one, as reading copies them."""

_ALIGNMENT = 64

_FOOTER = np.dtype(
    [
        ("columns", "<u8"),
        ("column_table", "<u8"),
        ("buffer_table", "<u8"),
        ("num_buffers", "<u4"),
        ("num_columns", "<u4"),
        ("major", "<u2"),
        ("minor", "<u2"),
        ("magic", "S4"),
    ]
)


class JoinedFiles:
    """Files in memory whose rows follow each other. Thread-safe.

    A position in the joined files is a position in a file plus the file's base.
    """

    def __init__(
        self, files: Sequence[pa.Buffer], num_rows: Sequence[int], registry: EncodingRegistry
    ) -> None:
        """``files`` are whole files, ``num_rows`` the rows that each must have.

        Raises `CorruptFileError` if a file is invalid, or if files differ in their version or the
        number of columns; reading the files one by one then tells which of them is invalid.
        """
        sizes = np.array([file.size for file in files], np.int64)
        footers = _footers(files)
        version = FileVersion.from_footer(int(footers["major"][0]), int(footers["minor"][0]))
        load(Part.FILES_2_0 if version is FileVersion.V2_0 else Part.FILES_2_1)
        steps = -(-(sizes + 2 * GAP) // _ALIGNMENT) * _ALIGNMENT
        self._bases = np.cumsum(steps) - steps
        self._files = files
        self.num_rows = int(np.sum(num_rows))
        end = int(self._bases[-1] + sizes[-1])
        self._context = DecodeContext(GAP, end, version, registry)
        self._columns = JoinedColumns(files, footers, self._bases, num_rows, version)

    def joins(self, field: Field) -> bool:
        """True if `read` supports the field.

        In 2.0 files, items of lists have columns of their own, in which the rows of a file do not
        tell where its items end.
        """
        return self._context.version is not FileVersion.V2_0 or not field.children

    def read(
        self, fields: Sequence[Field], column_of: Mapping[int, int], rows: AnyRows
    ) -> list[pa.ChunkedArray]:
        """See `FileReader.read`; rows count from the first row of the first file.

        An error does not name the file.
        """
        decodings = [
            decode_field(field, column_of, self._columns, rows, self._context) for field in fields
        ]
        arrays = self._run(run_interleaved(decodings))
        found = [
            pa.chunked_array(chunks, field.storage_type)
            for field, chunks in zip(fields, arrays, strict=True)
        ]
        if any(len(column) != len(rows) for column in found):
            raise CorruptFileError("another number of rows was decoded than requested")
        return found

    def _run(self, decoding: Decoding[T]) -> T:
        try:
            ranges = next(decoding)
            while True:
                ranges = decoding.send(self._get(ranges))
        except StopIteration as done:
            result: T = done.value
            return result

    def _get(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        if not ranges:
            return []
        spans = np.array(ranges, np.int64)
        owners = self._bases.searchsorted(spans[:, 0], "right") - 1
        begins = spans[:, 0] - self._bases[owners]
        lengths = spans[:, 1] - spans[:, 0]
        sizes = [self._files[owner].size for owner in owners.tolist()]
        if (begins + lengths > sizes).any():
            raise CorruptFileError("a range of bytes ends after its file")
        places = zip(owners.tolist(), begins.tolist(), lengths.tolist(), strict=True)
        return [self._files[owner].slice(begin, length) for owner, begin, length in places]


def _footers(files: Sequence[pa.Buffer]) -> npt.NDArray[np.void]:
    """The footers of all files; see `lance_core.datafile.footer` for their layout."""
    if min(file.size for file in files) < FOOTER_LENGTH:
        raise CorruptFileError("a file is shorter than its footer")
    tails = b"".join([memoryview(file)[-FOOTER_LENGTH:] for file in files])
    found: npt.NDArray[np.void] = np.frombuffer(tails, _FOOTER)
    kinds = found[["num_columns", "major", "minor", "magic"]]
    if found["magic"][0] != MAGIC or (kinds != kinds[0]).any():
        raise CorruptFileError("the files differ in their versions or columns")
    return found


class JoinedColumns(Sequence[Column]):
    """The physical columns of joined files, each parsed on first access. Thread-safe."""

    def __init__(
        self,
        files: Sequence[pa.Buffer],
        footers: npt.NDArray[np.void],
        bases: Int64Array,
        num_rows: Sequence[int],
        version: FileVersion,
    ) -> None:
        self._views = [memoryview(file) for file in files]
        self._bases = bases
        self._num_rows = np.array(num_rows, np.int64)
        self._ends = footers["columns"].astype(np.int64)
        self._length = int(footers["num_columns"][0])
        self._places = self._column_places(files, footers)
        self._parser = ColumnParser(version, int(self._ends.max()))
        self._parsed: dict[int, Column] = {}
        self._lock = ForkSafeLock()

    def _column_places(
        self, files: Sequence[pa.Buffer], footers: npt.NDArray[np.void]
    ) -> Int64Array:
        """The position and length of the metadata of each column of each file."""
        size = 16 * self._length
        starts = footers["column_table"].astype(np.int64)
        sizes = np.array([file.size for file in files], np.int64)
        if (starts < self._ends).any() or (starts + size > sizes).any() or (self._ends < 0).any():
            raise CorruptFileError("the columns of a file are outside of it")
        tables = [
            view[start : start + size]
            for view, start in zip(self._views, starts.tolist(), strict=True)
        ]
        places = np.frombuffer(b"".join(tables), "<u8").astype(np.int64)
        places = places.reshape(len(files), self._length, 2)
        stops = places[:, :, 0] + places[:, :, 1]
        if (places < 0).any() or (places[:, :, 0] < self._ends[:, None]).any():
            raise CorruptFileError("the metadata of a column is not among that of the columns")
        if (stops > starts[:, None]).any() or (stops < 0).any():
            raise CorruptFileError("the metadata of a column ends outside of that of the columns")
        return places

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Column: ...

    @overload
    def __getitem__(self, index: slice) -> list[Column]: ...

    def __getitem__(self, index: int | slice) -> Column | list[Column]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        found = self._parsed.get(index)
        if found is None:
            with self._lock:
                found = self._parsed.get(index)
                if found is None:
                    found = self._parsed[index] = self._parse(index)
        return found

    def __iter__(self) -> Iterator[Column]:
        return (self[index] for index in range(len(self)))

    def _parse(self, index: int) -> Column:
        """The pages of a column of all files, as one column."""
        parser = self._parser
        encodings: list[Message | ForeignEncoding] = []
        numbers: dict[int, int] = {}
        kinds: list[int] = []
        rows: list[int] = []
        counts: list[int] = []
        num_pages: list[int] = []
        starts: list[int] = []
        sizes: list[int] = []
        places = self._places[:, index].tolist()
        encoding = None
        for view, (place, length) in zip(self._views, places, strict=True):
            found = parser.parse_pages(bytes(view[place : place + length]))
            if (encoding or found.encoding) is not found.encoding or found.buffers[0]:
                raise CorruptFileError("the columns of the files differ in their encoding")
            encoding = found.encoding
            num_pages.append(len(found.pages))
            for page in found.pages:
                known = numbers.setdefault(id(page.encoding), len(encodings))
                if known == len(encodings):
                    encodings.append(page.encoding)
                kinds.append(known)
                rows.append(page.num_rows)
                counts.append(len(page.offsets))
                starts += page.offsets
                sizes += page.sizes
        owners = np.repeat(np.arange(len(places)), num_pages)
        self._check_rows(np.bincount(owners, rows, len(places)))
        first, size = np.array(starts, np.int64), np.array(sizes, np.int64)
        files = np.repeat(owners, counts)
        if (first < 0).any() or (size < 0).any() or (first + size > self._ends[files]).any():
            raise CorruptFileError("a buffer of a page is outside of its file")
        begins = first + self._bases[files]
        table = PageTable(
            encodings,
            np.array(kinds, np.int64),
            np.array(rows, np.int64),
            np.cumsum([0, *counts]),
            begins,
            begins + size,
        )
        assert encoding is not None
        return Column(table, (), encoding, [0, *np.cumsum(table.num_rows).tolist()])

    def _check_rows(self, found: npt.NDArray[Any]) -> None:
        """Raise `CorruptFileError` unless the pages of each file have its rows.

        A column within fixed-size lists has a multiple of them, the same in all files.
        """
        scale = found[0] // max(1, self._num_rows[0])
        if (found != self._num_rows * scale).any():
            raise CorruptFileError("the pages of a column do not have the rows of its file")
