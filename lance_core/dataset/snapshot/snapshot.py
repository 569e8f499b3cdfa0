"""One version of a table, opened for reading: what all verbs take."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from lance_core.commits.base import CommitHandler, ManifestLocation
from lance_core.commits.handlers.lock import CommitLock, locked
from lance_core.concurrency.fork_safe import cached_property
from lance_core.concurrency.lru_cache import LruCache
from lance_core.datafile.reader import FileReader
from lance_core.datafile.small_files import SmallFiles
from lance_core.dataset.snapshot.base_paths import object_place, open_base
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field as SchemaField
from lance_core.schema import Schema, is_blob_v2
from lance_core.schema.blob_views import with_bytes, with_descriptions
from lance_core.store.base import ObjectStore
from lance_core.store.config import StoreConfig
from lance_core.store.uri import StoreUrl
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.deletion import decode_deletions
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest.manifest import Manifest
from lance_core.table.manifest_parts import BasePath

MAX_FRAGMENT_ROWS = 1 << 32
"""A row address has 32 bits for the offset in a fragment."""

MAX_OPEN_FILES = 1024
"""Data files whose footers and page tables stay parsed, per opened table."""

MAX_OPEN_BASES = 256
"""Base paths whose stores are remembered, per opened table."""

MAX_DELETION_BYTES = 128 << 20
"""Memory for the offsets of deleted rows that stay decoded, per opened table."""


@dataclass(frozen=True, eq=False)
class TableRoot:
    """Where a table lives, what reads it and what commits to it; paths count from ``store``.

    With a ``commit_lock``, which is the caller's, ``handler`` becomes one that commits inside the
    lock. Raises ``TypeError`` if the lock cannot be called.
    """

    config: StoreConfig
    store: ObjectStore
    handler: CommitHandler
    registry: EncodingRegistry
    commit_lock: CommitLock | None = None
    readers: LruCache[tuple[str | None, str, int | None], FileReader] = field(
        default_factory=lambda: LruCache(MAX_OPEN_FILES, made_once=True)
    )
    small_files: SmallFiles = field(default_factory=SmallFiles)
    deletions: LruCache[tuple[str | None, str], npt.NDArray[np.uint32]] = field(
        default_factory=lambda: LruCache(
            MAX_DELETION_BYTES, lambda offsets: offsets.nbytes, made_once=True
        )
    )
    bases: LruCache[tuple[str | None, str], ObjectStore] = field(
        default_factory=lambda: LruCache(MAX_OPEN_BASES)
    )

    def __post_init__(self) -> None:
        handler = locked(self.commit_lock, self.store, self.handler)
        object.__setattr__(self, "handler", handler)

    def with_lock(self, commit_lock: CommitLock | None) -> TableRoot:
        """The same place, committed to inside ``commit_lock``; None changes nothing."""
        return self if commit_lock is None else replace(self, commit_lock=commit_lock)

    @property
    def uri(self) -> str:
        """The place as the user wrote it; `redacted_uri` hides what may be secret in it."""
        return self.config.place

    @property
    def url(self) -> StoreUrl:
        """The parsed place."""
        return self.config.place_url

    @property
    def redacted_uri(self) -> str:
        """The place as texts and messages name it."""
        return str(self.url)

    @property
    def base_uri(self) -> str:
        """The place alone, whoever makes the versions there and with whatever options."""
        return str(replace(self.url, commit_scheme=None, query={}))


Places: TypeAlias = tuple[Fragment, Sequence[SchemaField], Mapping[int, Sequence[int]]]
"""Fields of a fragment, and which of them each of its files holds."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A version of a table."""

    root: TableRoot
    file: ManifestFile
    location: ManifestLocation

    @property
    def manifest(self) -> Manifest:
        return self.file.manifest

    @property
    def schema(self) -> Schema:
        return self.manifest.schema

    @property
    def version(self) -> int:
        return self.manifest.version

    @property
    def is_io_bound(self) -> bool:
        """Whether reading it is mostly waiting for the service that has its files."""
        return self.root.store.read_ahead > 0

    @cached_property
    def schema_with_descriptions(self) -> Schema:
        """The schema with blob fields as what columns hold of them: position and size."""
        return with_descriptions(self.schema)

    @cached_property
    def schema_with_bytes(self) -> Schema:
        """The schema with blob fields as large_binary."""
        return with_bytes(self.schema)

    @cached_property
    def blobs_v2(self) -> Mapping[int, SchemaField]:
        """The blob fields of version 2, at any depth, by id."""
        return {part.id: part for part in self.schema.walk() if is_blob_v2(part)}

    @cached_property
    def places(self) -> dict[int, Places]:
        """What was read last of fragments, by their ids; `fragment_read` keeps it here."""
        return {}

    def base(self, base_id: int | None) -> BasePath | None:
        """The base path of this id, None for the table itself (None).

        Raises `CorruptFileError` if the version lists no such base path.
        """
        if base_id is None:
            return None
        found = self._base_paths.get(base_id)
        if found is None:
            raise CorruptFileError(
                f"base path {base_id} is not listed",
                self.location.path,
                field="Manifest.base_paths",
            )
        return found

    @cached_property
    def _base_paths(self) -> Mapping[int, BasePath]:
        return {base.id: base for base in self.manifest.base_paths}

    def store_of(self, base: BasePath | None) -> ObjectStore:
        """The store of a base path or, for None, of the table itself; errors as of `open_base`."""
        if base is None:
            return self.root.store
        config, branch, path = self.root.config, self.manifest.branch, base.path
        return self.root.bases.get((branch, path), lambda: open_base(config, branch, path))

    def object_at(self, uri: str) -> tuple[ObjectStore, str]:
        """The store and the path there of an object that the table names by an absolute URI.

        Errors as of `open_base` and `object_place`.
        """
        config, branch, (folder, name) = self.root.config, self.manifest.branch, object_place(uri)
        store = self.root.bases.get((branch, folder), lambda: open_base(config, branch, folder))
        return store, name

    def reader(self, file: DataFile) -> FileReader:
        """The open data file, kept by place, name and size: names are never used twice."""
        base, size = self.base(file.base_id), file.trusted_size
        path = file.store_path(base)
        return self.root.readers.get(
            (None if base is None else base.path, path, size),
            lambda: FileReader.open(
                self.store_of(base),
                path,
                registry=self.root.registry,
                size=size,
                small_files=self.root.small_files,
            ),
        )

    def fragment(self, fragment_id: int) -> Fragment:
        """The fragment with this id, or `InvalidInputError`."""
        place = self.fragment_positions.get(fragment_id)
        if place is None:
            raise InvalidInputError(f"version {self.version} has no fragment {fragment_id}")
        return self.manifest.fragments[place]

    @property
    def storage_version(self) -> FileVersion:
        """File version of the table's data files; `CorruptFileError` for an unknown one."""
        return FileVersion.from_manifest(self.manifest.storage_version)

    def live_rows(self, fragment: Fragment) -> int:
        """Rows of ``fragment`` that are not deleted."""
        if fragment.num_rows is not None:
            return fragment.num_rows
        deleted = self.deleted_offsets(fragment)
        return self.physical_rows(fragment) - (0 if deleted is None else len(deleted))

    def physical_rows(self, fragment: Fragment) -> int:
        """Rows stored in ``fragment``, deleted ones included (old tables do not record it).

        Raises `CorruptFileError` for more rows than have addresses.
        """
        rows = fragment.physical_rows
        if rows is None:
            rows = self.reader(fragment.files[0]).num_rows if fragment.files else 0
        if rows > MAX_FRAGMENT_ROWS:
            raise CorruptFileError(
                f"fragment {fragment.id} has {rows} rows",
                self.location.path,
                field="DataFragment.physical_rows",
            )
        return rows

    def deleted_offsets(self, fragment: Fragment) -> npt.NDArray[np.uint32] | None:
        """Sorted physical offsets of the fragment's deleted rows, None if there are none."""
        file = fragment.deletion_file
        if file is None:
            return None
        base = self.base(file.base_id)
        path = file.store_path(fragment.id, base)
        return self.root.deletions.get(
            (None if base is None else base.path, path),
            lambda: decode_deletions(
                file.file_type,
                self.store_of(base).get(path),
                self.physical_rows(fragment),
                file.num_deleted_rows,
                path,
            ),
        )

    @cached_property
    def row_starts(self) -> npt.NDArray[np.int64]:
        """Position of each fragment's first live row in the table, and the total at the end."""
        if self.num_rows >= 1 << 63:
            raise CorruptFileError(
                f"{self.num_rows} rows", self.location.path, field="Manifest.fragments"
            )
        counts = self.manifest.fragments.counts
        if counts.num_rows is None:
            live = np.array([self.live_rows(fragment) for fragment in self.manifest.fragments])
        else:
            live = np.array(counts.physical_rows) - np.array(counts.deleted_rows)
        starts = np.zeros(len(live) + 1, np.int64)
        np.cumsum(live.astype(np.int64), out=starts[1:])
        return starts

    @cached_property
    def num_rows(self) -> int:
        """Live rows of the table."""
        counted = self.manifest.num_rows
        if counted is not None:
            return counted
        return sum(self.live_rows(fragment) for fragment in self.manifest.fragments)

    @property
    def fragment_positions(self) -> Mapping[int, int]:
        """Fragment id to its place in the manifest; `CorruptFileError` if one is there twice."""
        try:
            return self.manifest.fragments.positions
        except CorruptFileError as error:
            raise error.at(self.location.path) from None


@runtime_checkable
class HasSnapshot(Protocol):
    """Whatever has a version of a table open, such as a `LanceDataset`."""

    @property
    def snapshot(self) -> Snapshot:
        """The open version."""


Target: TypeAlias = str | os.PathLike[str] | HasSnapshot
"""What users name a table by: its URI, or an object that has it open."""
