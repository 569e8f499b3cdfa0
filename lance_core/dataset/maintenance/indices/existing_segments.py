"""Merge and commit segments that processes have built from the fragments of a table."""

from __future__ import annotations

import functools
import operator
import uuid as uuids
from collections.abc import Sequence
from dataclasses import replace

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.dataset.maintenance.indices.create import check_name
from lance_core.dataset.maintenance.indices.request import indexed_field
from lance_core.dataset.maintenance.indices.segments import (
    SegmentWriter,
    covered_now,
    index_parts,
    successor_draft,
    unchanged_fragments,
)
from lance_core.dataset.read.sources.prefilter.stored_indices import (
    index_type,
    indices_of,
    missing_plugins,
    spec_of,
)
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.index import Index
from lance_core.dataset.write.commit_change import commit_change
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.error_texts.suggestions import shortened
from lance_core.errors import (
    CommitFileMissingError,
    DatasetNotFoundError,
    IndexNameError,
    InvalidInputError,
    InvalidTypeError,
    ObjectNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.table.indices.index_coverage import covers_any
from lance_core.table.indices.index_metadata import (
    IndexMetadata,
    encode_fragment_ids,
    fragment_bitmap,
)
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.paths import INDICES, check_relative
from lance_core.table.transactions.operations import CreateIndex


def merge(
    snapshot: Snapshot,
    segments: Sequence[Index],
    environment: Environment = SYSTEM,
    uuid: uuids.UUID | None = None,
) -> Index:
    """Write one segment of the rows of ``segments``, without a commit; by default a new UUID.

    Raises `InvalidInputError` for segments that are not parts of one index, or that cover the same
    fragment.
    """
    check_writable(snapshot.manifest.flags)
    stored = checked_segments(snapshot, segments)
    first = stored[0]
    spec = spec_of(first)
    if spec is None:
        raise UnsupportedFeatureError(
            f"segments of the unknown type {_type_url(first)!r}{missing_plugins([first])}"
        )
    covered = covered_now(snapshot, *stored)
    uuid = environment.new_uuid() if uuid is None else uuid
    draft = successor_draft(snapshot, spec, first, covered, uuid)
    for segment in stored:
        if (segment.index_version or 0) != draft.index_version:
            raise UnsupportedFeatureError(
                f"segment {segment.uuid} has version {segment.index_version}, which cannot be "
                f"merged to version {draft.index_version}"
            )
    parts = index_parts(snapshot, stored, spec)
    with discard_on_failure(snapshot.root) as files:
        made = SegmentWriter(snapshot, files, environment).write(
            draft, lambda output: index_type(spec).merge(parts, None, output)
        )
    return Index.of(made)


def checked_segments(snapshot: Snapshot, segments: Sequence[Index]) -> tuple[IndexMetadata, ...]:
    """The stored values of ``segments``; raises `InvalidInputError` unless they fit each other."""
    if not segments:
        raise InvalidInputError("at least one index segment is needed")
    for index in segments:
        if not isinstance(index, Index):
            raise InvalidTypeError(f"a segment of an index is an Index, got {index!r}")
    stored = tuple(segment.to_stored() for segment in segments)
    first, before = stored[0], fragment_bitmap(())
    uuids_before = set[uuids.UUID]()
    for segment in stored:
        if segment.uuid in uuids_before:
            raise InvalidInputError(f"segment {segment.uuid} is given twice")
        uuids_before.add(segment.uuid)
        if segment.fields != first.fields or len(segment.fields) != 1:
            raise InvalidInputError(
                f"segment {segment.uuid} is over fields {list(segment.fields)}, and segment "
                f"{first.uuid} over fields {list(first.fields)}"
            )
        if _type_url(segment) != _type_url(first):
            raise InvalidInputError(
                f"segment {segment.uuid} has the type {_type_url(segment)!r}, and segment "
                f"{first.uuid} the type {_type_url(first)!r}"
            )
        covered = segment.fragments or fragment_bitmap(())
        if before.intersect(covered):
            twice = ", ".join(map(str, before & covered))
            raise InvalidInputError(
                f"more than one segment covers fragment {twice}; pass one segment for each fragment"
            )
        before |= covered
    return stored


def _type_url(segment: IndexMetadata) -> str:
    return "" if segment.index_details is None else segment.index_details.type_url


def commit_segments(
    snapshot: Snapshot,
    name: str,
    column: str,
    segments: Sequence[Index],
    environment: Environment = SYSTEM,
) -> Snapshot:
    """Commit segments as parts of an index; see `LanceDataset.commit_existing_index_segments`."""
    check_writable(snapshot.manifest.flags)
    check_name(name)
    field = indexed_field(snapshot.schema, column)[-1]
    new = tuple(replace(segment, name=name) for segment in checked_segments(snapshot, segments))
    if new[0].fields != (field.id,):
        raise InvalidInputError(
            f"segment {new[0].uuid} was built for field {new[0].fields[0]}, but column "
            f"{shortened(column)} is field {field.id}"
        )
    existing = [index for index in indices_of(snapshot) if index.name == name]
    if any(index.fields != (field.id,) for index in existing):
        raise IndexNameError(f"Index name {shortened(name)} already exists with different fields")
    covered = functools.reduce(
        operator.or_, (segment.fragments or fragment_bitmap(()) for segment in new)
    )
    if any(_type_url(index) != _type_url(new[0]) for index in existing):
        missing = fragment_bitmap(snapshot.manifest.fragments.ids) - covered
        if missing:
            raise InvalidInputError(
                f"the type of index {shortened(name)} cannot change: the new segments do not "
                f"cover fragments {list(missing)[:10]}"
            )
        covered |= fragment_bitmap(id_ for index in existing for id_ in index.fragments or ())
    removed = tuple(
        index for index in existing if not index.fragments or covers_any(index, covered)
    )
    check_files(snapshot, new)
    current = tuple(_without_changed_fragments(snapshot, segment) for segment in new)
    return commit_change(snapshot, CreateIndex(current, removed))


def check_files(snapshot: Snapshot, segments: Sequence[IndexMetadata]) -> None:
    """Raise `CommitFileMissingError` if a file of a segment is missing or has another size."""
    for segment in segments:
        for file in segment.files:
            path = f"{INDICES}/{segment.uuid}/{check_relative(file.path, 'IndexFile.path')}"
            try:
                size = snapshot.root.store.head(path).size
            except ObjectNotFoundError:
                size = None
            if size != file.size_bytes:
                problem = "is missing" if size is None else f"has {size} bytes"
                raise CommitFileMissingError(
                    f"not committed: {path!r} of segment {segment.uuid} {problem}", path
                )


def _without_changed_fragments(snapshot: Snapshot, segment: IndexMetadata) -> IndexMetadata:
    """``segment`` without fragments whose values or rows were replaced after it was built."""
    covered = segment.fragments
    if not covered or segment.dataset_version == snapshot.version:
        return segment
    try:
        before = open_table.open_version(snapshot.root, segment.dataset_version)
    except DatasetNotFoundError as error:
        raise InvalidInputError(
            f"segment {segment.uuid} was built from version {segment.dataset_version}, which does "
            "not exist any more; build it again"
        ) from error
    same = unchanged_fragments(before, snapshot, covered, segment.fields[0])
    return replace(segment, fragment_bitmap=encode_fragment_ids(same))
