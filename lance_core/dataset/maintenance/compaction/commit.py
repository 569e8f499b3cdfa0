"""Commit the results of tasks: reserve ids for the new fragments, then replace the old ones.

Both are versions of their own. The second one has the version that the tasks have read as its read
version, so a concurrent change of a rewritten fragment is a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import DEFAULT_OPTIONS, CommitOptions
from lance_core.dataset.maintenance.compaction.remap import remapped_indices
from lance_core.dataset.maintenance.compaction.reuse import extended
from lance_core.dataset.maintenance.compaction.tasks import CompactionMetrics, RewriteResult
from lance_core.dataset.read.fragment_reuse import reuse_index
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.commit import commit
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.discard_on_failure import NewFiles
from lance_core.errors import InvalidInputError
from lance_core.table.indices.index_metadata import parse_index_section
from lance_core.table.transactions.operations import ReserveFragments, Rewrite
from lance_core.table.transactions.operations.rewrite import NewReuseIndex, RewriteGroup
from lance_core.table.transactions.transaction import Transaction


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
    `RetryableCommitConflictError` if another writer has changed a rewritten fragment, and the other
    errors of `commit_transaction`.
    """
    _check(results)
    metrics = sum((result.metrics for result in results), CompactionMetrics())
    if not results:
        return snapshot, metrics
    reserved = _reserved(snapshot, results, environment)
    groups = _groups(reserved, results)
    addresses = [result.row_addrs for result in results if result.row_addrs is not None]
    # Without an index nothing needs the old addresses.
    if addresses and parse_index_section(reserved.file.index_section):
        pairs = list(zip(groups, addresses, strict=True))
        before = reuse_index(reserved)
        index = NewReuseIndex(
            None if before is None else before.uuid, extended(reserved, pairs, files, environment)
        )
        operation = Rewrite(groups, reuse_index=index)
    else:
        operation = Rewrite(groups, remapped_indices(reserved, groups, files, environment))
    read_version = min(result.read_version for result in results)
    transaction = Transaction(read_version, str(environment.new_uuid()), operation)
    return files.commit(reserved, transaction, options), metrics


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
        return snapshot
    transaction = new_transaction(snapshot, ReserveFragments(count), environment)
    return commit(snapshot.root, snapshot, transaction, DEFAULT_OPTIONS)


def _groups(reserved: Snapshot, results: Sequence[RewriteResult]) -> tuple[RewriteGroup, ...]:
    count = sum(len(result.new_fragments) for result in results)
    next_id = 1 + (reserved.manifest.max_fragment_id or 0) - count
    groups = []
    for result in results:
        new = []
        for fragment in result.new_fragments:
            new.append(replace(fragment.to_fragment(), id=next_id))
            next_id += 1
        old = tuple(fragment.to_fragment() for fragment in result.original_fragments)
        groups.append(RewriteGroup(old, tuple(new)))
    return tuple(groups)
