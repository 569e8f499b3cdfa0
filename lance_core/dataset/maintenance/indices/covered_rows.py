"""The fragments that the segments of a version cover, and their live rows.

A version may have 100,000 segments. Many of them cover the same fragments, so each set of fragments
is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from lance_core.dataset.read.sources.prefilter.fragment_reuse import fragment_reuse
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.table.indices.index_metadata import IndexMetadata, fragment_bitmap

if TYPE_CHECKING:
    from pyroaring import BitMap

_UNKNOWN = -1


class CoveredRows:
    """Answers for any segments of ``snapshot``.

    All methods raise `CorruptFileError` for a bitmap of fragments that cannot be read.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._reuse = fragment_reuse(snapshot)
        self._ids = np.sort(np.array(list(snapshot.manifest.fragments.ids), np.uint64))
        self._live = np.full(len(self._ids), _UNKNOWN)
        self._existing = fragment_bitmap(self._ids.tolist())
        self._bitmaps: dict[bytes, BitMap] = {}
        self._listed: dict[bytes, frozenset[int]] = {}
        self._rows: dict[frozenset[bytes], int] = {}

    def listed(self, segment: IndexMetadata) -> frozenset[int]:
        """The fragments that have the rows of ``segment``, perhaps some that do not exist."""
        key = segment.fragment_bitmap
        known = self._listed.get(key)
        if known is None:
            known = self._listed[key] = frozenset(self._bitmap(segment))
        return known

    def existing(self, segments: Iterable[IndexMetadata]) -> BitMap:
        """The existing fragments that any of ``segments`` covers."""
        distinct = {segment.fragment_bitmap: segment for segment in segments}
        union = fragment_bitmap(())
        return union.union(*map(self._bitmap, distinct.values())) & self._existing

    def count(self, segments: Iterable[IndexMetadata]) -> int:
        """The live rows in the existing fragments that any of ``segments`` covers."""
        segments = list(segments)
        key = frozenset(segment.fragment_bitmap for segment in segments)
        known = self._rows.get(key)
        if known is None:
            known = self._rows[key] = self._count(self.existing(segments))
        return known

    def _bitmap(self, segment: IndexMetadata) -> BitMap:
        key = segment.fragment_bitmap
        known = self._bitmaps.get(key)
        if known is None:
            fragments = self._reuse.fragments(segment)
            known = self._bitmaps[key] = fragment_bitmap(()) if fragments is None else fragments
        return known

    def _count(self, fragments: BitMap) -> int:
        """The live rows of existing ``fragments``."""
        positions = self._ids.searchsorted(np.array(fragments.to_array(), np.uint64))
        unknown = positions[self._live[positions] == _UNKNOWN]
        if len(unknown):
            parts = self._snapshot.fragments(self._ids[unknown].tolist())
            self._live[unknown] = [self._snapshot.live_rows(part) for part in parts]
        return int(self._live[positions].sum())
