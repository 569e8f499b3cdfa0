"""The interface to the metadata of an open data file of any version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from lance_core.byte_ranges import ByteRange
from lance_core.datafile.footer import FOOTER_LENGTH, file_version

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.datafile.page_statistics import PageStatistics
    from lance_core.datafile.tail import Tail
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.registry import EncodingRegistry
    from lance_core.encodings.version import FileVersion
    from lance_core.schema import Field, Schema


class FileContent(Protocol):
    """The metadata of a file, and the decoding of its rows.

    The first access to a member may parse metadata. All members raise `CorruptFileError`, without a
    path, for invalid metadata.
    """

    @property
    def version(self) -> FileVersion:
        """The file version."""

    @property
    def size(self) -> int:
        """File size in bytes."""

    @property
    def metadata_size(self) -> int:
        """Bytes of the metadata, roughly."""

    @property
    def num_rows(self) -> int:
        """Number of rows in the file."""

    @property
    def rows_per_group(self) -> int | None:
        """See `FileReader.rows_per_group`."""

    @property
    def schema(self) -> Schema:
        """The schema stored in the file."""

    def check_field(self, field: Field, column_of: Mapping[int, int]) -> None:
        """Raise `CorruptFileError` if the metadata shows that a column of the field lacks rows."""

    def decode_fields(
        self,
        fields: Sequence[Field],
        column_of: Mapping[int, int],
        rows: AnyRows,
        context: DecodeContext,
    ) -> Iterator[Decoding[list[pa.Array]]]:
        """What `lance_core.encodings.dispatch.decode_field` returns for each of ``fields``."""

    def field_bytes(self, field: Field, index: int) -> int:
        """Bytes in the pages of a field with column ``index``; 0 if the metadata has no sizes."""

    def page_statistics(
        self, fields: Sequence[Field], context: DecodeContext
    ) -> Decoding[PageStatistics | None]:
        """Statistics of runs of rows of ``fields``, at any depth; None if the file has none."""


def read_content(tail: Tail, registry: EncodingRegistry) -> FileContent:
    """Read the metadata of the file whose last bytes are in ``tail``.

    Raises `CorruptFileError` for invalid metadata, `UnsupportedFeatureError` for an unknown file
    version, and `PluginNotFoundError` for one that no installed plugin reads.
    """
    (ending,) = tail.read([ByteRange(max(0, tail.size - FOOTER_LENGTH), tail.size)])
    version = file_version(ending, tail.size)
    read = registry.resolved(registry.file_version(version).read_content)
    content: FileContent = read(tail)
    if version.has_column_metadata:
        registry.decoder(version)  # imports it, where a missing file descriptor is reported
    return content
