"""The keys that a merge inserts: the filter in its transaction, and the check of other commits.

Two writers that insert the same key at the same time would both insert it. A filter in the
transaction shows the inserted keys to other writers, if the key columns are the primary key of the
table. But not all writers write or compare filters, and a filter does not cover appended rows. So a
merge reads the keys of all rows that others have added since the version that it read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lance_core.commits.history import Version
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.merge_insert.decide import Decision
from lance_core.dataset.write.merge_insert.key_hashes import hash_keys
from lance_core.dataset.write.merge_insert.keys import KeyIndex
from lance_core.dataset.write.merge_insert.plan import primary_key
from lance_core.dataset.write.merge_insert.source import Source
from lance_core.dataset.write.merge_insert.target import find_keys
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.errors import RetryableCommitConflictError
from lance_core.index.split_block_filter import BLOCK_BYTES, build_filters
from lance_core.schema import Field
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.transactions.operations.key_filter import BloomKeys, KeyExistenceFilter

FILTER_BYTES = 1 << 15
"""The size of the bits of a filter."""

_FILTER_ITEMS, _FILTER_PROBABILITY = 8192, 0.00057
"""The parameters of all filters: only filters with equal parameters are comparable."""

_FILTERED = (
    *(pa.int32(), pa.int64(), pa.uint32(), pa.uint64()),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
)
"""Types of keys that filters contain; pylance ignores keys of other types."""


class InsertedKeys:
    """The keys of the rows that a merge inserts into ``snapshot``."""

    def __init__(
        self,
        snapshot: Snapshot,
        on: Sequence[str],
        source: Source,
        decisions: Sequence[Decision],
    ) -> None:
        self._snapshot, self._on, self._source = snapshot, list(on), source
        self._decisions = decisions
        fields = {field.name: field for field in snapshot.schema.fields}
        self._fields = [fields[name] for name in on]
        self._checked = snapshot

    def filter(self) -> KeyExistenceFilter | None:
        """The filter for the transaction, if the key columns are the table's primary key."""
        ids = tuple(field.id for field in self._fields)
        if ids != tuple(field.id for field in primary_key(self._snapshot.schema)):
            return None
        bits = KeyBits(self._fields)
        for keys in self._keys():
            bits.add(keys)
        return bits.filter()

    def check(self, base: Version) -> None:
        """Raise `RetryableCommitConflictError` if others have added one of the keys to ``base``.

        Raises it also if they have added rows and have renamed or dropped a key column.
        """
        if base.file.manifest.version == self._checked.version:
            return
        newest = Snapshot(self._snapshot.root, base.file, base.location)
        added = list(self._added(newest))
        if added and any(map(len, (decision.inserts for decision in self._decisions))):
            self._check_columns(newest)
            for keys in self._keys():
                index = KeyIndex(keys.columns, newest.root.registry.kernels)
                if len(index) and len(find_keys(newest, self._on, index, added).keys):
                    raise RetryableCommitConflictError(
                        f"commit conflict: version {newest.version} has rows with keys that this "
                        f"merge inserts, which was computed from version {self._snapshot.version}; "
                        "retry on the newest version"
                    )
        self._checked = newest

    def _check_columns(self, newest: Snapshot) -> None:
        """Raise `RetryableCommitConflictError` if others have renamed or dropped a key column."""
        names = {field.id: field.name for field in newest.schema.fields}
        for field in self._fields:
            if names.get(field.id) != field.name:
                raise RetryableCommitConflictError(
                    f"commit conflict: version {newest.version} no longer has the key column "
                    f"{field.name!r} of version {self._snapshot.version}"
                )

    def _keys(self) -> Iterator[pa.Table]:
        """The keys of the inserted rows, part by part of the source."""
        for number, decision in enumerate(self._decisions):
            if len(decision.inserts):
                keys = self._source.part(number).select(self._on)
                yield take_rows(keys, from_numpy(decision.inserts))

    def _added(self, newest: Snapshot) -> Iterator[Fragment]:
        """The fragments of ``newest`` with other key values than in the version checked before."""
        before = self._checked.manifest.fragments
        for fragment in newest.manifest.fragments.new_data_since(before):
            known = before.by_id(fragment.id)
            if known is None or _files(known, self._fields) != _files(fragment, self._fields):
                yield fragment


class KeyBits:
    """A bloom filter of keys, the values of ``fields``; several filters can be united."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._ids = tuple(field.id for field in fields)
        self.names = [field.name for field in fields]
        self._is_filtered = all(field.storage_type in _FILTERED for field in fields)
        self._blocks = np.zeros((FILTER_BYTES // BLOCK_BYTES, BLOCK_BYTES // 4), np.uint32)

    def add(self, keys: pa.Table) -> None:
        """Add the keys, whose columns are in the order of the fields."""
        if self._is_filtered:
            hashes = hash_keys(keys.columns)
            zone = np.zeros(len(hashes), np.int64)
            self._blocks |= build_filters(hashes, zone, 1, len(self._blocks))

    def unite(self, bitmap: bytes) -> None:
        """Add the keys of another filter with the same fields."""
        self._blocks |= np.frombuffer(bitmap, np.uint32).reshape(self._blocks.shape)

    def bitmap(self) -> bytes:
        return self._blocks.tobytes()

    def filter(self) -> KeyExistenceFilter:
        """The filter for a transaction."""
        bloom = BloomKeys(self.bitmap(), 8 * FILTER_BYTES, _FILTER_ITEMS, _FILTER_PROBABILITY)
        return KeyExistenceFilter(self._ids, bloom)


def _files(fragment: Fragment, fields: Sequence[Field]) -> set[tuple[str, int | None]]:
    """The files of a fragment with the values of ``fields``."""
    ids = {part.id for field in fields for part in field.walk()}
    return {(file.path, file.base_id) for file in fragment.files if not ids.isdisjoint(file.fields)}
