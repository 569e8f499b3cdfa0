"""Encode fields as pages of 2.0 files: the columns of a field, and when rows become a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from google.protobuf.empty_pb2 import Empty

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Blob, ColumnEncoding, SimpleStruct
from lance_core.encodings.arrow.dictionary_items import copied
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.blob_payloads import encode_blobs
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.v2_0.list_encoder import PendingLists
from lance_core.encodings.v2_0.packed_struct import check_member
from lance_core.encodings.v2_0.selection import check_type, encode_page
from lance_core.errors import PluginError, ResultTooLargeError, UnsupportedFeatureError
from lance_core.schema.align import to_storage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lance_core.encodings.context import EncodeContext
    from lance_core.schema import Field

_VALUES = ColumnEncoding(values=Empty())
_BLOB = ColumnEncoding(blob=Blob(inner=_VALUES))


class ColumnsEncoder(ABC):
    """The encoder of a field at any depth.

    ``first`` is the number of its first column, counted within the top-level field. Rows are rows
    of the top-level field; ``row`` is the row of the first value of an array.
    """

    num_columns = 1

    def __init__(self, first: int) -> None:
        self.first = first

    @abstractmethod
    def write(self, array: pa.Array, row: int) -> Iterator[EncodedPage]:
        """Append values; yield the pages that are full."""

    @abstractmethod
    def flush(self) -> Iterator[EncodedPage]:
        """Yield pages for all buffered values."""

    def finish(self) -> Iterator[EncodedPage]:
        """Yield the pages that are written once, after the last `flush`."""
        yield from ()

    def encodings(self) -> list[bytes]:
        """The serialised ``ColumnEncoding`` of each column."""
        return [_VALUES.SerializeToString()]


class ColumnEncoder(ColumnsEncoder):
    """Encodes one column of arrays.

    Small arrays are copied on arrival, so that the larger memory of which they are a part can be
    freed, and are joined to a page. An array that fills at least half a page is encoded without
    this copy. ``path`` is the dotted path of the field.
    """

    def __init__(
        self, first: int, metadata: Mapping[str, str], context: EncodeContext, path: str
    ) -> None:
        super().__init__(first)
        self._path = path
        self._metadata = metadata
        self._context = context
        self._waiting: list[pa.Array] = []
        self._bytes = 0
        self._row = 0

    def write(self, array: pa.Array, row: int) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        size = array.nbytes
        if size > self._context.flush_bytes // 2 and len(array):
            yield from self.flush()
            yield from self._split(array, size, row)
            return
        if not self._waiting:
            self._row = row
        self._waiting.append(array if self._context.arrays_stay else copied(array))
        self._bytes += size
        if self._bytes > self._context.flush_bytes:
            yield from self.flush()

    def flush(self) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        if not self._waiting:
            return
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        try:
            arrays = [concat_arrays(waiting)]
        except ResultTooLargeError:
            # Dictionaries with nulls or with too many items cannot be unified.
            arrays = waiting
        row = self._row
        for array in arrays:
            if len(array) and array.nbytes > self._context.max_page_bytes:
                yield from self._split(array, array.nbytes, row)
            else:
                yield self._page(array, row)
            row += len(array)

    def _split(self, array: pa.Array, size: int, row: int) -> Iterator[EncodedPage]:
        """Split an array into pages of `EncodeContext.max_page_bytes`, as if rows were equal."""
        parts = min(-(-size // self._context.max_page_bytes), len(array))
        step = -(-len(array) // parts)
        for start in range(0, len(array), step):
            yield self._page(array.slice(start, step), row + start)

    def _page(self, array: pa.Array, row: int) -> EncodedPage:
        try:
            encoding, buffers = encode_page(array, self._metadata, self._context)
        except PluginError as error:
            raise error.at(field=self._path) from error
        return EncodedPage(self.first, buffers, encoding.SerializeToString(), len(array), row)


class BlobEncoder(ColumnEncoder):
    """Encodes a column of blob descriptions; writes payloads immediately, outside of pages."""

    def write(self, array: pa.Array, row: int) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        yield from super().write(encode_blobs(array, self._context.write_buffer), row)

    def encodings(self) -> list[bytes]:
        """See `ColumnsEncoder`."""
        return [_BLOB.SerializeToString()]


class ListEncoder(ColumnsEncoder):
    """Encodes a column of list ends, then the columns of the items.

    A page of items only holds items of one page of ends, because readers rely on it.
    """

    def __init__(self, first: int, items: ColumnsEncoder, context: EncodeContext) -> None:
        super().__init__(first)
        self.num_columns = 1 + items.num_columns
        self._items = items
        self._context = context
        self._waiting = PendingLists()

    def write(self, array: pa.Array, row: int) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        step = max(1, self._context.max_page_bytes // 8)
        for start in range(0, max(1, len(array)), step):
            part = array.slice(start, step)
            items = self._waiting.add(part, row + start)
            for page in self._items.write(items, row + start):
                # The encoder of items counts each item as a row. A page cannot start after the
                # last row of this part.
                yield page._replace(priority=min(page.priority, row + start + len(part) - 1))
            if self._waiting.size > self._context.flush_bytes:
                yield from self.flush()

    def flush(self) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        if self._waiting:
            yield self._waiting.page(self.first, self._context.registry)
            self._waiting = PendingLists()
        yield from self._items.flush()

    def finish(self) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        yield from self._items.finish()

    def encodings(self) -> list[bytes]:
        """See `ColumnsEncoder`."""
        return [*super().encodings(), *self._items.encodings()]


class StructEncoder(ColumnsEncoder):
    """Encodes a header column, whose only page is written last, then the columns of the members."""

    def __init__(self, first: int, members: Sequence[ColumnsEncoder], path: str) -> None:
        super().__init__(first)
        self.num_columns = 1 + sum(member.num_columns for member in members)
        self._members = members
        self._path = path
        self._rows = 0

    def write(self, array: pa.Array, row: int) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        if array.null_count:
            raise UnsupportedFeatureError(
                f"field {self._path!r}: {array.null_count} structs are null, which file version "
                "2.0 cannot store"
            )
        self._rows += len(array)
        for number, member in enumerate(self._members):
            yield from member.write(array.field(number), row)

    def flush(self) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        for member in self._members:
            yield from member.flush()

    def finish(self) -> Iterator[EncodedPage]:
        """See `ColumnsEncoder`."""
        header = ArrayEncoding(struct=SimpleStruct()).SerializeToString()
        yield EncodedPage(self.first, [], header, self._rows, 0)
        for member in self._members:
            yield from member.finish()

    def encodings(self) -> list[bytes]:
        """See `ColumnsEncoder`."""
        below = [encoding for member in self._members for encoding in member.encodings()]
        return [*super().encodings(), *below]


class FieldColumnsEncoder:
    """A `FieldEncoder` for a field and all its descendants."""

    def __init__(self, field: Field, columns: ColumnsEncoder) -> None:
        self._field = field
        self._columns = columns
        self._rows = 0

    @property
    def num_columns(self) -> int:
        """See `FieldEncoder`."""
        return self._columns.num_columns

    def write(self, array: pa.Array) -> Iterator[EncodedPage]:
        """See `FieldEncoder`."""
        if array.type != self._field.storage_type:
            array = to_storage(array, self._field)
        if len(array):
            yield from self._columns.write(array, self._rows)
            self._rows += len(array)

    def flush(self) -> Iterator[EncodedPage]:
        """See `FieldEncoder`."""
        yield from self._columns.flush()
        yield from self._columns.finish()

    def column_encodings(self) -> Sequence[bytes]:
        """See `FieldEncoder`."""
        return self._columns.encodings()


def field_encoder(field: Field, context: EncodeContext) -> FieldColumnsEncoder:
    """The 2.0 implementation of `lance_core.encodings.dispatch.field_encoder`."""
    return FieldColumnsEncoder(field, _encoder(field, 0, field.name, context))


def _encoder(field: Field, first: int, path: str, context: EncodeContext) -> ColumnsEncoder:
    type_ = field.storage_type
    if field.is_blob:
        if not pa.types.is_large_binary(type_):
            raise UnsupportedFeatureError(
                f"field {path!r}: blobs must be of type large_binary, not {type_}"
            )
        return BlobEncoder(first, {}, context, path)
    if field.is_list:
        (item,) = field.children
        return ListEncoder(
            first, _encoder(item, first + 1, f"{path}.{item.name}", context), context
        )
    if field.is_struct and not field.is_packed_struct:
        members: list[ColumnsEncoder] = []
        number = first + 1
        for child in field.children:
            members.append(_encoder(child, number, f"{path}.{child.name}", context))
            number += members[-1].num_columns
        return StructEncoder(first, members, path)
    if field.is_struct:
        for child in field.children:
            check_member(child.storage_type, f"{path}.{child.name}")
    else:
        check_type(type_, path)
    return ColumnEncoder(first, field.metadata, context, path)
