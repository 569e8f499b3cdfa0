"""The metadata of a 0.1 file: batches, page table, statistics, schema.

A 0.1 file ends with 16 bytes, little-endian::

    u64 metadata position | u16 major = 0 | u16 minor | "LANC"

At the metadata position is a ``Metadata`` message (``file.proto``) with the positions of the other
parts. A u32 length precedes it, and also the ``Manifest`` message that contains the schema.
See docs/format/file-0.1.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import OrderedRows, reorder
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.file_versions import (
    MAX_DESCRIPTION,
    FileVersion,
    Manifest,
    Metadata,
    PageStatistics,
    Schema,
    ValueBounds,
)
from lance_core.hookspecs.stores import ByteRange
from lance_core_legacy.fields import LegacyColumns, decode_field
from lance_core_legacy.page_table import ENTRY, PageTable
from lance_core_legacy.statistics import StoredStatistics, read_statistics

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.hookspecs.arrays import AnyRows, Int64Array
    from lance_core.hookspecs.file_versions import (
        DecodeContext,
        Decoding,
        DictionaryValues,
        Field,
        Tail,
    )

FOOTER = struct.Struct("<QHH4s")
LENGTH = struct.Struct("<I")

M = TypeVar("M", bound=Message)


class LegacyMetadata:
    """The metadata of one 0.1 file; see `lance_core.datafile.content.FileContent`."""

    def __init__(
        self,
        size: int,
        table: PageTable,
        statistics: Metadata.StatisticsMetadata | None,
        manifest: bytes,
    ) -> None:
        """``manifest`` is a serialized ``Manifest``; only its schema is used."""
        self.size = size
        self.version = FileVersion("0.1")
        self._table = table
        self._statistics_message = statistics
        self._manifest = manifest
        self._known_statistics: dict[int, ValueBounds | None] = {}

    @property
    def metadata_size(self) -> int:
        """See `FileContent`."""
        return len(self._manifest)

    @property
    def num_rows(self) -> int:
        """Total number of rows of all batches."""
        return self._table.num_rows

    @property
    def rows_per_group(self) -> int | None:
        """The rows of each batch but the last, which may be shorter; see `FileReader`."""
        lengths = np.diff(self._table.edges).tolist()
        if len(set(lengths[:-1])) > 1 or lengths[-1:] > lengths[:1]:
            raise UnsupportedFeatureError("the batches of a file have different lengths")
        return max(lengths, default=0) or None

    @cached_property
    def schema(self) -> Schema:
        """The fields of the file with their ids."""
        message = _parsed(Manifest, self._manifest, "Metadata.manifest_position")
        return Schema.from_proto(message.fields, message.schema_metadata)

    @cached_property
    def _dictionaries(self) -> Mapping[int, DictionaryValues]:
        return {field.id: field.dictionary for field in self.schema.walk() if field.dictionary}

    @cached_property
    def _statistics(self) -> StoredStatistics | None:
        message = self._statistics_message
        if message is None or len(self._table.edges) < 2:
            return None
        return StoredStatistics.of(message, self._table.edges, self.size)

    def _find_dictionary(self, field_id: int) -> DictionaryValues | None:
        return self._dictionaries.get(field_id)

    def check_field(self, field: Field, column_of: Mapping[int, int]) -> None:
        """Does nothing: the lengths of pages are checked when the pages are read."""

    def decode_fields(
        self,
        fields: Sequence[Field],
        column_of: Mapping[int, int],
        rows: AnyRows,
        context: DecodeContext,
    ) -> Iterator[Decoding[list[pa.Array]]]:
        """See `FileContent`."""
        columns = LegacyColumns(self._table, self._find_dictionary)
        distinct = rows.distinct if isinstance(rows, OrderedRows) else rows
        for field in fields:
            decoding = decode_field(field, column_of, columns, distinct, context)
            yield reorder(decoding, rows) if isinstance(rows, OrderedRows) else decoding

    def field_bytes(self, field: Field, index: int) -> int:
        """Always 0: the metadata of 0.1 files has no sizes of pages."""
        return 0

    def page_statistics(
        self, fields: Sequence[Field], context: DecodeContext
    ) -> Decoding[PageStatistics | None]:
        """The statistics of batches, cached after the first read; see `FileContent`."""
        known = self._known_statistics
        missing = [field for field in fields if field.id not in known]
        if missing and self._statistics is not None:
            known.update((yield from read_statistics(self._statistics, missing, context)))
        bounds = {field.id: known.get(field.id) for field in fields}
        present = {id_: of_field for id_, of_field in bounds.items() if of_field is not None}
        return PageStatistics(self._table.edges, present) if present else None


def read_legacy_metadata(tail: Tail) -> LegacyMetadata:
    """Read the metadata of the 0.1 file whose last bytes are in ``tail``.

    Makes no request if the tail contains the metadata and the schema, at most two otherwise. Raises
    `CorruptFileError`.
    """
    end = tail.size - FOOTER.size
    if end < 0:
        raise CorruptFileError(
            f"the file has {tail.size} bytes, its footer alone has {FOOTER.size}",
            offset=0,
            field="footer",
        )
    (ending,) = tail.read([ByteRange(end, tail.size)])
    position = FOOTER.unpack(ending)[0]
    raw = _block(tail, position, end, "footer.metadata_position")
    metadata = _parsed(Metadata, raw, "footer.metadata_position")
    edges = _edges(metadata, end)
    manifest = b""
    if metadata.manifest_position:
        manifest = _block(tail, metadata.manifest_position, end, "Metadata.manifest_position")
    if metadata.page_table_position > end:
        raise CorruptFileError(
            f"the page table at {metadata.page_table_position} is past the end",
            field="Metadata.page_table_position",
        )
    statistics = metadata.statistics if metadata.HasField("statistics") else None
    table = PageTable(metadata.page_table_position, edges)
    return LegacyMetadata(tail.size, table, statistics, manifest)


def _block(tail: Tail, position: int, end: int, field: str) -> bytes:
    """The bytes of a message whose u32 length is at ``position``; they end at or before ``end``."""
    if position + LENGTH.size > end:
        raise CorruptFileError(f"offset {position} is past the end", field=field)
    (head,) = tail.read([ByteRange(position, position + LENGTH.size)])
    (length,) = LENGTH.unpack(head)
    start = position + LENGTH.size
    if length > end - start or length > MAX_DESCRIPTION:
        raise CorruptFileError(
            f"{length} bytes of metadata are too long", offset=position, field=field
        )
    (content,) = tail.read([ByteRange(start, start + length)])
    return bytes(content)


def _parsed(message_type: type[M], raw: bytes, field: str) -> M:
    try:
        return message_type.FromString(raw)
    except DecodeError as error:
        raise CorruptFileError(
            f"the bytes are not a valid {message_type.__name__} message", field=field
        ) from error


def _edges(metadata: Metadata, end: int) -> Int64Array:
    """The first row of each batch, followed by the number of rows; validated to ascend from 0."""
    if len(metadata.batch_offsets) > end // ENTRY + 1:  # each batch has entries in the page table
        raise CorruptFileError(
            f"{end} bytes cannot hold {len(metadata.batch_offsets)} batches",
            field="Metadata.batch_offsets",
        )
    edges = np.array(metadata.batch_offsets or [0], np.int64)
    if edges[0] != 0 or (np.diff(edges) < 0).any():
        raise CorruptFileError("batches do not ascend from row 0", field="Metadata.batch_offsets")
    return edges
