"""The environment that field decoders and encoders receive, and the interface of encoders."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
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
    """The environment of a decoder.

    ``coalesce_gap``: ranges less than this many bytes apart are requested as one range.
    ``file_size``: bytes of the data file; all requested ranges must end within it.
    ``version``: version of the data file. ``registry``: finds decoders by key.
    ``validate_utf8``: True to check that strings are UTF-8; offsets are always checked.
    ``memo``: values that the columns of one field share while the field is decoded.
    """

    coalesce_gap: int
    file_size: int
    version: FileVersion
    registry: EncodingRegistry
    validate_utf8: bool = True
    memo: dict[Hashable, Any] | None = None
    kernels: Kernels = field(init=False, repr=False, compare=False)
    """The kernels of the registry; a property would cost a call for each use."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", self.registry.kernels)


class BlobPlaces(Protocol):
    """Storage for the payloads of version 2 blobs outside of the data file."""

    def pack(
        self, data: pa.Array, rows: Int64Array, sizes: Int64Array, limit: int
    ) -> tuple[Int64Array, Int64Array]:
        """Write the values at ``rows`` of a large_binary array into shared side files.

        All ``sizes`` are above 0. Returns for each value the number of its side file and its
        position there. A side file exceeds ``limit`` bytes only if it holds a single value.
        """

    def dedicate(self, payload: pa.Buffer) -> int:
        """Write ``payload`` to a side file of its own and return the number of that file."""

    def refer(self, uris: pa.Array, path: str) -> tuple[npt.NDArray[np.uint32], pa.Array]:
        """For each non-null URI the id of its base path (0 for none) and the text to store.

        ``path`` is the path of the field. Raises `InvalidInputError` for a URI that is not allowed.
        """


@dataclass(frozen=True, slots=True)
class EncodeContext:
    """The environment of an encoder.

    ``write_buffer`` immediately writes a buffer, aligned to 64 bytes, and returns its offset from
    the start of the file. Encoders use it for payloads outside of pages (blobs).
    ``flush_bytes``: a column is written as a page when its Arrow arrays exceed this many bytes.
    ``max_page_bytes``: larger arrays are split over several pages.
    ``dictionary_threshold``: strings with at least this many rows and fewer distinct values than
    this are written with a dictionary.
    ``blobs``: storage for version 2 blobs; None for a file that is not part of a table.
    ``arrays_stay``: True if arrays that wait for others of their page need no copy, because their
    memory stays in use anyway; otherwise a copy frees the larger memory of which they are a part.
    """

    version: FileVersion
    registry: EncodingRegistry
    write_buffer: Callable[[pa.Buffer], int]
    flush_bytes: int = 8 << 20
    max_page_bytes: int = 32 << 20
    dictionary_threshold: int = 100
    blobs: BlobPlaces | None = None
    arrays_stay: bool = False
    kernels: Kernels = field(init=False, repr=False, compare=False)
    """The kernels of the registry; a property would cost a call for each use."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", self.registry.kernels)


class FieldEncoder(Protocol):
    """Encodes the arrays of one top-level field into pages of its physical columns."""

    @property
    def num_columns(self) -> int:
        """The number of physical columns of the field."""

    def write(self, array: pa.Array) -> Iterable[EncodedPage]:
        """Append rows; yield the pages that are full, in the order in which to write them."""

    def flush(self) -> Iterable[EncodedPage]:
        """Yield the remaining pages. Call once, after the last `write`."""

    def column_encodings(self) -> Sequence[bytes]:
        """The serialised ``ColumnEncoding`` of each physical column; valid after `flush`."""
