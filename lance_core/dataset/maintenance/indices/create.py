"""Create a scalar index, or replace it, and commit; drop an index."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.dataset.maintenance.indices.request import IndexRequest, index_request
from lance_core.dataset.maintenance.indices.rows import FragmentRows, sampled_rows
from lance_core.dataset.maintenance.indices.segments import (
    SegmentWriter,
    field_files,
    segment_draft,
    with_details,
)
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.index import Index, to_uuid
from lance_core.dataset.values.index_config import IndexConfig
from lance_core.dataset.values.progress import IndexProgress
from lance_core.dataset.values.progress_bar import progress_bar
from lance_core.dataset.write.commit_change import commit_change, new_transaction
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.dataset.write.retry_on_conflict import (
    CONFLICT_RETRIES,
    ConflictRetries,
    retry_on_conflict,
)
from lance_core.error_texts.suggestions import hint, shortened
from lance_core.errors import (
    CommitConflictError,
    IndexNameError,
    IndexNotFoundError,
    IndexWarning,
    InvalidInputError,
    InvalidTypeError,
    warn_caller,
)
from lance_core.index.base import TooFewRowsError
from lance_core.index.files import Progress, no_progress
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins import get_manager
from lance_core.schema.path import parse_path, quoted
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_coverage import SYSTEM_INDICES
from lance_core.table.indices.index_metadata import IndexMetadata
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.transactions.operations import CreateIndex

ProgressCallback = Callable[[IndexProgress], object]

RETRIES = ConflictRetries.of(CONFLICT_RETRIES, None)


@dataclass(frozen=True, slots=True, eq=False)
class NewIndex:
    """The arguments of a new index, as `LanceDataset.create_scalar_index` has them."""

    column: str | Sequence[str]
    kind: str | IndexConfig
    parameters: Mapping[str, Any]
    name: str | None = None
    replace: bool = True
    train: bool = True
    uuid: str | None = None
    progress_callback: ProgressCallback | None = None


def create(snapshot: Snapshot, new: NewIndex, environment: Environment = SYSTEM) -> Snapshot:
    """Build an index of all rows, and commit it; see `LanceDataset.create_scalar_index`."""
    check_writable(snapshot.manifest.flags)

    def attempt(base: Snapshot, options: CommitOptions) -> Snapshot:
        request, name = check_new_index(base, new)
        old = tuple(index for index in indices_of(base) if index.name == name)
        if base is not snapshot:
            _check_unchanged(snapshot, old, name)
        fragments = list(base.manifest.fragments) if new.train else []
        base.root.check_can_commit()
        with discard_on_failure(base.root) as files:
            made = _trained(SegmentWriter(base, files, environment), new, request, name, fragments)
            operation = CreateIndex((made,), old)
            return files.commit(base, new_transaction(base, operation, environment), options)

    def may_follow(newest: Snapshot) -> bool:
        return not _replaces_values(snapshot, newest, check_new_index(snapshot, new)[0].field_id)

    return retry_on_conflict("index", snapshot, attempt, RETRIES, environment, may_follow)


def _trained(
    writer: SegmentWriter,
    new: NewIndex,
    request: IndexRequest,
    name: str,
    fragments: Sequence[Fragment],
) -> IndexMetadata:
    """`_build`; an index that too few rows can train has no files, with a warning."""
    try:
        return _build(writer, new, request, name, fragments)
    except TooFewRowsError as error:
        warn_caller(
            f"index {shortened(name)} covers no rows, until optimize_indices can train it: {error}",
            IndexWarning,
        )
        return _build(writer, new, request, name, ())


def _replaces_values(before: Snapshot, now: Snapshot, field_id: int) -> bool:
    """True if a fragment of both versions has other files of a field."""
    if now.schema.field_by_id(field_id) is None:
        return False
    ids = now.fragment_positions.keys() & before.fragment_positions.keys()
    return any(
        field_files(before, fragment_id, field_id) != field_files(now, fragment_id, field_id)
        for fragment_id in ids
    )


def _check_unchanged(snapshot: Snapshot, now: Sequence[IndexMetadata], name: str) -> None:
    """Raise `CommitConflictError` if another writer has created the index ``name``.

    A compaction keeps the version and time of an index that it rewrites.
    """

    def made(index: IndexMetadata) -> tuple[int, int | None]:
        return index.dataset_version, index.created_at

    before = {made(index) for index in indices_of(snapshot) if index.name == name}
    if not before.issuperset(map(made, now)):
        raise CommitConflictError(
            f"another writer has created the index {shortened(name)} at the same time"
        )


def create_uncommitted(
    snapshot: Snapshot,
    new: NewIndex,
    fragment_ids: Iterable[int],
    environment: Environment = SYSTEM,
) -> Index:
    """Build a segment of some fragments; see `LanceDataset.create_index_uncommitted`."""
    check_writable(snapshot.manifest.flags)
    request, name = check_new_index(snapshot, new)
    ids = list(fragment_ids)
    if not all(isinstance(id_, int) for id_ in ids):
        raise InvalidTypeError(f"fragment_ids are numbers of fragments, got {fragment_ids!r}")
    fragments = snapshot.fragments(sorted(set(ids))) if new.train else []
    with discard_on_failure(snapshot.root) as files:
        writer = SegmentWriter(snapshot, files, environment)
        return Index.of(_build(writer, new, request, name, fragments))


def trained_parameters(snapshot: Snapshot, new: NewIndex) -> Mapping[str, Any]:
    """What the segments of one index have in common; see `lance_core.engines`."""
    request, _ = check_new_index(snapshot, new)
    rows = FragmentRows(snapshot, request.lineage, snapshot.manifest.fragments, with_row_ids=False)
    sample = functools.partial(sampled_rows, rows)
    return request.type.trained_parameters(sample, rows.num_rows, request.parameters)


def _build(
    writer: SegmentWriter,
    new: NewIndex,
    request: IndexRequest,
    name: str,
    fragments: Sequence[Fragment],
) -> IndexMetadata:
    """Write a segment of ``fragments``, and report the progress."""
    snapshot = writer.snapshot
    uuid = writer.environment.new_uuid() if new.uuid is None else to_uuid(new.uuid)
    covered = [fragment.id for fragment in fragments]
    details = request.type.details_of(request.parameters)
    draft = segment_draft(snapshot, request.spec, name, request.field_id, covered, uuid)
    draft = with_details(snapshot, request.spec, draft, details)
    if request.type.is_trained and not fragments:
        return writer.untrained(draft)
    total = sum(map(snapshot.live_rows, fragments))
    with (
        reported(new.progress_callback, total) as progress,
        progress_bar(f"index {request.path}", total * (1 + request.type.is_trained)) as advance,
    ):
        writer = replace(writer, progress=progress, advance=advance)
        rows = writer.rows(draft, request.lineage, fragments)
        return writer.write(
            draft, lambda output: request.type.build(rows, request.parameters, output)
        )


def check_new_index(snapshot: Snapshot, new: NewIndex) -> tuple[IndexRequest, str]:
    """The checked request, and the name of the index; reads no data file.

    Without a name it is ``<path>_idx``, or ``<path>_idx_2`` and so on if an index of another column
    or type has that name; see `IndexType.name_suffix`.
    """
    request = index_request(snapshot, new.column, new.kind, new.parameters)
    if new.uuid is not None:
        to_uuid(new.uuid)
    named = by_name(snapshot)
    name = _default_name(request, named) if new.name is None else new.name
    check_name(name)
    existing = named.get(name, [])
    if any(index.fields != (request.field_id,) for index in existing):
        raise IndexNameError(
            f"Index name {shortened(name)} already exists with different fields, choose another one"
        )
    if existing and not new.replace:
        raise IndexNameError(
            f"Index name {shortened(name)} already exists, choose another one or use replace=True"
        )
    return request, name


def by_name(snapshot: Snapshot) -> dict[str, list[IndexMetadata]]:
    """The segments of each index, in the order of the manifest."""
    segments: dict[str, list[IndexMetadata]] = {}
    for index in indices_of(snapshot):
        segments.setdefault(index.name, []).append(index)
    return segments


def check_name(name: object) -> None:
    """Raise `IndexNameError` for a reserved name, and `InvalidTypeError` unless it is a string."""
    if not isinstance(name, str):
        raise InvalidTypeError(f"the name of an index is a string, got {name!r}")
    if name in SYSTEM_INDICES:
        raise IndexNameError(f"the name {name!r} is reserved for the table's internal state")


def _default_name(request: IndexRequest, named: Mapping[str, Sequence[IndexMetadata]]) -> str:
    suffix = request.type.name_suffix(request.type.details_of(request.parameters))
    base = f"{_unquoted_path(request)}_{suffix}"
    names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(2)))
    return next(
        name
        for name in names
        if all(_may_replace(request, segment) for segment in named.get(name, ()))
    )


def _may_replace(request: IndexRequest, index: IndexMetadata) -> bool:
    """True if a new index without a name replaces ``index``: same column, same type."""
    if index.fields != (request.field_id,) or index.index_details is None:
        return False
    return get_manager().index_type_of(index.index_details.type_url) == request.spec


@contextlib.contextmanager
def reported(callback: ProgressCallback | None, total: int) -> Iterator[Progress]:
    """A function that reports stages to ``callback``; the last stage ends with the context.

    A type that reports no stage has the stage ``load_data`` with ``total`` rows. Raises
    `InvalidTypeError` if ``callback`` cannot be called.
    """
    if callback is None:
        yield no_progress
        return
    if not callable(callback):
        raise InvalidTypeError(f"progress_callback must be callable, got {callback!r}")
    current: list[tuple[str, int, int]] = []
    reported_stages = set[str]()

    def end() -> None:
        if current:
            stage, _, total = current.pop()
            callback(IndexProgress("complete", stage, total, total, "rows"))

    def progress(stage: str, done: int, total: int) -> None:
        if not current or current[0][0] != stage:
            end()
            reported_stages.add(stage)
            callback(IndexProgress("start", stage, 0, total, "rows"))
        current[:] = [(stage, done, total)]
        callback(IndexProgress("progress", stage, done, total, "rows"))

    yield progress
    if not reported_stages:
        progress("load_data", total, total)
    end()


def segments_named(snapshot: Snapshot, name: str) -> tuple[IndexMetadata, ...]:
    """The segments of an index; raises `IndexNotFoundError` if there is no such index."""
    named = by_name(snapshot)
    if name not in named:
        raise IndexNotFoundError(f"Lance index not found: name={name}{hint(str(name), named)}")
    return tuple(named[name])


def drop(snapshot: Snapshot, name: str) -> Snapshot:
    """Remove an index and commit; its files stay until a cleanup."""
    check_writable(snapshot.manifest.flags)
    if name in SYSTEM_INDICES:
        raise InvalidInputError(f"{name} is not an index of a column")
    return commit_change(snapshot, CreateIndex((), segments_named(snapshot, name)))


def _unquoted_path(request: IndexRequest) -> str:
    """The path in the name of an index: quoted, as in pylance, only where dots are ambiguous."""
    names = parse_path(request.path)
    if not any("." in name for name in names):
        return ".".join(names)
    return ".".join(quoted(name) for name in names)
