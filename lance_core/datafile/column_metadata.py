"""The ``ColumnMetadata`` message (``file2.proto``): positions and encodings of a column's pages.

Positions are in bytes from the start of the file. Encodings are serialised ``google.protobuf.Any``
messages in the column metadata; the format also allows encodings elsewhere in the file, but no
known writer uses this.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from operator import add
from typing import TYPE_CHECKING, NamedTuple, TypeVar, overload

import numpy as np
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError, Message

from lance_core._pb.file2_pb2 import ColumnMetadata, DirectEncoding, Encoding
from lance_core.byte_ranges import ByteRange, BytesLike
from lance_core.checksums.crc32c import num_blocks
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.messages import parse_column, parse_page
from lance_core.encodings.page import Column, ForeignEncoding, Page
from lance_core.encodings.version import COLUMN_ENCODING_URL, FileVersion
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.datafile import varints
    from lance_core.datafile.varints import Ints
else:
    varints = lazy_module("lance_core.datafile.varints")

T = TypeVar("T")

MAX_PAGE_ROWS = 1 << 48
"""Maximum rows of a page; larger numbers are rejected so that sums of rows fit into 64 bits."""

MIN_LAZY_PAGES = 4
"""Minimum pages of a column that are parsed on first access: a lookup needs one of them."""

COLUMN_ENCODING_TAG, COLUMN_PAGES_TAG = 0x0A, 0x12
"""First byte of the fields ``encoding`` and ``pages`` of a serialized ``ColumnMetadata``."""

_OFFSETS_TAG, _SIZES_TAG = 0x0A, 0x12
"""First byte of the fields ``buffer_offsets`` and ``buffer_sizes`` of a page."""

PAGE_SUMS = b"\xaa\x6a"
"""Tag of the field ``buffer_crc32c`` of a page, which is its last one."""

_FORMAT_URL = "/lance.encodings"
"""Prefix of the type URLs of the format's own encodings."""

PageEncoding = Message | ForeignEncoding
"""The encoding of a page, of the format or of a plugin."""

_byte_range = partial(tuple.__new__, ByteRange)
"""`ByteRange` of a start and a stop, made without a call of Python code: files have many."""


class PageLists(NamedTuple):
    """The pages of a column in several files, in order, as lists.

    ``num_pages``: the pages of each file. Page p has the encoding ``encodings[kinds[p]]``,
    ``num_rows[p]`` rows and the next ``num_buffers[p]`` of all buffers, which have ``sizes`` bytes
    from ``offsets`` of their file. ``encoding`` is that of the column.
    """

    num_pages: list[int]
    encodings: list[PageEncoding]
    kinds: list[int]
    num_rows: list[int]
    num_buffers: list[int]
    offsets: list[int]
    sizes: list[int]
    encoding: PageEncoding


class ColumnParser:
    """Parses the ``ColumnMetadata`` messages of one file. Thread-safe.

    Buffers must end at or before ``data_end``, the position of the column metadata. Equal encodings
    are parsed once and shared, since most pages of a file have the same encoding.
    """

    __slots__ = ("_data_end", "_page_encodings", "_version")

    def __init__(self, version: FileVersion, data_end: int) -> None:
        self._version = version
        self._data_end = data_end
        self._page_encodings: dict[bytes, PageEncoding] = {}

    def parse(self, raw: bytes) -> Column:
        """Parse a serialized ``ColumnMetadata``; of many pages, each on first access.

        This and the access raise `CorruptFileError` naming the page, and `UnsupportedFeatureError`
        for an encoding that is stored elsewhere in the file.
        """
        message = parse_column_metadata(raw)
        pages = message.pages[:]  # iteration over a slice is faster
        num_rows = [page.length for page in pages]
        if num_rows and max(num_rows) > MAX_PAGE_ROWS:
            number = num_rows.index(max(num_rows))
            reason = f"a page cannot have {num_rows[number]} rows"
            raise CorruptFileError(reason, field=f"pages[{number}]")
        parsed: Sequence[Page]
        if len(pages) < MIN_LAZY_PAGES:
            parsed = tuple([self.page(page, number) for number, page in enumerate(pages)])
        else:
            parsed = _LazyPages(self.page, pages)
        buffers: tuple[ByteRange, ...] = ()
        if message.buffer_offsets or message.buffer_sizes:
            buffers = self._ranges(message.buffer_offsets[:], message.buffer_sizes[:])
        starts = list(accumulate(num_rows, initial=0))
        return Column(parsed, buffers, _column_encoding(_raw(message.encoding)), starts)

    def parse_cached(self, raw: bytes) -> Column:
        """The same as `parse`, for one of few columns: those of the last files are kept, parsed.

        Programs open the files of a table again and again. The columns share pages, but no caches.
        """
        if len(raw) > _CACHED_BYTES:
            return self.parse(raw)
        return _column(raw, self._data_end, self._version).without_cache()

    def page(self, page: ColumnMetadata.Page, number: int) -> Page:
        """Parse page ``number`` of a column; raises as `parse` does."""
        try:
            encoding = self._page_encodings.get(page.encoding.direct.encoding)
            if encoding is None:
                encoding = self._page_encoding(page.encoding)
            buffers = self._ranges(page.buffer_offsets[:], page.buffer_sizes[:])
            return Page(buffers, page.length, encoding)
        except CorruptFileError as error:
            raise error.at(field=f"pages[{number}]") from error

    def parse_files(self, raw: Sequence[bytes]) -> PageLists:
        """Parse the serialized ``ColumnMetadata`` of a column in each of several files.

        Raises as `parse` does, and `CorruptFileError` if the encodings of the columns differ or if
        a column has buffers of its own. The positions of buffers are not checked.
        """
        known: dict[bytes, int] = {}
        first = parse_column_metadata(raw[0]).encoding
        column_encoding = first.direct.encoding
        lists = PageLists([], [], [], [], [], [], [], _column_encoding(_raw(first)))
        num_pages, encodings, kinds, num_rows, num_buffers, offsets, sizes, _ = lists
        for (
            column
        ) in raw:  # a few bytecodes for each page: this is most of the cost of a small file
            message = parse_column_metadata(column)
            pages = message.pages[:]
            num_pages.append(len(pages))
            if message.buffer_offsets or message.encoding.direct.encoding != column_encoding:
                raise CorruptFileError("the columns of the files differ in their encoding")
            for page in pages:
                key = page.encoding.direct.encoding
                kind = known.get(key)
                if kind is None:
                    kind = known[key] = len(encodings)
                    same = self._page_encodings.get(key)
                    encodings.append(self._page_encoding(page.encoding) if same is None else same)
                kinds.append(kind)
                num_rows.append(page.length)
                starts = page.buffer_offsets[:]
                num_buffers.append(len(starts))
                offsets += starts
                sizes += page.buffer_sizes[:]
                if len(offsets) != len(sizes):
                    raise CorruptFileError("a page has another number of offsets than of sizes")
        if max(num_rows, default=0) > MAX_PAGE_ROWS:
            raise CorruptFileError(f"a page cannot have {max(num_rows)} rows")
        return lists

    def page_encoding(self, raw: bytes) -> PageEncoding:
        """The encoding of a page from a serialized ``Encoding``; raises like `parse`."""
        return self._page_encoding(_encoding_message(raw))

    def column_encoding(self, raw: bytes) -> PageEncoding:
        """The encoding of a column from a serialized ``Encoding``; raises like `parse`."""
        return _column_encoding(_raw(_encoding_message(raw)))

    def _page_encoding(self, encoding: Encoding) -> PageEncoding:
        raw = _raw(encoding)
        parsed = self._page_encodings[raw] = _page_encoding(self._version, raw)
        return parsed

    def _ranges(self, offsets: Sequence[int], sizes: Sequence[int]) -> tuple[ByteRange, ...]:
        if len(offsets) != len(sizes):
            raise CorruptFileError(
                f"a page or column has {len(offsets)} buffer offsets but {len(sizes)} buffer sizes"
            )
        stops = list(map(add, offsets, sizes))
        if stops and max(stops) > self._data_end:
            last = stops.index(max(stops))
            raise CorruptFileError(
                f"a buffer at {offsets[last]} with {sizes[last]} bytes reaches into the metadata "
                f"or beyond the file; data ends at {self._data_end}"
            )
        return tuple(map(_byte_range, zip(offsets, stops, strict=True)))


class LazyItems(Sequence[T]):
    """A sequence whose items are each made on first access and then kept. Thread-safe."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[int, T] = {}

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        item = self._made.get(index)
        # Two threads may make the same item; setdefault gives both the same object.
        return item if item is not None else self._made.setdefault(index, self._make(index))

    def __iter__(self) -> Iterator[T]:
        return (self[index] for index in range(len(self)))

    @abstractmethod
    def _make(self, index: int) -> T:
        """Item ``index``. Raises `IndexError` if it does not exist."""


class _LazyPages(LazyItems[Page]):
    """The pages of a column, each parsed by ``parse``."""

    __slots__ = ("_is_whole", "_messages", "_parse")

    def __init__(
        self,
        parse: Callable[[ColumnMetadata.Page, int], Page],
        messages: Sequence[ColumnMetadata.Page],
    ) -> None:
        super().__init__()
        self._parse = parse
        self._messages = messages
        self._is_whole = False

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Page]:
        if not self._is_whole:
            self._made = dict(enumerate(map(self._parse, self._messages, range(len(self)))))
            self._is_whole = True
        return map(self._made.__getitem__, range(len(self)))

    def _make(self, index: int) -> Page:
        return self._parse(self._messages[index], range(len(self))[index])


def parse_column_metadata(raw: bytes) -> ColumnMetadata:
    """Decode a ``ColumnMetadata``; raises `CorruptFileError`."""
    try:
        return ColumnMetadata.FromString(raw)
    except DecodeError as error:
        raise CorruptFileError("the bytes are not a valid ColumnMetadata message") from error


def _encoding_message(raw: bytes) -> Encoding:
    try:
        return Encoding.FromString(raw)
    except DecodeError as error:
        raise CorruptFileError("the bytes are not a valid Encoding message") from error


_CACHED_BYTES = 4096
"""Bytes of a column's metadata up to which its parsed form is kept: a MiB of them in all."""


@lru_cache(maxsize=256)
def _column(raw: bytes, data_end: int, version: FileVersion) -> Column:
    return ColumnParser(version, data_end).parse(raw)


@lru_cache(maxsize=256)
def _page_encoding(version: FileVersion, raw: bytes) -> PageEncoding:
    """The encoding of a page. Cached: different files have many encodings in common."""
    url, value = _type_and_value(raw)
    if url != version.page_encoding_url and url.startswith(_FORMAT_URL):
        raise CorruptFileError(f"a page of a {version} file is encoded as {url!r}")
    return parse_page(version, url, value)


@lru_cache(maxsize=16)
def _column_encoding(raw: bytes) -> PageEncoding:
    """The encoding of a column; nearly all columns have the same one."""
    return parse_column(*_type_and_value(raw))


def _raw(encoding: Encoding) -> bytes:
    """The serialized ``Any`` of an encoding that is stored in the column metadata."""
    raw = encoding.direct.encoding
    if raw:
        return raw
    location = encoding.WhichOneof("location")
    if location == "indirect":
        raise UnsupportedFeatureError("encodings stored outside of the metadata are not supported")
    if location != "direct":
        raise CorruptFileError("the encoding is missing")
    return raw


def _type_and_value(raw: bytes) -> tuple[str, bytes]:
    """Type URL and value of a serialized ``Any``."""
    try:
        message = AnyMessage.FromString(raw)
    except DecodeError as error:
        raise CorruptFileError("the encoding is not a valid Any message") from error
    if not message.type_url:
        raise CorruptFileError("the encoding has no type URL")
    return message.type_url, message.value


def serialize_column(encoding: bytes, pages: Iterable[BytesLike]) -> bytes:
    """Serialize a ``ColumnMetadata``; ``encoding`` is a serialised ``ColumnEncoding``.

    ``pages`` are results of `serialize_page`, or several of them joined.
    """
    return b"".join((serialize_column_encoding(encoding), *pages))


@lru_cache(maxsize=16)
def serialize_column_encoding(encoding: bytes) -> bytes:
    """The field ``encoding`` of a ``ColumnMetadata``, for a serialised ``ColumnEncoding``."""
    direct = DirectEncoding(encoding=_any(COLUMN_ENCODING_URL, encoding))
    return ColumnMetadata(encoding=Encoding(direct=direct)).SerializeToString()


def serialize_page(
    buffers: Sequence[ByteRange],
    num_rows: int,
    type_url: str,
    encoding: bytes,
    priority: int,
    sums: Sequence[int] = (),
) -> bytes:
    """An item of the field ``pages`` of a ``ColumnMetadata``.

    ``encoding`` is a message of type ``type_url``. ``sums``: the checksums of the buffers, if any.
    """
    page = ColumnMetadata.Page(
        buffer_offsets=[start for start, _ in buffers],
        buffer_sizes=[stop - start for start, stop in buffers],
        length=num_rows,
        encoding=_encoding(type_url, encoding),
        priority=priority,
        buffer_crc32c=sums,
    )
    return ColumnMetadata(pages=[page]).SerializeToString()


def serialize_pages(
    starts: Ints, sizes: Ints, counts: Ints, ends: Sequence[bytes], sums: Sequence[int] = ()
) -> list[bytes]:
    """What `serialize_page` returns for each of many pages, computed for all of them at once.

    Page p has the next ``counts[p]`` of all buffers and ends in ``ends[p]``, from `page_end`, and
    the checksums of its buffers, if there are ``sums``.
    """
    if sums:
        blocks = np.diff(edges_of(num_blocks(sizes))[edges_of(counts)])
        stored, edges = np.array(sums, "<u4").tobytes(), (4 * edges_of(blocks)).tolist()
        ends = [
            end + _sums_head(stop - start) + stored[start:stop] if start < stop else end
            for end, (start, stop) in zip(ends, pairwise(edges), strict=True)
        ]
    present = counts > 0
    parts: list[varints.Ragged] = []
    for tag, numbers in ((_OFFSETS_TAG, starts), (_SIZES_TAG, sizes)):
        item = varints.merged(varints.encode(numbers), counts)
        parts += [varints.tagged(tag, varints.encode(item[1]), present), item]
    end_sizes = np.fromiter(map(len, ends), np.int64, len(ends))
    body_sizes = varints.encode(np.sum([lengths for _, lengths in parts], axis=0) + end_sizes)
    head = varints.tagged(COLUMN_PAGES_TAG, body_sizes, np.ones(len(counts), np.bool_))
    joined, lengths = varints.concatenated([head, *parts])
    raw, stops = joined.tobytes(), np.cumsum(lengths)
    spans = zip((stops - lengths).tolist(), stops.tolist(), ends, strict=True)
    return [raw[start:stop] + end for start, stop, end in spans]


@lru_cache(maxsize=64)
def _sums_head(size: int) -> bytes:
    """Tag and length of the field ``buffer_crc32c`` of a page; ``size``: bytes of checksums."""
    return PAGE_SUMS + varints.encode(np.array([size]))[0].tobytes()


@lru_cache(maxsize=64)
def page_end(num_rows: int, type_url: str, encoding: bytes, priority: int) -> bytes:
    """All of a serialized ``ColumnMetadata.Page`` but its buffers."""
    return ColumnMetadata.Page(
        length=num_rows, encoding=_encoding(type_url, encoding), priority=priority
    ).SerializeToString()


@lru_cache(maxsize=64)
def _encoding(type_url: str, value: bytes) -> Encoding:
    """The message of an encoding in the metadata; most pages of a file have one of a few."""
    return Encoding(direct=DirectEncoding(encoding=_any(type_url, value)))


def _any(type_url: str, value: bytes) -> bytes:
    return AnyMessage(type_url=type_url, value=value).SerializeToString()
