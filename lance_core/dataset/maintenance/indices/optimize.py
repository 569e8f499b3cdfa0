"""Add the rows that indices do not cover to them, merge their segments, or build them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.loop import MAX_PAUSE
from lance_core.commits.options import CommitOptions
from lance_core.concurrency.backoff import backoff
from lance_core.dataset.maintenance.indices.create import by_name
from lance_core.dataset.maintenance.indices.segments import (
    SegmentWriter,
    covered_now,
    index_parts,
    is_untrained,
    successor_draft,
    uses_row_ids,
    written_version,
)
from lance_core.dataset.maintenance.indices.valid_segments import (
    NewSegment,
    commit_valid_segments,
)
from lance_core.dataset.read.sources.prefilter.stored_indices import (
    field_of,
    index_type,
    indices_of,
    missing_plugins,
    open_index,
    spec_of,
)
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.progress_bar import progress_bar
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.error_texts.suggestions import hint, shortened
from lance_core.errors import (
    CorruptFileError,
    IndexWarning,
    InvalidInputError,
    InvalidTypeError,
    ObjectNotFoundError,
    RetryableCommitConflictError,
    warn_caller,
)
from lance_core.index.base import NO_ROWS, IndexNotWrittenError, IndexPart, TooFewRowsError
from lance_core.index.spec import IndexTypeSpec
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.index_metadata import IndexMetadata, fragment_bitmap
from lance_core.table.manifest.feature_flags import check_writable

if TYPE_CHECKING:
    from pyroaring import BitMap

MAX_ROUNDS = 6
"""Rounds of an optimization: after the first one, only indices that met a conflict are planned."""

_ROUNDS_WITH_MERGES = 2
"""Rounds in which the new rows are merged with the newest segment by default."""

_FIRST_PAUSE = 0.01
"""Seconds: the limit of the pause after the first round; later ones grow, see `backoff`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptimization:
    """The arguments of `DatasetOptimizer.optimize_indices`."""

    num_indices_to_merge: int | None = None
    index_names: Sequence[str] | None = None
    retrain: bool = False

    def __post_init__(self) -> None:
        count, names = self.num_indices_to_merge, self.index_names
        if count is not None and (isinstance(count, bool) or not isinstance(count, int)):
            raise InvalidTypeError(f"num_indices_to_merge must be a whole number, got {count!r}")
        if count is not None and count < 0:
            raise InvalidInputError(f"num_indices_to_merge must not be negative, got {count}")
        if names is not None and (
            isinstance(names, str) or not all(isinstance(name, str) for name in names)
        ):
            raise InvalidTypeError(f"index_names must be a list of names, got {names!r}")


def optimize(
    snapshot: Snapshot, options: IndexOptimization, environment: Environment = SYSTEM
) -> Snapshot:
    """Extend indices, and commit all of them at once; see `DatasetOptimizer.optimize_indices`.

    After a conflict, each index whose new segment is still valid is committed without the others.
    These are planned again on the newest version and committed one by one, several times; an
    `IndexWarning` names those that meet a conflict each time. Files that no version names are
    removed.

    Raises `RetryableCommitConflictError` if conflicts left all indices as they were, and the errors
    of reading and of a commit.
    """
    check_writable(snapshot.manifest.flags)
    optimization = _Optimization(snapshot, options, environment)
    optimization.run(list(_changes(snapshot, options)))
    for number in range(1, MAX_ROUNDS):
        if not optimization.left:
            break
        environment.sleep(backoff(number, _FIRST_PAUSE, MAX_PAUSE, environment.random))
        optimization.run_again(number)
    return optimization.outcome()


class _Optimization:
    """An optimization of indices in several rounds."""

    def __init__(
        self, snapshot: Snapshot, options: IndexOptimization, environment: Environment
    ) -> None:
        self.left: dict[str, str] = {}
        """The indices that met a conflict, by name, and what it was."""
        self._snapshot = snapshot
        self._options = options
        self._environment = environment
        self._committed: set[str] = set()

    def run(self, changes: Sequence[_Change]) -> None:
        """Write the segments for the newest known version, and commit those that are valid."""
        if not changes:
            return
        snapshot, environment = self._snapshot, self._environment
        snapshot.root.check_can_commit()
        options = CommitOptions(age_of_files=environment.stopwatch())
        with discard_on_failure(snapshot.root) as files:
            writer = SegmentWriter(snapshot, files, environment)
            new = list(_written(changes, writer))
            if not new:
                return
            made = commit_valid_segments(snapshot, new, files, options, environment)
        self._snapshot = made.snapshot
        self._committed |= made.committed
        self.left |= made.left

    def run_again(self, number: int) -> None:
        """Plan the remaining indices again, each on the newest version, and commit it.

        An index that has nothing to do any more, or does not exist, is not left.
        """
        left, self.left = self.left, {}
        for name, reason in left.items():
            self._snapshot = open_table.open_version(self._snapshot.root)
            if any(index.name == name for index in indices_of(self._snapshot)):
                self.left[name] = reason
                changes = list(_changes(self._snapshot, self._options_again(name, number)))
                del self.left[name]
                self.run(changes)

    def _options_again(self, name: str, number: int) -> IndexOptimization:
        """The options for an index in a later round.

        All rows of an index that was committed without some fragments are new. After two rounds the
        new rows become a segment of their own, unless the caller has said what to merge: that
        takes the least time, and cannot conflict with changes of the other segments.
        """
        options = replace(self._options, index_names=[name])
        if name in self._committed:
            options = replace(options, retrain=False)
        if number >= _ROUNDS_WITH_MERGES and options.num_indices_to_merge is None:
            options = replace(options, num_indices_to_merge=0)
        return options

    def outcome(self) -> Snapshot:
        """The newest version; warns about the indices that are left.

        Raises `RetryableCommitConflictError` if conflicts left all of them.
        """
        if not self.left:
            return self._snapshot
        names = ", ".join(map(shortened, self.left))
        reason = next(iter(self.left.values()))
        if not self._committed:
            raise RetryableCommitConflictError(
                f"the optimization of indices was given up after {MAX_ROUNDS} attempts, because "
                f"other writers have changed what it needs each time: {names}: {reason}"
            )
        warn_caller(
            f"optimize_indices has not added all rows to {names}, because other writers have "
            f"changed what it needs {MAX_ROUNDS} times: {reason}; call it again",
            IndexWarning,
        )
        return self._snapshot


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """A new segment for the rows of ``merged`` segments and for all rows of ``fragments``.

    ``source``: the segment whose parameters the new one has, and its training unless
    ``is_retrained``. ``replaced``: the segments to remove.
    """

    spec: IndexTypeSpec
    source: IndexMetadata
    merged: tuple[IndexMetadata, ...]
    replaced: tuple[IndexMetadata, ...]
    fragments: BitMap
    is_retrained: bool = False

    def write(self, writer: SegmentWriter) -> IndexMetadata:
        snapshot, spec, source = writer.snapshot, self.spec, self.source
        lineage = snapshot.schema.lineage(snapshot.schema.path_of(source.fields[0]))
        is_readable = [field.is_struct or field.is_list for field in lineage[:-1]]
        if not all(is_readable):
            raise IndexNotWrittenError("columns inside of maps are not read for indices")
        covered = self.fragments | covered_now(snapshot, *self.merged)
        uuid = writer.environment.new_uuid()
        draft = successor_draft(snapshot, spec, source, covered, uuid)
        fragments = snapshot.fragments(list(self.fragments))
        total = sum(map(snapshot.live_rows, fragments))
        with progress_bar(f"index {source.name}", total) as advance:
            writer = replace(writer, advance=advance)
            rows = writer.rows(draft, lineage, fragments)
            type_ = index_type(spec)
            parts = index_parts(snapshot, self.merged, spec) or self._training(snapshot)
            if not parts:
                parameters = self._parameters(snapshot)
                return writer.write(draft, lambda output: type_.build(rows, parameters, output))
            new = rows if fragments else None
            return writer.write(draft, lambda output: type_.merge(parts, new, output))

    def _training(self, snapshot: Snapshot) -> tuple[IndexPart, ...]:
        """`source` as a part that gives its training; nothing if there is none."""
        if (
            self.is_retrained
            or not index_type(self.spec).is_trained
            or is_untrained(self.spec, self.source)
        ):
            return ()
        try:
            return (IndexPart(open_index(snapshot, self.source, self.spec), NO_ROWS),)
        except (CorruptFileError, ObjectNotFoundError):
            return ()  # `_parameters` warns

    def _parameters(self, snapshot: Snapshot) -> Mapping[str, Any]:
        """The parameters of `source`; if it is damaged, those in its details, with a warning."""
        if is_untrained(self.spec, self.source):
            assert self.source.index_details is not None
            return index_type(self.spec).build_parameters_of(self.source.index_details.value)
        try:
            return open_index(snapshot, self.source, self.spec).parameters
        except (CorruptFileError, ObjectNotFoundError) as error:
            name = shortened(self.source.name)
            warn_caller(
                f"index {name} gets default parameters, because its own cannot be read: {error}",
                IndexWarning,
            )
            assert self.source.index_details is not None
            return index_type(self.spec).build_parameters_of(self.source.index_details.value)


def _written(changes: Sequence[_Change], writer: SegmentWriter) -> Iterator[NewSegment]:
    """The new segments; warns about the indices whose type cannot write them."""
    for change in changes:
        try:
            index = change.write(writer)
        except (IndexNotWrittenError, TooFewRowsError) as error:
            name = shortened(change.source.name)
            warn_caller(f"index {name} is not optimized: {error}", IndexWarning)
        else:
            yield NewSegment(index, change.source, change.replaced, change.fragments)


def _changes(snapshot: Snapshot, options: IndexOptimization) -> Iterator[_Change]:
    named = by_name(snapshot)
    names = list(named) if options.index_names is None else list(options.index_names)
    for name in names:
        if name not in named:
            warn_caller(f"no index has the name {shortened(name)}{hint(name, named)}")
            continue
        spec = _common_type(snapshot, named[name])
        if spec is None:
            warn_caller(
                f"index {shortened(name)} is not optimized: its type or version is not known"
                f"{missing_plugins(named[name])}"
            )
            continue
        change = _change(snapshot, spec, named[name], options)
        if change is not None:
            yield change


def _common_type(snapshot: Snapshot, segments: Sequence[IndexMetadata]) -> IndexTypeSpec | None:
    """The type of all segments; None if it is unknown, or if they are not parts of one index."""
    types = {(spec_of(segment), segment.fields) for segment in segments}
    if len(types) != 1 or field_of(snapshot, segments[0]) is None:
        return None
    return spec_of(segments[0])


def _change(
    snapshot: Snapshot,
    spec: IndexTypeSpec,
    segments: Sequence[IndexMetadata],
    options: IndexOptimization,
) -> _Change | None:
    existing = fragment_bitmap(snapshot.manifest.fragments.ids)
    trained = [segment for segment in segments if not is_untrained(spec, segment)]
    if options.retrain or not trained:
        if not existing and is_untrained(spec, segments[-1]):
            return None
        return _Change(spec, segments[-1], (), tuple(segments), existing, is_retrained=True)
    untrained, segments = tuple(segment for segment in segments if segment not in trained), trained
    uncovered = existing - covered_now(snapshot, *segments)
    count = options.num_indices_to_merge
    chosen = tuple(segments[-count:] if count else () if count == 0 else segments[-1:])
    if uncovered and chosen:
        stale = (
            segment
            for segment in segments[: -len(chosen)]
            if _may_have_moved_rows(snapshot, segment)
        )
        chosen = (*stale, *chosen)
    if not uncovered and (count is None or min(count, len(chosen)) < 2):
        return None
    assert segments[-1].index_details is not None
    version = written_version(snapshot, spec, segments[-1].index_details.value)
    if any((segment.index_version or 0) != version for segment in chosen):
        # Other versions may have other row numbers, or lack what the new version needs.
        again, replaced = covered_now(snapshot, *chosen), (*chosen, *untrained)
        return _Change(spec, segments[-1], (), replaced, uncovered | again, is_retrained=True)
    return _Change(spec, segments[-1], chosen, (*chosen, *untrained), uncovered)


def _may_have_moved_rows(snapshot: Snapshot, segment: IndexMetadata) -> bool:
    """True if rows of the segment may be elsewhere, with the same row ids and other values.

    Once the index covers them there, pylance finds them by their old values, too: it does not
    compare the fragment of a row with those of the segment, but with those of the whole index.
    """
    if not uses_row_ids(snapshot, segment):
        return False
    covered = covered_now(snapshot, segment)
    return any(snapshot.fragment(id_).deletion_file is not None for id_ in covered)
