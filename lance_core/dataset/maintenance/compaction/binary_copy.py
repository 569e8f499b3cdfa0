"""Compact fragments by copying pages: which fragments allow it, and the copy itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.version import FileVersion
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.fragment import Fragment

READ_BATCH_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """Options of a copy.

    A file ends at the first page or source file from which on it has ``target_rows`` rows or
    ``max_bytes`` bytes. ``version``: file version of the result. ``read_batch_bytes``: maximum
    bytes that are read at once where the store cannot copy bytes itself. ``advance`` is called with
    the number of rows whenever some were written. ``done``: each finished fragment is appended, so
    that the caller can remove its files after a failure (`NewFiles.data`); an unfinished file
    removes itself. ``verify_pages``: decode each copied page once.
    """

    target_rows: int
    max_bytes: int
    version: FileVersion
    read_batch_bytes: int = READ_BATCH_BYTES
    advance: Callable[[int], object] = lambda _: None
    done: list[Fragment] = field(default_factory=list)
    verify_pages: bool = False


@dataclass(frozen=True, slots=True)
class CopiedFragments:
    """New fragments with id 0 and without row ids, and what was done to write them."""

    fragments: tuple[Fragment, ...]
    pages_copied: int
    pages_reencoded: int
    bytes_copied: int
    bytes_written: int


def why_not(
    snapshot: Snapshot, fragments: Sequence[Fragment], version: FileVersion | None = None
) -> str | None:
    """The reason why a strict binary copy of ``fragments`` is impossible, None if it is possible.

    ``version``: file version of the result, by default the table's.
    """
    return "binary copy is not built yet"


def why_no_pages(
    snapshot: Snapshot, fragments: Sequence[Fragment], version: FileVersion | None = None
) -> str | None:
    """The reason why no page of ``fragments`` can be copied, None if `copy_fragments` can be used.

    Unlike `why_not`, this allows deleted rows and columns in several files.
    """
    return "binary copy is not built yet"


def copy_fragments(
    snapshot: Snapshot, fragments: Sequence[Fragment], writing: CopyOptions
) -> CopiedFragments:
    """Write the live rows of ``fragments``, in their order, as new fragments.

    Pages are copied where possible, the others are decoded and encoded again. Call it only if
    `why_no_pages` returns None, or `why_not` for a copy without any decoding.
    """
    raise UnsupportedFeatureError("binary copy is not built yet")
