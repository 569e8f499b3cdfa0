"""Fields to and from columns of pages, whatever the file version: what `datafile` builds on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lance_core.encodings.arrow.ordered_rows import RowSequence, in_sequence
from lance_core.encodings.version import FileVersion
from lance_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from google.protobuf.message import Message

    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.decoding import DecodeContext, Decoding, Int64Array
    from lance_core.encodings.page import Column, EncodedPage, ForeignEncoding
    from lance_core.encodings.registry import EncodingRegistry
    from lance_core.schema import Field


class BlobPlaces(Protocol):
    """Where the bytes of blobs of version 2 go that are not in the data file."""

    def pack(
        self, data: pa.Array, rows: Int64Array, sizes: Int64Array, limit: int
    ) -> tuple[Int64Array, Int64Array]:
        """Write the values at ``rows`` of a large_binary array, all ``sizes`` above 0.

        Returns the numbers of the side files that they are in, none of which grows beyond ``limit``
        bytes if it holds two, and their positions there.
        """

    def dedicate(self, payload: pa.Buffer) -> int:
        """Write a side file of its own and return its number."""

    def refer(self, uris: pa.Array, path: str) -> tuple[npt.NDArray[np.uint32], pa.Array]:
        """The base path, 0 for none, and the text to store for each URI that is not null.

        ``path`` is that of the field. Raises `InvalidInputError` for a URI that may not be stored.
        """


@dataclass(frozen=True, slots=True)
class EncodeContext:
    """What an encoder may know of its surroundings.

    ``write_buffer`` writes a buffer 64-aligned into the file at once and returns its offset from
    the start of the file; it serves payloads that live outside of pages (blobs).
    ``flush_bytes``: a column is written as a page when its Arrow arrays exceed this many bytes.
    ``max_page_bytes``: arrays larger than this are split over several pages.
    ``dictionary_threshold``: strings of at least this many rows and fewer distinct values are
    written with a dictionary.
    ``blobs``: for blobs of version 2, None for a file that is not part of a table.
    """

    version: FileVersion
    registry: EncodingRegistry
    write_buffer: Callable[[pa.Buffer], int]
    flush_bytes: int = 8 << 20
    max_page_bytes: int = 32 << 20
    dictionary_threshold: int = 100
    blobs: BlobPlaces | None = None


class FieldEncoder(Protocol):
    """Turns the arrays of one top-level field into pages of its physical columns."""

    @property
    def num_columns(self) -> int:
        """How many physical columns the field has."""

    def write(self, array: pa.Array) -> Iterable[EncodedPage]:
        """Append rows; yields the pages that are full by now, in the order to write them."""

    def flush(self) -> Iterable[EncodedPage]:
        """Yield what is left. Call once, after the last `write`."""

    def column_encodings(self) -> Sequence[bytes]:
        """The serialised ``ColumnEncoding`` of each physical column; valid after `flush`."""


def decode_field(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """Decode some rows of a field, which may be pruned to a part of its children.

    ``column_of`` maps field ids to physical columns. The arrays are of the field's storage type,
    in the order of ``rows``, at most a few per page touched, and none has zero rows.
    Raises `CorruptFileError` where the bytes contradict the format.
    """
    if context.version is FileVersion.V2_0:
        from lance_core.encodings.v2_0.fields import decode_field as decode_2_0

        if isinstance(rows, RowSequence):
            distinct = decode_2_0(field, column_of, columns, rows.distinct, context)
            return in_sequence(distinct, rows)
        return decode_2_0(field, column_of, columns, rows, context)
    if context.version in (FileVersion.V2_1, FileVersion.V2_2):
        from lance_core.encodings.v2_1.read.fields import decode_field as decode_2_1

        return decode_2_1(field, column_of, columns, rows, context)
    raise UnsupportedFeatureError(f"reading file version {context.version} is not supported")


def field_encoder(field: Field, context: EncodeContext) -> FieldEncoder:
    """An encoder for one top-level field.

    Raises `UnsupportedFeatureError`, naming the field's path, if the version cannot store it, and
    `PluginNotFoundError` if the field asks for an encoding that nobody has.
    """
    from lance_core.encodings.plugin_values.value_encoding import check_value_encodings

    check_value_encodings(field, context.registry)
    if context.version is FileVersion.V2_0:
        from lance_core.encodings.v2_0.field_encoder import field_encoder as encoder_2_0

        return encoder_2_0(field, context)
    if context.version in (FileVersion.V2_1, FileVersion.V2_2):
        from lance_core.encodings.v2_1.write.field_encoder import field_encoder as encoder_2_1

        return encoder_2_1(field, context)
    raise UnsupportedFeatureError(f"writing file version {context.version} is not supported")


def parse_page_encoding(
    version: FileVersion, type_url: str, value: bytes
) -> Message | ForeignEncoding:
    """The encoding of a page, from the ``Any`` that the page holds.

    Raises `CorruptFileError` if ``value`` is not the message that ``type_url`` names.
    """
    from lance_core.encodings.messages import parse_page

    return parse_page(version, type_url, value)


def parse_column_encoding(type_url: str, value: bytes) -> Message | ForeignEncoding:
    """The ``ColumnEncoding`` of a column, from the ``Any`` that the column holds."""
    from lance_core.encodings.messages import parse_column

    return parse_column(type_url, value)
