"""Commit the results of tasks: reserve ids for the new fragments, then replace the old ones.

Both are versions of their own. Before the second one, the results are compared with the newest
version, and rows that other writers have deleted since are deleted in the new fragments as well.
If a writer is faster nevertheless, this step is repeated; indices that were rewritten are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lance_core.errors import (
    CommitConflictError,
    InvalidInputError,
    RetryableCommitConflictError,
)
from lance_core.maintenance import (
    DEFAULT_OPTIONS,
    SYSTEM,
    CommitOptions,
    Environment,
    Fragment,
    NewFiles,
    NewReuseIndex,
    ReserveFragments,
    Rewrite,
    RewriteGroup,
    Snapshot,
    backoff,
    commit,
    discard_data_files,
    new_transaction,
    open_table,
    parse_index_section,
    reuse_index,
)
from lance_core.optimize import CompactionMetrics
from lance_core_compaction.concurrent_changes import (
    RewrittenGroup,
    conflicts_of,
    with_late_deletions,
)
from lance_core_compaction.remap import RemappedIndices, remapped_indices
from lance_core_compaction.reuse import extended
from lance_core_compaction.tasks import RewriteResult

_MAX_ATTEMPTS = 32
"""Maximum attempts to replace the fragments. Only the first one writes indices, so that others take
little longer than a commit of another writer."""

_FIRST_PAUSE, _MAX_PAUSE = 0.001, 0.05
"""Seconds between attempts, see `backoff`."""


def commit_results(
    snapshot: Snapshot,
    results: Sequence[RewriteResult],
    files: NewFiles,
    options: CommitOptions = DEFAULT_OPTIONS,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, CompactionMetrics]:
    """Replace the fragments that the tasks have rewritten; without results nothing is committed.

    Files that this writes besides the new fragments are added to ``files``.

    Indices with row addresses are written anew, or a fragment-reuse index has the new addresses:
    that of tasks with a deferred remap, if the table has any index.

    Raises ``TypeError`` for other results, `InvalidInputError` if a fragment is rewritten twice,
    `RetryableCommitConflictError` if another writer has replaced or removed a rewritten fragment,
    or has changed which of them an index covers, and the other errors of `commit_transaction`.
    """
    _check(results)
    if not results:
        return snapshot, CompactionMetrics()
    made = _Commit(snapshot, results, files, options, environment).run(is_partial=False)
    return made.snapshot, made.metrics


def commit_valid_results(
    snapshot: Snapshot,
    results: Sequence[RewriteResult],
    files: NewFiles,
    options: CommitOptions = DEFAULT_OPTIONS,
    environment: Environment = SYSTEM,
) -> CommittedResults:
    """Like `commit_results`, but without the results that meet a conflict.

    The files of these are removed. If all of them do, nothing is committed.
    """
    _check(results)
    return _Commit(snapshot, results, files, options, environment).run(is_partial=True)


@dataclass(frozen=True, slots=True, eq=False)
class CommittedResults:
    """The version with the committed results, and the others with the reason of each."""

    snapshot: Snapshot
    metrics: CompactionMetrics
    left: tuple[tuple[RewriteResult, str], ...] = ()


@dataclass(eq=False)
class _Commit:
    """The commit of results, with all of its attempts."""

    snapshot: Snapshot
    results: Sequence[RewriteResult]
    files: NewFiles
    options: CommitOptions
    environment: Environment
    _remapped: RemappedIndices = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)
    """The uuids of the new indices that the last attempt names."""

    def run(self, is_partial: bool) -> CommittedResults:
        snapshot = _reserved(self.snapshot, self.results, self.environment)
        groups = _groups(snapshot, self.results)
        reasons: list[str | None] = [None] * len(groups)
        attempts = 0
        while True:
            valid = self._valid(snapshot, groups, reasons, is_partial)
            if not valid:
                return self._done(snapshot, groups, reasons, 0)
            try:
                late, snapshot = self._attempt(snapshot, valid)
                return self._done(snapshot, groups, reasons, late)
            except CommitConflictError as error:
                attempts += 1
                if attempts >= _MAX_ATTEMPTS and is_partial:
                    reasons = [reason or str(error) for reason in reasons]
                elif attempts >= _MAX_ATTEMPTS:
                    raise
            pause = backoff(attempts, _FIRST_PAUSE, _MAX_PAUSE, self.environment.random)
            self.environment.sleep(pause)
            snapshot = open_table.open_version(snapshot.root)

    def _valid(
        self,
        snapshot: Snapshot,
        groups: Sequence[RewrittenGroup],
        reasons: list[str | None],
        is_partial: bool,
    ) -> list[RewrittenGroup]:
        """The groups without a conflict; the conflicts of the others are added to ``reasons``."""
        for number, reason in enumerate(conflicts_of(snapshot, groups)):
            if reason is not None and not is_partial:
                raise RetryableCommitConflictError(
                    f"Retryable commit conflict for version {snapshot.version}: the results of a "
                    f"compaction do not fit it: {reason}; plan again on the newest version"
                )
            if reason is not None and reasons[number] is None:
                reasons[number] = reason
                self._remapped.clear()  # these indices have the rows of this group, too
        pairs = zip(groups, reasons, strict=True)
        return [group for group, reason in pairs if reason is None]

    def _attempt(
        self, snapshot: Snapshot, groups: Sequence[RewrittenGroup]
    ) -> tuple[int, Snapshot]:
        """Replace the fragments of ``snapshot``; also returns the number of new deletion files."""
        moved = tuple(RewriteGroup(group.old, group.new) for group in groups)
        rewrite = self._rewrite(snapshot, groups, moved)
        new, late = [], 0
        for group in groups:
            placed = with_late_deletions(snapshot, group, self.files, self.environment)
            late += sum(fragment.deletion_file is not None for fragment in placed)
            current = snapshot.fragments([fragment.id for fragment in group.old])
            new.append(RewriteGroup(tuple(current), placed))
        rewrite = replace(rewrite, groups=tuple(new))
        transaction = new_transaction(snapshot, rewrite, self.environment)
        return late, self.files.commit(snapshot, transaction, self.options)

    def _rewrite(
        self,
        snapshot: Snapshot,
        groups: Sequence[RewrittenGroup],
        moved: tuple[RewriteGroup, ...],
    ) -> Rewrite:
        """The operation with the indices of ``snapshot`` after the rows have moved."""
        addresses = [
            group.result.row_addrs for group in groups if group.result.row_addrs is not None
        ]
        # Without an index nothing needs the old addresses.
        if addresses and parse_index_section(snapshot.file.index_section):
            pairs = list(zip(moved, addresses, strict=True))
            before = reuse_index(snapshot)
            index = extended(snapshot, pairs, self.files, self.environment)
            self._used = {str(index.uuid)}
            return Rewrite(
                moved, reuse_index=NewReuseIndex(None if before is None else before.uuid, index)
            )
        indices = remapped_indices(snapshot, moved, self.files, self.environment, self._remapped)
        self._used = {str(index.new_id) for index in indices}
        return Rewrite(moved, indices)

    def _done(
        self,
        snapshot: Snapshot,
        groups: Sequence[RewrittenGroup],
        reasons: Sequence[str | None],
        late: int,
    ) -> CommittedResults:
        """The outcome; removes the files that the new version does not name."""
        pairs = list(zip(groups, reasons, strict=True))
        left = [(group.result, reason) for group, reason in pairs if reason is not None]
        discard_data_files(
            snapshot.root,
            (fragment.to_fragment() for result, _ in left for fragment in result.new_fragments),
        )
        if len(left) == len(groups):
            self._used = set()
        self.files.discard_others(lambda path: path.split("/")[1] not in self._used)
        metrics = sum(
            (group.result.metrics for group, reason in pairs if reason is None),
            CompactionMetrics(files_added=late),
        )
        return CommittedResults(snapshot, metrics, tuple(left))


def _check(results: Sequence[RewriteResult]) -> None:
    seen: set[int] = set()
    for result in results:
        if not isinstance(result, RewriteResult):
            raise TypeError(f"rewrites are a list of RewriteResult, got {type(result).__name__}")
        for fragment in result.original_fragments:
            if fragment.id in seen:
                raise InvalidInputError(f"fragment {fragment.id} is in two results of a compaction")
            seen.add(fragment.id)
    if len({result.row_addrs is None for result in results}) > 1:
        raise InvalidInputError(
            "results of compactions with and without defer_index_remap are committed separately"
        )


def _reserved(
    snapshot: Snapshot, results: Sequence[RewriteResult], environment: Environment
) -> Snapshot:
    """A version with an unused id for each new fragment: the last ones up to its highest id."""
    count = sum(len(result.new_fragments) for result in results)
    if not count:
        return open_table.open_version(snapshot.root)
    for _ in range(_MAX_ATTEMPTS - 1):
        try:
            return _with_reserved_ids(snapshot, count, environment)
        except CommitConflictError:
            # Another writer has put a table in place of this one, perhaps with the same fragments.
            snapshot = open_table.open_version(snapshot.root)
    return _with_reserved_ids(snapshot, count, environment)


def _with_reserved_ids(snapshot: Snapshot, count: int, environment: Environment) -> Snapshot:
    transaction = new_transaction(snapshot, ReserveFragments(count), environment)
    return commit(snapshot.root, snapshot, transaction, DEFAULT_OPTIONS)


def _groups(reserved: Snapshot, results: Sequence[RewriteResult]) -> list[RewrittenGroup]:
    """The results, with the ids that ``reserved`` has reserved for their new fragments."""
    count = sum(len(result.new_fragments) for result in results)
    next_id = 1 + (reserved.manifest.max_fragment_id or 0) - count
    groups = []
    for result in results:
        new: list[Fragment] = []
        for fragment in result.new_fragments:
            new.append(replace(fragment.to_fragment(), id=next_id))
            next_id += 1
        old = tuple(fragment.to_fragment() for fragment in result.original_fragments)
        groups.append(RewrittenGroup(result, old, tuple(new)))
    return groups
