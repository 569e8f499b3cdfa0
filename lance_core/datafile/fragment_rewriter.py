"""The contract of rewriters: they write the rows of fragments anew without decoding all of them.

A compaction that decodes and encodes needs none. A rewriter of a plugin may copy what is stored.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.datafile.file_output import FileWriteResult
from lance_core.datafile.reader import FileReader
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, Schema
from lance_core.store.base import ObjectStore, ObjectWriter
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest_parts import BasePath

Parts = Sequence[tuple[int, int, int]]
"""Physical rows ``start`` to ``stop`` of fragments, as (number of the fragment, start, stop)."""

RowReader = Callable[[Sequence[Field], Parts], Iterable[Sequence[pa.Array]]]
"""Reads the live rows of parts of fields: for each batch, an array of the storage type a field."""


class SourceTable(Protocol):
    """What a rewriter may ask of the version of a table whose fragments it writes anew.

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


@dataclass(slots=True)
class RewriteCounts:
    """What was done to write files: pages copied and encoded again, bytes of copied pages."""

    pages_copied: int = 0
    pages_reencoded: int = 0
    bytes_copied: int = 0

    def add(self, more: RewriteCounts) -> None:
        """Add what was done to write another file."""
        self.pages_copied += more.pages_copied
        self.pages_reencoded += more.pages_reencoded
        self.bytes_copied += more.bytes_copied


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


class FragmentRewriter(abc.ABC):
    """Writes the live rows of fragments as new files."""

    @abc.abstractmethod
    def why_not(
        self,
        table: SourceTable,
        fragments: Sequence[Fragment],
        version: FileVersion,
        *,
        is_strict: bool,
    ) -> str | None:
        """The reason why ``fragments`` cannot be written so, None if they can.

        ``is_strict``: True if nothing may be decoded; otherwise one page to copy is enough.
        """

    @abc.abstractmethod
    def write(
        self, rewrite: FileRewrite, writer: ObjectWriter
    ) -> tuple[FileWriteResult, RewriteCounts]:
        """Write one file that `why_not` allows, and close its ``writer``.

        The caller aborts the writer after an error. Raises `CorruptFileError` for files whose
        metadata contradict the format or the manifest, `ObjectNotFoundError` for a file that does
        not exist, and the errors of the stores.
        """
