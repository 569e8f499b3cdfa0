"""Pages and columns of a 2.x data file: parsed ones to read, encoded ones to write."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from lance_core.byte_ranges import ByteRange, BytesLike
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from google.protobuf.message import Message


@dataclass(frozen=True, slots=True)
class ForeignEncoding:
    """An encoding that is not part of the format, with the type URL of its ``Any`` message."""

    type_url: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """One page. ``buffers`` are byte ranges of the file.

    ``encoding`` is an ``ArrayEncoding`` in 2.0, a ``PageLayout`` in 2.1 and 2.2.
    """

    buffers: tuple[ByteRange, ...]
    num_rows: int
    encoding: Message | ForeignEncoding


@dataclass(slots=True, eq=False)
class Column:
    """One physical column. Its pages hold consecutive rows.

    ``encoding`` is a ``ColumnEncoding``. ``starts`` has the first row of each page, then the number
    of rows of the column. ``decoder_cache`` belongs to the decoders, which store derived data about
    the pages there. Reuse the object between calls to keep the cache. What is stored there refers
    to `without_cache`, not to the column itself: such a circle, and all metadata that belongs to
    it, would stay in memory until Python searches for garbage.
    """

    pages: Sequence[Page]
    buffers: tuple[ByteRange, ...]
    encoding: Message | ForeignEncoding
    starts: list[int] = field(default_factory=list, repr=False)
    decoder_cache: Any = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if not self.starts:
            self.starts = list(accumulate((page.num_rows for page in self.pages), initial=0))

    @property
    def num_rows(self) -> int:
        return self.starts[-1]

    def without_cache(self) -> Column:
        """The same column with an empty ``decoder_cache``."""
        return Column(self.pages, self.buffers, self.encoding, self.starts)


class GroupKey(NamedTuple):
    """What the pages of a group of columns share.

    ``max_page_bytes``: maximum stored bytes of the pages of a field; a larger one is decoded alone.
    ``is_copied``: True if the arrays of the columns may share memory that is not of the file.
    """

    value: Any
    max_page_bytes: int = sys.maxsize
    is_copied: bool = True


class EncodedPage(NamedTuple):
    """An encoded page, ready to be written.

    ``column``: number of the physical column, counted from the first column of the field.
    ``encoding``: the serialised message of type `FileVersion.page_encoding_url`. ``priority``:
    number of the top-level row in which the page starts.
    """

    column: int
    buffers: Sequence[BytesLike]
    encoding: bytes
    num_rows: int
    priority: int
