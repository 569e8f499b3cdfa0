"""`Snapshot`: one opened version of a table, the argument of all verbs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.commits.base import CommitHandler, ManifestLocation
from lance_core.commits.checked_handler import checked
from lance_core.commits.handlers.lock import CommitLock, locked
from lance_core.concurrency.fork_safe import cached_property
from lance_core.concurrency.lru_cache import LruCache
from lance_core.concurrency.turns import SHORT_REQUEST
from lance_core.datafile.reader import FileReader
from lance_core.dataset.snapshot.base_paths import allowing, object_place, open_base
from lance_core.dataset.snapshot.session import Session
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, InvalidInputError, ObjectNotFoundError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema import Field as SchemaField
from lance_core.schema import Schema, is_blob_v2
from lance_core.schema.blobs.views import with_bytes, with_descriptions
from lance_core.store.base import ObjectStore
from lance_core.store.config import StoreConfig
from lance_core.store.uri import StoreUrl
from lance_core.store.wrappers.counting import CountingStore, ReadCounters
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.deletion import decode_deletions
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest.manifest import Manifest
from lance_core.table.manifest_parts import BasePath

MAX_FRAGMENT_ROWS = 1 << 32
"""Maximum rows of a fragment: a row address has 32 bits for the offset in the fragment."""

MAX_OPEN_BASES = 256
"""Maximum cached stores of base paths for each opened table."""


_NO_TURN = nullcontext()


@dataclass(frozen=True, eq=False)
class TableRoot:
    """The location of a table or branch, with its store, commit handler, encodings and caches.

    All paths are relative to ``store``. With a ``commit_lock`` of the caller, ``handler`` commits
    inside the lock. Raises ``TypeError`` if the lock is not callable.
    """

    config: StoreConfig
    store: ObjectStore
    handler: CommitHandler
    registry: EncodingRegistry
    commit_lock: CommitLock | None = None
    session: Session = field(default_factory=Session)
    bases: LruCache[tuple[str | None, str], ObjectStore] = field(
        default_factory=lambda: LruCache(MAX_OPEN_BASES)
    )

    def __post_init__(self) -> None:
        if self.commit_lock is not None:
            handler = locked(self.commit_lock, self.store, self.handler)
            object.__setattr__(self, "handler", handler)

    def with_lock(self, commit_lock: CommitLock | None) -> TableRoot:
        """The same root, with commits inside ``commit_lock``; None changes nothing."""
        return self if commit_lock is None else replace(self, commit_lock=commit_lock)

    def check_can_commit(self) -> None:
        """Raise the error of a commit that cannot succeed; call it before writing files."""
        self.store.check_can_write()  # its error is clearer than that of the handler
        checked(self.handler, self.store).check_can_commit()

    def allowing(
        self, paths: Iterable[str], options: Mapping[str, Mapping[str, Any]] | None = None
    ) -> TableRoot:
        """The same root, with permission to use the base paths ``paths``.

        ``options``: storage options of base paths by URI, which are a permission, too.
        """
        paths = list(paths)
        if not paths and not options:
            return self
        config = allowing(self.config, paths) if paths else self.config
        config = config.with_base_options(options) if options else config
        return replace(self, config=config, bases=LruCache(MAX_OPEN_BASES))

    def base_store(self, branch: str | None, path: str) -> ObjectStore:
        """The store of a base path, or of a folder that a version refers to; see `open_base`."""
        return self.bases.get((branch, path), lambda: open_base(self.config, branch, path))

    @property
    def uri(self) -> str:
        """The URI as the user wrote it; it may contain secrets, which `redacted_uri` hides."""
        return self.config.place

    @property
    def url(self) -> StoreUrl:
        """The parsed URI."""
        return self.config.place_url

    @property
    def redacted_uri(self) -> str:
        """The URI without secrets, for messages."""
        return str(self.url)

    @property
    def base_uri(self) -> str:
        """The URI without commit scheme and options: it identifies the location only."""
        return str(replace(self.url, commit_scheme=None, query={}))


class Places(NamedTuple):
    """Where the ``fields`` of a read of ``fragment`` are, and what follows from the fields alone.

    ``by_file``: by file number the indices of the fields in that file. ``members``: by file number
    the fields themselves, and True if files hold all of them as users see them. ``schema``: the
    Arrow schema of the fields.
    """

    fragment: Fragment
    fields: Sequence[SchemaField]
    by_file: Mapping[int, Sequence[int]]
    members: Mapping[int, tuple[tuple[SchemaField, ...], bool]]
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An opened version of a table. ``reads`` counts what is read through this object."""

    root: TableRoot
    file: ManifestFile
    location: ManifestLocation
    reads: ReadCounters | None = None

    @property
    def manifest(self) -> Manifest:
        return self.file.manifest

    @property
    def schema(self) -> Schema:
        return self.file.manifest.schema

    @property
    def version(self) -> int:
        return self.manifest.version

    def for_rewrite(self, fragments: Sequence[Fragment]) -> Snapshot:
        """The same version, to write ``fragments`` anew: nothing is cached beyond this object.

        Pages are checked against their checksums, if they have some, and new pages get some if
        those of the first or the last fragment have.
        """
        root, sums = self.root, self.root.registry.sums_pages
        root = replace(root, session=root.session.fresh())
        fresh = replace(self, root=root)
        for fragment in (*fragments[:1], *fragments[-1:]):
            sums = sums or any(fresh.reader(file).has_page_sums for file in fragment.files)
        registry = root.registry.with_checksums(checks=True, sums=sums)
        return replace(self, root=replace(root, session=root.session.fresh(), registry=registry))

    @cached_property
    def is_io_bound(self) -> bool:
        """True if reads mostly wait for a remote store."""
        return self.root.store.read_ahead > 0

    @cached_property
    def turn(self) -> AbstractContextManager[None]:
        """The context of a short read: a turn (`turns`) if it does not wait for a store."""
        return SHORT_REQUEST if self.root.store.has_views else _NO_TURN

    @property
    def next_field_id(self) -> int:
        """The lowest id above those of all fields in the schema and in data files.

        In a table that never uses a field id twice, also above all ids that were used before.
        """
        used = self.manifest.carried.max_allocated_field_id
        in_files = self.manifest.fragments.max_field_id
        return 1 + max(self.schema.max_field_id, in_files, -1 if used is None else used)

    @property
    def splits_structs(self) -> bool:
        """True if members of a struct may be in another file than the struct."""
        return self.storage_version.splits_structs

    @cached_property
    def schema_with_descriptions(self) -> Schema:
        """The schema with blob fields as the descriptions that columns store (position, size)."""
        return with_descriptions(self.schema)

    @cached_property
    def schema_with_bytes(self) -> Schema:
        """The schema with blob fields as large_binary."""
        return with_bytes(self.schema)

    @cached_property
    def blobs_v2(self) -> Mapping[int, SchemaField]:
        """All version 2 blob fields, also nested ones, by field id."""
        schema = self.schema
        return schema.derived(
            "blobs v2", lambda: {part.id: part for part in schema.walk() if is_blob_v2(part)}
        )

    @cached_property
    def has_blobs(self) -> bool:
        """True if the table has a blob field of any version, at any depth."""
        schema = self.schema
        return schema.derived(
            "has blobs", lambda: any(part.is_blob or is_blob_v2(part) for part in schema.walk())
        )

    @cached_property
    def caches(self) -> dict[object, Any]:
        """What other modules keep of this version, each under a key of its own."""
        return {}

    @cached_property
    def files_of_fields(self) -> dict[int, tuple[Places, ...]]:
        """A cache of `fragment_reader`: for each fragment id, the files of the fields last read.

        It belongs to the fragments, which snapshots of one version may share.
        """
        return self.file.manifest.fragments.derived

    def base(self, base_id: int | None) -> BasePath | None:
        """The base path with this id; None for None, which stands for the table's root.

        Raises `CorruptFileError` if the manifest lists no such base path.
        """
        if base_id is None:
            return None
        base = self._base_paths.get(base_id)
        if base is None:
            raise CorruptFileError(
                f"base path {base_id} is not listed",
                self.location.path,
                field="Manifest.base_paths",
            )
        return base

    @cached_property
    def _base_paths(self) -> Mapping[int, BasePath]:
        return {base.id: base for base in self.manifest.base_paths}

    def store_of(self, base: BasePath | None) -> ObjectStore:
        """The store of a base path (None: of the table). Raises the errors of `open_base`."""
        store = self._plain_store(base)
        return store if self.reads is None else CountingStore(store, self.reads)

    def _plain_store(self, base: BasePath | None) -> ObjectStore:
        if base is None:
            return self.root.store
        return self.root.base_store(self.manifest.branch, base.path)

    def object_at(self, uri: str) -> tuple[ObjectStore, str]:
        """The store of the object at the absolute URI ``uri``, and its path in the store.

        Raises the errors of `open_base` and `object_place`.
        """
        folder, name = object_place(uri)
        return self.root.base_store(self.manifest.branch, folder), name

    def reader(self, file: DataFile) -> FileReader:
        """The open data file, cached by base path, path and size; file names are never reused."""
        base = None if file.base_id is None else self.base(file.base_id)
        size = file.trusted_size
        path = file.store_path(base)
        reader = self.root.session.readers.get(
            (self.root.store, None if base is None else base.path, path, size),
            lambda: self._open(base, path, size),
        )
        if self.reads is None:
            return reader
        views: dict[FileReader, FileReader] = self.reads.views
        if reader not in views:
            views[reader] = reader.on(self.store_of(base))
        return views[reader]

    def _open(self, base: BasePath | None, path: str, size: int | None) -> FileReader:
        """Open a data file; the reader outlives this snapshot and is not counted after this."""
        try:
            opened = FileReader.open(
                self.store_of(base),
                path,
                registry=self.root.registry,
                size=size,
                small_files=self.root.session.small_files,
            )
        except ObjectNotFoundError as error:
            error.add_note("lance-core verify TABLE (extra cli) says what else is missing")
            raise
        return opened if self.reads is None else opened.on(self._plain_store(base))

    def fragment(self, fragment_id: int) -> Fragment:
        """The fragment with this id; raises `InvalidInputError` if there is none."""
        position = self.fragment_positions.get(fragment_id)
        if position is None:
            raise InvalidInputError(f"version {self.version} has no fragment {fragment_id}")
        return self.file.manifest.fragments[position]

    def fragments(self, ids: Sequence[int]) -> list[Fragment]:
        """The fragments with these ids; raises `InvalidInputError` if there is none with one."""
        positions = self.fragment_positions
        indices = [positions.get(id_, -1) for id_ in ids]
        if -1 in indices:
            missing = ids[indices.index(-1)]
            raise InvalidInputError(f"version {self.version} has no fragment {missing}")
        return list(self.manifest.fragments.at(indices))

    @property
    def storage_version(self) -> FileVersion:
        """The version of the table's data files; raises `CorruptFileError` for an unknown one."""
        return FileVersion.from_manifest(self.manifest.storage_version)

    def live_rows(self, fragment: Fragment) -> int:
        """The number of rows of ``fragment`` that are not deleted."""
        if fragment.num_rows is not None:
            return fragment.num_rows
        deleted = self.deleted_offsets(fragment)
        return self.physical_rows(fragment) - (0 if deleted is None else len(deleted))

    def physical_rows(self, fragment: Fragment) -> int:
        """The number of rows stored in ``fragment``, including deleted ones.

        Reads a data file if the manifest of an old table does not record it. Raises
        `CorruptFileError` for more than `MAX_FRAGMENT_ROWS`.
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
        """The sorted physical offsets of the fragment's deleted rows, None if there are none."""
        file = fragment.deletion_file
        if file is None:
            return None
        base = self.base(file.base_id)
        path = file.store_path(fragment.id, base)
        return self.root.session.deletions.get(
            (self.root.store, None if base is None else base.path, path),
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
        """The table position of each fragment's first live row; the last entry is the total."""
        if self.num_rows >= 1 << 63:
            raise CorruptFileError(
                f"the table claims {self.num_rows} rows, more than addresses exist",
                self.location.path,
                field="Manifest.fragments",
            )
        live = self.manifest.fragments.counts.live_rows
        if live is None:
            counted = [self.live_rows(fragment) for fragment in self.manifest.fragments]
            live = np.array(counted, np.int64)
        starts = np.zeros(len(live) + 1, np.int64)
        np.cumsum(live, out=starts[1:])
        return starts

    @cached_property
    def num_rows(self) -> int:
        """The number of live rows in the table."""
        counted = self.manifest.num_rows
        if counted is not None:
            return counted
        return sum(self.live_rows(fragment) for fragment in self.manifest.fragments)

    @cached_property
    def fragment_positions(self) -> Mapping[int, int]:
        """The index in the manifest by fragment id; raises `CorruptFileError` for a repeated id."""
        try:
            return self.file.manifest.fragments.positions
        except CorruptFileError as error:
            raise error.at(self.location.path) from None


@runtime_checkable
class HasSnapshot(Protocol):
    """An object with an open version of a table, such as a `LanceDataset`."""

    @property
    def snapshot(self) -> Snapshot:
        """The open version."""


Target: TypeAlias = str | os.PathLike[str] | StoreConfig | HasSnapshot
"""A table as users name it: its URI, or an object that has it open."""
