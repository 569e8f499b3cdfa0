"""What decoders and encoders of fields are given, and what encoders give back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lance_core.encodings.version import FileVersion
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.page import EncodedPage
    from lance_core.encodings.registry import EncodingRegistry


@dataclass(frozen=True, slots=True)
class DecodeContext:
    """What a decoder may know of its environment.

    ``coalesce_gap``: ranges less than this many bytes apart are better asked for as one.
    ``file_size``: bytes in the data file; a range that a decoder asks for must end within it.
    ``version``: of the data file. ``registry``: where decoders find each other.
    ``validate_utf8``: whether strings are checked to be UTF-8; offsets always are.
    ``memo``: what columns of one field have in common, kept while it is decoded.
    """

    coalesce_gap: int
    file_size: int
    version: FileVersion
    registry: EncodingRegistry
    validate_utf8: bool = True
    memo: dict[Hashable, Any] | None = None

    @property
    def kernels(self) -> Kernels:
        """The inner loops of this process."""
        return self.registry.kernels


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
    """What an encoder may know of its environment.

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

    @property
    def kernels(self) -> Kernels:
        """The inner loops of this process."""
        return self.registry.kernels


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
