"""List and describe the indices of a version; reads no file of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from lance_core.dataset.maintenance.indices.covered_rows import CoveredRows
from lance_core.dataset.maintenance.indices.create import by_name
from lance_core.dataset.read.sources.prefilter.stored_indices import index_type, spec_of
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.index import moment
from lance_core.dataset.values.index_description import IndexDescription, IndexSegmentDescription
from lance_core.errors import LanceError
from lance_core.imports.on_demand import without_collections
from lance_core.table.indices.index_metadata import IndexDetails, IndexMetadata

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
    with without_collections():
        named, describer = by_name(snapshot), _Describer(snapshot)
        return [describer.index(name, named[name]) for name in sorted(named)]


def information(snapshot: Snapshot) -> list[IndexInformation]:
    """All segments of all indices, by name; raises like `describe`."""
    described = describe(snapshot)
    with without_collections():
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
            for index in described
            for segment in index.segments
        ]


def type_label(segments: Sequence[IndexMetadata]) -> str:
    """The name of the type of an index."""
    distinct = {(segment.index_details, segment.index_version): segment for segment in segments}
    labels = {_label(segment) for segment in distinct.values()}
    return UNKNOWN if len(labels) > 1 else labels.pop()


def _label(segment: IndexMetadata) -> str:
    spec, details = spec_of(segment), segment.index_details
    if spec is None or details is None:
        return UNKNOWN
    try:
        return index_type(spec).label_of(details.value) or spec.label
    except LanceError:
        return spec.label


class _Describer:
    """Describes the indices of a version; what many of them share is computed once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._schema = snapshot.schema
        self._known = frozenset(snapshot.schema.field_ids)
        self._covered = CoveredRows(snapshot)
        self._paths: dict[tuple[int, ...], list[str]] = {}
        self._labels: dict[tuple[IndexDetails | None, int | None], str] = {}
        self._parameters: dict[tuple[IndexDetails | None, int | None], Mapping[str, Any]] = {}

    def index(self, name: str, segments: Sequence[IndexMetadata]) -> IndexDescription:
        """The description of an index."""
        first = segments[0]
        parts = list(map(self._segment, segments))
        sizes = [part.size_bytes for part in parts if part.size_bytes is not None]
        return IndexDescription(
            name=name,
            type_url="" if first.index_details is None else first.index_details.type_url,
            index_type=self._label(segments),
            num_rows_indexed=self._covered.count(segments),
            fields=list(first.fields),
            field_names=list(self._names(first.fields)),
            segments=parts,
            details=dict(self._details(first)),
            total_size_bytes=sum(sizes) if len(sizes) == len(parts) else None,
        )

    def _label(self, segments: Sequence[IndexMetadata]) -> str:
        """The name of the type of an index."""
        if len(segments) > 1:
            return type_label(segments)
        key = segments[0].index_details, segments[0].index_version
        if key not in self._labels:
            self._labels[key] = type_label(segments)
        return self._labels[key]

    def _names(self, ids: tuple[int, ...]) -> list[str]:
        """The paths of those of the fields ``ids`` that exist."""
        if ids not in self._paths:
            self._paths[ids] = [self._schema.path_of(id_) for id_ in ids if id_ in self._known]
        return self._paths[ids]

    def _details(self, segment: IndexMetadata) -> Mapping[str, Any]:
        """The parameters that the details state; none if damaged or of an unknown type."""
        key = segment.index_details, segment.index_version
        if key not in self._parameters:
            self._parameters[key] = _parameters_of(segment)
        return self._parameters[key]

    def _segment(self, segment: IndexMetadata) -> IndexSegmentDescription:
        created, files = segment.created_at, segment.files
        return IndexSegmentDescription(
            str(segment.uuid),
            self._covered.listed(segment),
            segment.dataset_version,
            segment.index_version or 0,
            None if created is None else moment(created),
            sum([file.size_bytes for file in files]) if files else None,
            segment.base_id,
            list(segment.covering_fields),
        )


def _parameters_of(segment: IndexMetadata) -> Mapping[str, Any]:
    spec, details = spec_of(segment), segment.index_details
    if spec is None or details is None:
        return {}
    try:
        return index_type(spec).parameters_of(details.value)
    except LanceError:
        return {}
