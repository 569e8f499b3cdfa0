"""One new file of a copy, and what the copy asks the table for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.file_versions import Field, FileVersion, Schema
from lance_core.hookspecs.stored_pages import DataFile, EncodingRegistry, FileReader, Fragment
from lance_core.hookspecs.stores import ObjectStore
from lance_core.maintenance import BasePath

Parts = Sequence[tuple[int, int, int]]
"""Physical rows ``start`` to ``stop`` of fragments, as (number of the fragment, start, stop)."""

RowReader = Callable[[Sequence[Field], Parts], Iterable[Sequence[pa.Array]]]
"""Reads the live rows of parts of fields: for each batch, an array of the storage type a field."""


class SourceTable(Protocol):
    """What a copy may ask of the version of a table whose fragments are written anew.

    All methods raise `CorruptFileError` or `ObjectNotFoundError` for damaged tables, and the errors
    of the store.
    """

    @property
    def schema(self) -> Schema:
        """The schema of the version."""

    @property
    def blobs_v2(self) -> Mapping[int, Field]:
        """All version 2 blob fields by field id."""

    @property
    def is_io_bound(self) -> bool:
        """True if reads mostly wait for a remote store."""

    def physical_rows(self, fragment: Fragment) -> int:
        """The number of rows stored in a fragment, including deleted ones."""

    def deleted_offsets(self, fragment: Fragment) -> npt.NDArray[np.uint32] | None:
        """The ascending physical offsets of the deleted rows, None if there are none."""

    def base(self, base_id: int | None) -> BasePath | None:
        """The base path with this id; None for None, which stands for the table's root."""

    def store_of(self, base: BasePath | None) -> ObjectStore:
        """The store of a base path."""

    def reader(self, file: DataFile) -> FileReader:
        """The open data file."""


@dataclass(frozen=True, slots=True)
class FileRewrite:
    """One new file: the live rows of ``fragments`` of ``table``, in their order.

    ``version``: of the new file. ``is_strict``: True if nothing may be decoded. ``batch_bytes``:
    maximum bytes that are read at once where the store cannot copy bytes itself. ``read_rows``
    reads rows that are not copied; it numbers the fragments by their position in ``fragments``.
    """

    table: SourceTable
    fragments: Sequence[Fragment]
    version: FileVersion
    registry: EncodingRegistry
    is_strict: bool
    batch_bytes: int
    read_rows: RowReader
