"""Segments: the parts of an index, each with files in a folder of its own.

A segment is written first and committed later. All segments of an index have the same name, field
and type, and cover different fragments.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.dataset.maintenance.indices.rows import (
    AddressesInFragments,
    FragmentRows,
    RowIdsInFragments,
)
from lance_core.dataset.read.sources.prefilter.fragment_reuse import fragment_reuse
from lance_core.dataset.read.sources.prefilter.stored_indices import index_type, open_index
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.discard_on_failure import NewFiles
from lance_core.errors import ResultTooLargeError
from lance_core.index.base import IndexPart, RowMap
from lance_core.index.files import IndexOutput, Progress, no_progress
from lance_core.index.spec import IndexTypeSpec
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_coverage import has_row_ids
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexFile,
    IndexMetadata,
    encode_fragment_ids,
    fragment_bitmap,
)
from lance_core.table.paths import INDICES

if TYPE_CHECKING:
    from pyroaring import BitMap

_NANOSECONDS = 1_000_000
"""Nanoseconds of a millisecond."""


def segment_draft(
    snapshot: Snapshot,
    spec: IndexTypeSpec,
    name: str,
    field_id: int,
    covered: Iterable[int],
    uuid: uuids.UUID,
) -> IndexMetadata:
    """A segment without files, which covers the fragments ``covered`` of ``snapshot``.

    Its details are empty, see `with_details`.
    """
    bitmap = fragment_bitmap(covered)
    bitmap.run_optimize()
    return IndexMetadata(
        uuid=uuid,
        name=name,
        fields=(field_id,),
        dataset_version=snapshot.version,
        fragment_bitmap=encode_fragment_ids(bitmap),
        index_details=IndexDetails(spec.details_url),
    )


def with_details(
    snapshot: Snapshot, spec: IndexTypeSpec, draft: IndexMetadata, value: bytes
) -> IndexMetadata:
    """``draft`` with the serialized details ``value``, and the version that goes with them."""
    details, version = IndexDetails(spec.details_url, value), written_version(snapshot, spec, value)
    return replace(draft, index_details=details, index_version=version)


def written_version(snapshot: Snapshot, spec: IndexTypeSpec, details: bytes) -> int:
    """The ``index_version`` of a new segment with these details."""
    own = index_type(spec).version_of(details)
    is_stable = snapshot.manifest.uses_stable_row_ids
    return spec.version_for(stable_row_ids=is_stable) if own is None else own


def successor_draft(
    snapshot: Snapshot,
    spec: IndexTypeSpec,
    source: IndexMetadata,
    covered: Iterable[int],
    uuid: uuids.UUID,
) -> IndexMetadata:
    """A segment without files, of the same index and with the same details as ``source``."""
    assert source.index_details is not None
    draft = segment_draft(snapshot, spec, source.name, source.fields[0], covered, uuid)
    return with_details(snapshot, spec, draft, source.index_details.value)


def uses_row_ids(snapshot: Snapshot, segment: IndexMetadata) -> bool:
    """True if the row numbers of ``segment`` are row ids that differ from addresses."""
    return snapshot.manifest.uses_stable_row_ids and has_row_ids(segment)


def is_untrained(spec: IndexTypeSpec, segment: IndexMetadata) -> bool:
    """True if ``segment`` has no files, since there were no rows, or too few, to train it."""
    return not segment.files and not segment.fragments and index_type(spec).is_trained


def covered_now(snapshot: Snapshot, *segments: IndexMetadata) -> BitMap:
    """The existing fragments of which ``segments`` have rows; those unknown are left out."""
    covered = fragment_bitmap(())
    for segment in segments:
        covered |= fragment_reuse(snapshot).fragments(segment) or fragment_bitmap(())
    return covered & fragment_bitmap(snapshot.manifest.fragments.ids)


def field_files(snapshot: Snapshot, fragment_id: int, field_id: int) -> list[str] | None:
    """The paths of the files of a fragment with values of a field, or of fields in it.

    None if there is no such fragment.
    """
    if fragment_id not in snapshot.fragment_positions:
        return None
    field = snapshot.schema.field_by_id(field_id)
    ids = {part.id for part in field.walk()} if field is not None else set[int]()
    files = snapshot.fragment(fragment_id).files
    return [file.path for file in files if not ids.isdisjoint(file.fields)]


def unchanged_fragments(
    before: Snapshot, now: Snapshot, fragments: Iterable[int], field_id: int
) -> BitMap:
    """Those of ``fragments`` whose rows of ``before`` have the same values of a field ``now``.

    Further rows may be deleted. A fragment with a row that was deleted in ``before`` and is back,
    as after a restore, is not unchanged: an index that was built from ``before`` lacks this row.
    """
    return fragment_bitmap(
        id_
        for id_ in fragments
        if id_ in now.fragment_positions
        and id_ in before.fragment_positions
        and field_files(before, id_, field_id) == field_files(now, id_, field_id)
        and _has_no_more_rows(before, now, id_)
    )


def _has_no_more_rows(before: Snapshot, now: Snapshot, fragment_id: int) -> bool:
    old, new = before.fragment(fragment_id), now.fragment(fragment_id)
    if old.row_ids != new.row_ids:
        return False
    if old.deletion_file == new.deletion_file or old.deletion_file is None:
        return True
    deleted, still = before.deleted_offsets(old), now.deleted_offsets(new)
    return deleted is None or (still is not None and bool(np.isin(deleted, still).all()))


def index_parts(
    snapshot: Snapshot, segments: Sequence[IndexMetadata], spec: IndexTypeSpec
) -> tuple[IndexPart, ...]:
    """One `IndexPart` (open index, row map) per segment, in order.

    Deleted fragments are left out; of a fragment that two segments cover, only the first segment's
    rows are used. Raises `CorruptFileError` for a damaged, `ObjectNotFoundError` for a missing one.
    """
    parts, before = [], fragment_bitmap(())
    for segment in segments:
        fragments = covered_now(snapshot, segment) - before
        before |= fragments
        rows: RowMap = AddressesInFragments(fragment_reuse(snapshot).map, fragments)
        if uses_row_ids(snapshot, segment):
            rows = RowIdsInFragments(snapshot, fragments)
        parts.append(
            IndexPart(
                open_index(snapshot, segment, spec),
                rows,
                segment_rows(snapshot, segment, fragments),
            )
        )
    return tuple(parts)


def segment_rows(
    snapshot: Snapshot, segment: IndexMetadata, fragments: Iterable[int]
) -> FragmentRows:
    """The live rows of ``fragments`` with the row numbers that ``segment`` has."""
    lineage = snapshot.schema.lineage(snapshot.schema.path_of(segment.fields[0]))
    present = snapshot.fragments(sorted(fragments))
    return FragmentRows(snapshot, lineage, present, uses_row_ids(snapshot, segment))


@dataclass(frozen=True, slots=True, eq=False)
class SegmentWriter:
    """Writes segments of a version, and adds the paths of their files to ``files``.

    ``advance`` is called with numbers of rows that were read.
    """

    snapshot: Snapshot
    files: NewFiles
    environment: Environment = SYSTEM
    progress: Progress = no_progress
    advance: Callable[[int], object] = lambda _: None

    def rows(
        self, segment: IndexMetadata, lineage: tuple[Field, ...], fragments: Sequence[Fragment]
    ) -> FragmentRows:
        """The live rows of ``fragments`` with the row numbers that ``segment`` has."""
        with_ids = uses_row_ids(self.snapshot, segment)
        return FragmentRows(self.snapshot, lineage, fragments, with_ids, self.advance)

    def write(self, draft: IndexMetadata, write: Callable[[IndexOutput], bytes]) -> IndexMetadata:
        """Call ``write`` to create the files; returns ``draft`` with them and with its details.

        Raises `ResultTooLargeError` if there is not enough memory.
        """
        version, root = self.snapshot.storage_version.for_indices, self.snapshot.root
        path, paths = f"{INDICES}/{draft.uuid}", self.files.others
        with IndexOutput(root.store, path, root.registry, version, paths, self.progress) as output:
            try:
                value = write(output)
            except ResultTooLargeError:
                raise
            except MemoryError as error:
                raise ResultTooLargeError(
                    f"there is not enough memory to write index {draft.name!r}: {error}"
                ) from error
        files = tuple(IndexFile(name, size) for name, size in sorted(output.sizes.items()))
        assert draft.index_details is not None
        details = IndexDetails(draft.index_details.type_url, value)
        return replace(draft, index_details=details, created_at=self._now(), files=files)

    def untrained(self, draft: IndexMetadata) -> IndexMetadata:
        """``draft`` without files, which covers no rows."""
        covered = encode_fragment_ids(fragment_bitmap(()))
        return replace(draft, created_at=self._now(), fragment_bitmap=covered)

    def _now(self) -> int:
        return self.environment.clock() // _NANOSECONDS
