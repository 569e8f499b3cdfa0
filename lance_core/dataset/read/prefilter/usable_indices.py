"""The indices of a version that can answer queries, and the fragments that they cover."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from lance_core.dataset.read.fragment_reuse import FragmentReuse, fragment_reuse
from lance_core.dataset.read.stored_indices import field_of, index_type, indices_of, spec_of
from lance_core.errors import CorruptFileError, IndexWarning, LanceError
from lance_core.index.base import IndexType, Precision
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.index_coverage import REUSE_INDEX, has_row_ids
from lance_core.table.indices.index_metadata import IndexMetadata, fragment_bitmap

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.read.prefilter.conditions import ColumnLookup
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.queries import IndexQuery
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

    def precision(self, lookup: ColumnLookup, query: IndexQuery) -> Precision | None:
        """How precisely all segments answer ``query``; None if one of them cannot."""
        worst = Precision.EXACT
        for segment in self.segments:
            details = segment.stored.index_details
            value = b"" if details is None else details.value
            try:
                found = self.type.precision(query, lookup.kind, value)
            except LanceError:  # damaged details
                return None
            if found is None:
                return None
            worst = worst if found is Precision.EXACT else found
        return worst


@dataclass(frozen=True, slots=True, eq=False)
class UsableIndices:
    """The indices of a version by the id of their field, and the ids of all its fragments.

    ``map``: where rows are now whose addresses in indices are those before a compaction.
    """

    by_field: Mapping[int, tuple[UsableIndex, ...]]
    fragments: BitMap
    map: AddressMap


_of_snapshots: WeakKeyDictionary[Snapshot, UsableIndices] = WeakKeyDictionary()
"""A cache: a table may have many indices and fragments, and a query needs few of them."""


def usable_indices(snapshot: Snapshot) -> UsableIndices:
    """The indices that cover at least one fragment of ``snapshot``.

    Raises `CorruptFileError` for an index section that cannot be read.
    """
    found = _of_snapshots.get(snapshot)
    if found is None:
        found = _of_snapshots[snapshot] = _read(snapshot)
    return found


def _read(snapshot: Snapshot) -> UsableIndices:
    existing = fragment_bitmap(snapshot.manifest.fragments.ids)
    reuse = _reuse(snapshot)
    groups: dict[tuple[str, int, str], list[tuple[IndexMetadata, IndexTypeSpec]]] = {}
    for stored in indices_of(snapshot):
        spec, field = spec_of(stored), field_of(snapshot, stored)
        if spec is not None and field is not None:
            key = stored.name, field.id, spec.name
            groups.setdefault(key, []).append((stored, spec))
    by_field: dict[int, list[UsableIndex]] = {}
    is_stable = snapshot.manifest.uses_stable_row_ids
    for (name, field_id, _), group in groups.items():
        segments = [
            CoveringSegment(one, _covered(one, reuse, existing), is_stable and has_row_ids(one))
            for one, _ in group
        ]
        segments = [one for one in segments if one.fragments]
        type_ = _type(snapshot, name, group[0][1]) if segments else None
        if type_ is not None:
            spec = group[0][1]
            covered = functools.reduce(operator.or_, [one.fragments for one in segments])
            index = UsableIndex(name, spec, type_, tuple(segments), covered)
            by_field.setdefault(field_id, []).append(index)
    return UsableIndices({id_: tuple(some) for id_, some in by_field.items()}, existing, reuse.map)


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


def _covered(stored: IndexMetadata, reuse: FragmentReuse, existing: BitMap) -> BitMap:
    """The existing fragments that ``stored`` covers; none if its list of fragments is damaged."""
    try:
        fragments = reuse.fragments(stored)
    except CorruptFileError:
        fragments = None
    return existing & fragments if fragments is not None else fragment_bitmap(())


def warn_of_failure(snapshot: Snapshot, name: str | None, error: Exception) -> None:
    """Warn once in this process that the index ``name``, or None for all, cannot be read."""
    key = snapshot.root.base_uri, name
    if key not in _warned:
        _warned.add(key)
        what = "the indices" if name is None else f"index {name!r}"
        text = f"{what} of {snapshot.root.redacted_uri} cannot be used: {error}"
        warnings.warn(text, IndexWarning, stacklevel=2)
