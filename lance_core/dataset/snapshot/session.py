"""`Session`: the caches of opened tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lance_core.concurrency.fork_safe import cached_property
from lance_core.concurrency.lru_cache import LruCache
from lance_core.datafile.fast.small_files import CAPACITY, SmallFiles
from lance_core.datafile.reader import FileReader
from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.store.base import ObjectStore
from lance_core.store.process_reads import StoreTotals, totals_of
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import RowVersions

if TYPE_CHECKING:
    from lance_core.datafile.fast.joined_files import JoinedFiles
    from lance_core.index.base import OpenIndex

MAX_READER_BYTES = 256 << 20
"""Maximum bytes of the footers and page tables of data files that a session caches."""

MAX_JOINED_BYTES = 64 << 20
"""Maximum bytes of the metadata of joined data files that a session caches."""

MAX_DELETION_BYTES = 128 << 20
"""Maximum bytes of offsets of deleted rows that a session caches."""

MAX_ROW_ID_BYTES = 128 << 20
"""Maximum bytes of row ids, and of row versions, that a session caches."""

MAX_INDEX_BYTES = 512 << 20
"""Maximum bytes that the open indices of a session keep in memory."""


def _nbytes(item: Any) -> int:
    return int(item.nbytes)


class Session:
    """Caches of metadata and of open indices, which datasets with the same session share.

    A dataset that is opened without a session has one of its own. ``index_cache_size_bytes``: the
    limit of the cache of indices, by default 512 MiB. ``metadata_cache_size_bytes``: the limit of
    each cache of metadata (of data files, deleted rows, row ids and row versions). 0 caches none.
    An item larger than a limit is cached alone.
    """

    def __init__(
        self,
        index_cache_size_bytes: int | None = None,
        metadata_cache_size_bytes: int | None = None,
    ) -> None:
        for limit in (index_cache_size_bytes, metadata_cache_size_bytes):
            if limit is not None and (not isinstance(limit, int) or limit < 0):
                raise InvalidInputError(f"a cache size is a number of bytes, got {limit!r}")

        self._limits = index_cache_size_bytes, metadata_cache_size_bytes
        self.io_starts: dict[StoreTotals, tuple[int, int, int, int]] = {}

    def start_counting(self, store: ObjectStore) -> None:
        """Let the statistics of a store count from now on, unless they count already."""
        totals = totals_of(store)
        if totals is not None and totals not in self.io_starts:
            self.io_starts[totals] = totals.numbers()

    def index_cache_size_bytes(self) -> int:
        """The bytes of the open indices."""
        return self.indices.total

    # Stores and base paths belong to the keys: sessions may serve several tables. A store has
    # the credentials with which the files of an item are read later. Each cache is created at its
    # first use, because most tables are opened for one or two kinds of reads.

    @cached_property
    def indices(self) -> LruCache[tuple[ObjectStore, int], OpenIndex]:
        """Open indices by store and the number of their UUID."""
        limit = self._limits[0]
        return LruCache(
            MAX_INDEX_BYTES if limit is None else limit, _nbytes, made_once=True, name="indices"
        )

    @cached_property
    def readers(self) -> LruCache[tuple[ObjectStore, str | None, str, int | None], FileReader]:
        """Open data files by store, base path, path and size."""
        return self._metadata_cache(MAX_READER_BYTES, "data files")

    @cached_property
    def joined(self) -> LruCache[tuple[ObjectStore, str | None, tuple[str, ...]], JoinedFiles]:
        """Joined data files by store, base path and paths."""
        return self._metadata_cache(MAX_JOINED_BYTES, "joined files")

    @cached_property
    def small_files(self) -> SmallFiles:
        """Small data files that were read whole."""
        return SmallFiles(self._metadata_limit(CAPACITY))

    @cached_property
    def deletions(self) -> LruCache[tuple[ObjectStore, str | None, str], npt.NDArray[np.uint32]]:
        """Offsets of deleted rows by store, base path and path."""
        return self._metadata_cache(MAX_DELETION_BYTES, "deletions")

    @cached_property
    def row_ids(self) -> LruCache[bytes, RowIdSequence]:
        """Sequences of row ids by their serialized form."""
        return self._metadata_cache(MAX_ROW_ID_BYTES, "row ids")

    @cached_property
    def row_versions(self) -> LruCache[bytes, RowVersions]:
        """Versions of rows by their serialized form."""
        return self._metadata_cache(MAX_ROW_ID_BYTES, "row versions")

    def size_bytes(self) -> int:
        """An estimate of the bytes in the caches; indices count as if they were loaded."""
        metadata = (self.readers, self.joined, self.deletions, self.row_ids, self.row_versions)
        caches = (*metadata, self.small_files.cache, self.indices)
        return sum(cache.total for cache in caches)

    def _metadata_limit(self, default: int) -> int:
        limit = self._limits[1]
        return default if limit is None else min(default, limit)

    def _metadata_cache(self, limit: int, name: str) -> LruCache[Any, Any]:
        return LruCache(self._metadata_limit(limit), _nbytes, made_once=True, name=name)

    def __copy__(self) -> Session:
        return self

    def __deepcopy__(self, memo: object) -> Session:
        """The session itself: copies of a dataset share its caches."""
        return self

    def __reduce__(self) -> tuple[type[Session], tuple[int | None, int | None]]:
        """Pickled without its contents, which another process reads again."""
        return Session, self._limits

    def fresh(self) -> Session:
        """Empty caches with the same limits."""
        return Session(*self._limits)

    def is_same_as(self, other: Session) -> bool:
        """True if both are the same caches."""
        return self is other


def checked_session(session: object) -> Session:
    """The session that a user gave, a new one for None. Raises `InvalidTypeError`."""
    if session is None:
        return Session()
    if not isinstance(session, Session):
        raise InvalidTypeError(f"a session is a Session, got {session!r}")
    return session
