"""The footer of a data file: the file version and the positions of the metadata.

A 2.x file ends with 40 bytes, little-endian::

    u64 column metadata | u64 column offsets table | u64 global buffer offsets table
    u32 number of global buffers | u32 number of columns | u16 major | u16 minor | "LANC"

The three positions are in bytes from the start of the file. An entry of a table is a u64 position
and a u64 length. The footer of a 0.1 file is different (`lance_core_legacy.metadata`)
except for the last eight bytes. See docs/format/file-2.0.md.
"""

from __future__ import annotations

import struct

from lance_core.byte_ranges import ByteRange
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

MAGIC = b"LANC"
FOOTER_LENGTH = 40
ALIGNMENT = 64
"""Buffers start at multiples of this number of bytes."""

TABLE_ENTRY = 16
"""Size in bytes of an entry of the two offset tables."""

_FOOTER = struct.Struct("<QQQIIHH4s")
_ENDING = struct.Struct("<HH4s")


@dataclass(frozen=True, slots=True)
class Footer:
    """A valid footer: its parts are inside the file, in order and without overlap.

    Positions are in bytes from the start of the file.
    """

    column_metadata: int
    column_offsets: int
    global_offsets: int
    num_global_buffers: int
    num_columns: int
    version: FileVersion

    @property
    def column_table(self) -> ByteRange:
        """Byte range of the column offsets table."""
        return ByteRange(self.column_offsets, self.column_offsets + TABLE_ENTRY * self.num_columns)

    @property
    def global_table(self) -> ByteRange:
        """Byte range of the global buffer offsets table."""
        stop = self.global_offsets + TABLE_ENTRY * self.num_global_buffers
        return ByteRange(self.global_offsets, stop)

    def to_bytes(self) -> bytes:
        """Serialize to 40 bytes."""
        major, minor = self.version.footer
        return _FOOTER.pack(
            self.column_metadata,
            self.column_offsets,
            self.global_offsets,
            self.num_global_buffers,
            self.num_columns,
            major,
            minor,
            MAGIC,
        )


def parse_footer(tail: bytes | memoryview, file_size: int) -> Footer:
    """Parse the footer of a file of ``file_size`` bytes that ends with ``tail``.

    ``tail`` has at least the last 40 bytes, or the whole file if that is shorter. Raises
    `CorruptFileError` if the file is not a data file or a position is invalid, and
    `UnsupportedFeatureError` for a version without this footer.
    """
    version = file_version(tail, file_size)
    if not version.has_column_metadata:
        raise UnsupportedFeatureError(
            f"files of version {version} have a different footer, which this function does not read"
        )
    if file_size < FOOTER_LENGTH:
        raise CorruptFileError(
            f"the file has {file_size} bytes, its footer alone has {FOOTER_LENGTH}",
            offset=0,
            field="footer",
        )
    metadata, columns, buffers, num_buffers, num_columns, _, _, _ = _FOOTER.unpack(
        tail[-FOOTER_LENGTH:]
    )
    footer = Footer(metadata, columns, buffers, num_buffers, num_columns, version)
    _check(footer, file_size - FOOTER_LENGTH)
    return footer


def file_version(tail: bytes | memoryview, file_size: int) -> FileVersion:
    """The version of a file of ``file_size`` bytes that ends with ``tail``.

    Raises `CorruptFileError` if the file is not a data file, and `UnsupportedFeatureError` for a
    version later than 2.2.
    """
    if file_size < _ENDING.size:
        raise CorruptFileError(
            f"the file has {file_size} bytes, too few for a data file", offset=0, field="footer"
        )
    major, minor, magic = _ENDING.unpack(tail[-_ENDING.size :])
    if magic != MAGIC:
        raise CorruptFileError(
            f"the file does not end with {MAGIC!r} but with {magic!r}",
            offset=file_size - len(MAGIC),
            field="footer.magic",
        )
    try:
        return FileVersion.from_footer(major, minor)
    except CorruptFileError as error:
        raise error.at(offset=file_size - _ENDING.size, field="footer.version") from None


def _check(footer: Footer, position: int) -> None:
    """Raise `CorruptFileError` unless all parts are in order before the footer's ``position``."""
    if not footer.column_metadata <= footer.column_offsets <= footer.global_offsets <= position:
        raise CorruptFileError(
            f"column metadata at {footer.column_metadata}, column offsets at "
            f"{footer.column_offsets} and global buffer offsets at {footer.global_offsets} are "
            "not in this order before the footer",
            offset=position,
            field="footer",
        )
    if footer.column_table.stop != footer.global_offsets:
        raise CorruptFileError(
            f"{footer.num_columns} columns do not fill the column offsets table of "
            f"{footer.global_offsets - footer.column_offsets} bytes",
            offset=position + 28,
            field="footer.num_columns",
        )
    if footer.num_global_buffers == 0:
        raise CorruptFileError(
            "the file has no global buffer, but the first one must describe the file",
            offset=position + 24,
            field="footer.num_global_buffers",
        )
    if footer.global_table.stop > position:
        raise CorruptFileError(
            f"the offsets of {footer.num_global_buffers} global buffers do not fit before the "
            "footer",
            offset=position + 24,
            field="footer.num_global_buffers",
        )
