"""List and describe the indices of a version; reads no file of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from lance_core.dataset.maintenance.indices.create import by_name
from lance_core.dataset.maintenance.indices.segments import covered_now
from lance_core.dataset.read.fragment_reuse import fragment_reuse
from lance_core.dataset.read.stored_indices import index_type, spec_of
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.index import Index
from lance_core.dataset.values.index_description import IndexDescription, IndexSegmentDescription
from lance_core.errors import LanceError
from lance_core.table.indices.index_metadata import IndexMetadata, fragment_bitmap

UNKNOWN = "Unknown"
"""The type of an index of a type or version that no plugin knows; commits keep it as it is."""


class IndexInformation(TypedDict):
    """A segment of an index, as `LanceDataset.list_indices` returns it."""

    name: str
    type: str
    uuid: str
    fields: list[str]
    version: int
    fragment_ids: frozenset[int]
    base_id: int | None


def describe(snapshot: Snapshot) -> list[IndexDescription]:
    """All indices, by name. Raises `CorruptFileError` for metadata that cannot be read."""
    named = by_name(snapshot)
    return [_described(snapshot, name, named[name]) for name in sorted(named)]


def information(snapshot: Snapshot) -> list[IndexInformation]:
    """All segments of all indices, by name; raises like `describe`."""
    return [
        {
            "name": index.name,
            "type": index.index_type,
            "uuid": segment.uuid,
            "fields": index.field_names,
            "version": segment.dataset_version_at_last_update,
            "fragment_ids": segment.fragment_ids,
            "base_id": segment.base_id,
        }
        for index in describe(snapshot)
        for segment in index.segments
    ]


def type_label(segments: Sequence[IndexMetadata]) -> str:
    """The name of the type of an index."""
    specs = {spec_of(one) for one in segments}
    spec = specs.pop()
    return UNKNOWN if specs or spec is None else spec.label


def indexed_rows(snapshot: Snapshot, segments: Sequence[IndexMetadata]) -> int:
    """The live rows in the existing fragments that any of ``segments`` covers."""
    covered = fragment_bitmap(id_ for one in segments for id_ in covered_now(snapshot, one))
    return sum(snapshot.live_rows(snapshot.fragment(id_)) for id_ in covered)


def _described(
    snapshot: Snapshot, name: str, segments: Sequence[IndexMetadata]
) -> IndexDescription:
    first = segments[0]
    parts = [_segment(snapshot, one) for one in segments]
    sizes = [part.size_bytes for part in parts if part.size_bytes is not None]
    known = set(snapshot.schema.field_ids)
    return IndexDescription(
        name=name,
        type_url="" if first.index_details is None else first.index_details.type_url,
        index_type=type_label(segments),
        num_rows_indexed=indexed_rows(snapshot, segments),
        fields=list(first.fields),
        field_names=[snapshot.schema.path_of(id_) for id_ in first.fields if id_ in known],
        segments=parts,
        details=_details(first),
        total_size_bytes=sum(sizes) if len(sizes) == len(parts) else None,
    )


def _details(segment: IndexMetadata) -> Mapping[str, Any]:
    """The parameters that the details state; none if they are damaged or of an unknown type."""
    spec, details = spec_of(segment), segment.index_details
    if spec is None or details is None:
        return {}
    try:
        return index_type(spec).parameters_of(details.value)
    except LanceError:
        return {}


def _segment(snapshot: Snapshot, segment: IndexMetadata) -> IndexSegmentDescription:
    public = Index.of(segment)
    return IndexSegmentDescription(
        uuid=public.uuid,
        fragment_ids=frozenset(fragment_reuse(snapshot).fragments(segment) or ()),
        dataset_version_at_last_update=public.dataset_version,
        index_version=public.index_version,
        created_at=public.created_at,
        size_bytes=sum(file.size_bytes for file in segment.files) if segment.files else None,
        base_id=public.base_id,
        covering_fields=public.covering_fields,
    )
