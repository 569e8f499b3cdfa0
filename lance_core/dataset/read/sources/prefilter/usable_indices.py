"""The indices of a version that can answer queries, and the fragments that they cover."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.prefilter.fragment_reuse import FragmentReuse, fragment_reuse
from lance_core.dataset.read.sources.prefilter.stored_indices import (
    index_type,
    missing_plugins,
    spec_of,
    with_known_type,
)
from lance_core.errors import CorruptFileError, IndexWarning, LanceError, PluginError, warn_caller
from lance_core.index.base import IndexType, Precision
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.index_coverage import REUSE_INDEX, has_row_ids, is_system_index
from lance_core.table.indices.index_metadata import (
    IndexEntry,
    IndexMetadata,
    entries_of_field,
    fragment_bitmap,
    index_at,
)

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.read.sources.prefilter.conditions import ColumnLookup
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.spec import IndexTypeSpec
    from lance_core.table.indices.address_map import AddressMap


_warned: set[tuple[str, str | None]] = set()
"""The table and name of each index for which this process has shown a warning."""


class CoveringSegment(NamedTuple):
    """An entry of the index section, and the existing fragments that it covers.

    ``has_row_ids``: True if it returns stable row ids, False if it returns row addresses.
    """

    stored: IndexMetadata
    fragments: BitMap
    has_row_ids: bool


@dataclass(frozen=True, slots=True, eq=False)
class UsableIndex:
    """An index: all its segments, which cover ``fragments``."""

    name: str
    spec: IndexTypeSpec
    type: IndexType
    segments: tuple[CoveringSegment, ...]
    fragments: BitMap

    def precision(self, lookup: ColumnLookup) -> Precision | None:
        """How precisely all segments answer ``lookup``; None if one of them cannot."""
        query, data_type = lookup.index_query, lookup.column_kind
        worst = Precision.EXACT
        for segment in self.segments:
            details = segment.stored.index_details
            value = b"" if details is None else details.value
            try:
                precision = self.type.precision(query, data_type, value)
            except PluginError as error:
                text = f"index {self.name!r} cannot be used: {error}"
                warn_caller(text, IndexWarning)
                return None
            except LanceError:  # damaged details
                return None
            if precision is None:
                return None
            worst = worst if precision is Precision.EXACT else precision
        return worst


class UsableIndices:
    """The indices of a version that cover at least one fragment.

    ``fragments``: the ids of all fragments of the version. ``map``: where rows are now whose
    addresses in indices are those before a compaction.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.fragments: BitMap = fragment_bitmap(snapshot.manifest.fragments.ids)
        self._reuse = _reuse(snapshot)
        self.map: AddressMap = self._reuse.map
        self._section = snapshot.file.index_section
        self._is_stable = snapshot.manifest.uses_stable_row_ids
        self._by_field: dict[int, tuple[UsableIndex, ...]] = {}

    def of_field(self, snapshot: Snapshot, field_id: int) -> tuple[UsableIndex, ...]:
        """The indices of an existing field. Computed on first use: tables may have many indices."""
        indices = self._by_field.get(field_id)
        if indices is None:
            indices = self._by_field[field_id] = tuple(self._read(snapshot, field_id))
        return indices

    def of_missing_plugins(self, snapshot: Snapshot, field_id: int) -> list[IndexMetadata]:
        """The entries of an existing field that a plugin would make usable that is not there."""
        return [
            stored
            for stored in self._chosen(snapshot, field_id)
            if missing_plugins([stored]) and self._segment(stored).fragments
        ]

    def _read(self, snapshot: Snapshot, field_id: int) -> Iterator[UsableIndex]:
        groups: dict[tuple[str, str], list[IndexMetadata]] = {}
        specs: dict[tuple[str, str], IndexTypeSpec] = {}
        for stored in self._chosen(snapshot, field_id):
            spec = spec_of(stored)
            if spec is not None:
                key = stored.name, spec.name
                specs[key] = spec
                groups.setdefault(key, []).append(stored)
        for (name, type_name), group in groups.items():
            segments = [self._segment(segment) for segment in group]
            segments = [segment for segment in segments if segment.fragments]
            spec = specs[name, type_name]
            type_ = _type(snapshot, name, spec) if segments else None
            if type_ is not None:
                covered = functools.reduce(
                    operator.or_, [segment.fragments for segment in segments]
                )
                yield UsableIndex(name, spec, type_, tuple(segments), covered)

    def _chosen(self, snapshot: Snapshot, field_id: int) -> Iterator[IndexMetadata]:
        """The entries of a field that a query may need.

        Of an index those that cover further fragments, and of a field up to `max_indices` indices:
        an index section may have far more entries than a query can look at.
        """
        section = self._section
        seen: dict[tuple[str, str, int], set[bytes]] = {}
        for entry in self._entries(snapshot, field_id):
            key = entry.name, entry.type_url, entry.index_version
            if key not in seen and len(seen) >= tuning().indices.max_indices:
                continue
            bitmaps = seen.setdefault(key, set())
            if entry.fragment_bitmap not in bitmaps:
                bitmaps.add(entry.fragment_bitmap)
                try:
                    stored = index_at(section or b"", entry.position)
                except CorruptFileError as error:  # without it, its rows are scanned
                    warn_of_failure(snapshot, entry.name, error)
                    continue
                if not is_system_index(stored):
                    yield with_known_type(snapshot, stored)

    def _entries(self, snapshot: Snapshot, field_id: int) -> Iterator[IndexEntry]:
        try:
            yield from entries_of_field(self._section, field_id)
        except CorruptFileError as error:
            warn_of_failure(snapshot, None, error)

    def _segment(self, stored: IndexMetadata) -> CoveringSegment:
        """``stored`` with the existing fragments of its list; with none if the list is damaged."""
        try:
            fragments = self._reuse.fragments(stored)
        except CorruptFileError:
            fragments = None
        covered = fragment_bitmap(()) if fragments is None else self.fragments & fragments
        return CoveringSegment(stored, covered, self._is_stable and has_row_ids(stored))


def usable_indices(snapshot: Snapshot) -> UsableIndices:
    """The indices of ``snapshot``, which keeps them: a table may have many, and many fragments."""
    indices: UsableIndices | None = snapshot.caches.get(UsableIndices)
    if indices is None:
        indices = snapshot.caches[UsableIndices] = UsableIndices(snapshot)
    return indices


def _type(snapshot: Snapshot, name: str, spec: IndexTypeSpec) -> IndexType | None:
    """The implementation of the type of index ``name``; None, with a warning, if it is missing."""
    try:
        return index_type(spec)
    except LanceError as error:
        warn_of_failure(snapshot, name, error)
        return None


def _reuse(snapshot: Snapshot) -> FragmentReuse:
    if REUSE_INDEX.encode() not in (snapshot.file.index_section or b""):  # saves to parse it again
        return FragmentReuse()
    try:
        return fragment_reuse(snapshot)
    except LanceError as error:
        # Without it, indices still have the addresses of all rows of fragments that exist.
        warn_of_failure(snapshot, REUSE_INDEX, error)
        return FragmentReuse()


def warn_of_failure(snapshot: Snapshot, name: str | None, error: Exception) -> None:
    """Warn once in this process that the index ``name``, or None for all, cannot be read."""
    what = "the indices" if name is None else f"index {name!r}"
    reason = str(error) or type(error).__name__
    text = f"{what} of {snapshot.root.redacted_uri} cannot be used: {reason}"
    # What a user can do about damaged files.
    text = ". ".join([text, *getattr(error, "__notes__", ())])
    _warn_once((snapshot.root.base_uri, name), text)


def warn_of_uncovered_rows(snapshot: Snapshot, name: str, rows: int) -> None:
    """Warn once in this process that the index ``name`` does not cover so many ``rows``."""
    text = (
        f"index {name!r} of {snapshot.root.redacted_uri} does not cover {rows:,} rows, which are "
        "ranked by their values: optimize.optimize_indices() adds them"
    )
    _warn_once((snapshot.root.base_uri, f"rows of {name}"), text)


def _warn_once(key: tuple[str, str | None], text: str) -> None:
    if key not in _warned:
        _warned.add(key)
        warn_caller(text, IndexWarning)
