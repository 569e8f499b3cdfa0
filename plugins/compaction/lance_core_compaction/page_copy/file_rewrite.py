"""One new file of a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_core.hookspecs.file_versions import Field, FileVersion
from lance_core.hookspecs.stored_pages import EncodingRegistry, Fragment
from lance_core.maintenance import Snapshot

Parts = Sequence[tuple[int, int, int]]
"""Physical rows ``start`` to ``stop`` of fragments, as (number of the fragment, start, stop)."""

RowReader = Callable[[Sequence[Field], Parts], Iterable[Sequence[pa.Array]]]
"""Reads the live rows of parts of fields: for each batch, an array of the storage type a field."""


@dataclass(frozen=True, slots=True)
class FileRewrite:
    """One new file: the live rows of ``fragments`` of ``table``, in their order.

    ``version``: of the new file. ``is_strict``: True if nothing may be decoded. ``batch_bytes``:
    maximum bytes that are read at once where the store cannot copy bytes itself. ``read_rows``
    reads rows that are not copied; it numbers the fragments by their position in ``fragments``.
    """

    table: Snapshot
    fragments: Sequence[Fragment]
    version: FileVersion
    registry: EncodingRegistry
    is_strict: bool
    batch_bytes: int
    read_rows: RowReader
