"""Write indices anew after a compaction: the rows that they name have new addresses.

Indices with row ids only get another list of fragments, see `Rewrite`. All others are merged into
a new index, which has the new addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from lance_core.errors import (
    CorruptFileError,
    NotFoundError,
    PluginLoadError,
    UnsupportedFeatureError,
)
from lance_core.maintenance import (
    AddressesInFragments,
    AddressMap,
    AddressRuns,
    Environment,
    Fragment,
    IndexMetadata,
    IndexPart,
    NewFiles,
    RewriteGroup,
    RewrittenIndex,
    SegmentWriter,
    Snapshot,
    cached_property,
    discard_on_failure,
    encode_fragment_ids,
    exchanged,
    field_of,
    fragment_bitmap,
    fragment_reuse,
    index_type,
    indices_of,
    open_index,
    spec_of,
    uses_row_ids,
    warn_caller,
)

if TYPE_CHECKING:
    from pyroaring import BitMap


RemappedIndices = dict[tuple[UUID, bytes], RewrittenIndex | None]
"""Rewritten indices, by the uuid of the old one and the fragments that it covered."""


def is_remappable(snapshot: Snapshot, index: IndexMetadata) -> bool:
    """True if ``index`` can follow rows that move: by row ids, or because it can be written anew.

    For the latter its type is known, and it lists its fragments.
    """
    if uses_row_ids(snapshot, index):
        return True
    spec = spec_of(index)
    if spec is None or field_of(snapshot, index) is None or index.fragments is None:
        return False
    try:
        index_type(spec)
    except PluginLoadError:
        return False
    return True


def remapped_indices(
    snapshot: Snapshot,
    groups: Sequence[RewriteGroup],
    files: NewFiles,
    environment: Environment,
    done: RemappedIndices,
) -> tuple[RewrittenIndex, ...]:
    """The indices of ``snapshot`` with addresses of rows in ``groups``, written anew.

    The groups have no conflict with an index, see `conflicts_of`.

    ``done``: the results of an earlier call for the same groups, which get those of this one. Their
    files are added to ``files``. An index whose files are damaged or missing, or whose type cannot
    write them, stays as it is with a warning; then it does not cover the new fragments. Raises
    `InvalidInputError` if an index covers only some of the fragments of a group.
    """
    compaction = _Compaction(snapshot, groups, files, environment, done)
    remapped = (compaction.remapped(index) for index in indices_of(snapshot))
    return tuple(index for index in remapped if index is not None)


@dataclass(frozen=True, eq=False)
class _Compaction:
    """The rewrite of ``groups`` of fragments of a version that is not committed yet."""

    snapshot: Snapshot
    groups: Sequence[RewriteGroup]
    files: NewFiles
    environment: Environment
    done: RemappedIndices

    def remapped(self, index: IndexMetadata) -> RewrittenIndex | None:
        """``index`` with the new addresses; None if it stays as it is.

        It is remappable, or covers none of the fragments: `conflicts_of` refuses others.
        """
        if uses_row_ids(self.snapshot, index):
            return None
        before = fragment_reuse(self.snapshot).fragments(index)
        assert before is not None
        after = self._fragments_after(index, before)
        if after == before:
            return None
        key = index.uuid, encode_fragment_ids(before)
        if key not in self.done:
            self.done[key] = self._rewritten(index, before, after)
        return self.done[key]

    def _rewritten(
        self, index: IndexMetadata, before: BitMap, after: BitMap
    ) -> RewrittenIndex | None:
        try:
            with discard_on_failure(self.snapshot.root) as files:
                written = self._written(index, after, files)
        except (CorruptFileError, NotFoundError, UnsupportedFeatureError) as error:
            text = f"index {index.name!r} does not cover the compacted rows, create it again"
            warn_caller(f"{text}: {error}")
            return None
        self.files.others += files.others
        # The indices before a fragment-reuse index list fragments that it replaces.
        coverage = index.fragment_bitmap, encode_fragment_ids(after)
        return RewrittenIndex(
            index.uuid,
            written.uuid,
            written.index_details,
            index.index_version or 0,
            written.files,
            coverage=None if before == index.fragments else coverage,
        )

    def _fragments_after(self, index: IndexMetadata, before: BitMap) -> BitMap:
        pairs = [
            (
                [fragment.id for fragment in group.old_fragments],
                [fragment.id for fragment in group.new_fragments],
            )
            for group in self.groups
        ]
        now = replace(index, fragment_bitmap=encode_fragment_ids(before))
        (changed,) = exchanged((now,), pairs)
        assert changed.fragments is not None
        return changed.fragments

    def _written(self, index: IndexMetadata, after: BitMap, files: NewFiles) -> IndexMetadata:
        spec = spec_of(index)
        assert spec is not None
        new = [fragment.id for group in self.groups for fragment in group.new_fragments]
        present = fragment_bitmap(self.snapshot.manifest.fragments.ids) | fragment_bitmap(new)
        rows = AddressesInFragments(self._moves, after & present)
        part = IndexPart(open_index(self.snapshot, index, spec), rows)
        draft = replace(index, uuid=self.environment.new_uuid())
        writer = SegmentWriter(self.snapshot, files, self.environment)
        return writer.write(draft, lambda output: index_type(spec).merge([part], None, output))

    @cached_property
    def _moves(self) -> AddressMap:
        snapshot = self.snapshot
        rewrite = AddressMap.of_groups(
            moved_rows(snapshot, group.old_fragments, group.new_fragments) for group in self.groups
        )
        return fragment_reuse(snapshot).map.then(rewrite)


def moved_rows(
    snapshot: Snapshot, old: Sequence[Fragment], new: Sequence[Fragment]
) -> tuple[list[int], AddressRuns, list[tuple[int, int]]]:
    """The rows that a task has moved, as `AddressMap.of_groups` takes them."""
    return (
        [fragment.id for fragment in old],
        AddressRuns.of_live_rows(
            (fragment.id, snapshot.physical_rows(fragment), snapshot.deleted_offsets(fragment))
            for fragment in old
        ),
        [(fragment.id, fragment.physical_rows or 0) for fragment in new],
    )
