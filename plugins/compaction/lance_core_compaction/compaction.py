"""`Compaction`: whole compactions, and compactions step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lance_core.maintenance import DatasetBase, FragmentWriteProgress, discard_on_failure
from lance_core.optimize import CompactionCheck, CompactionMetrics, CompactionOptions
from lance_core_compaction import compact
from lance_core_compaction.commit import commit_results
from lance_core_compaction.options import CompactionSettings, from_options
from lance_core_compaction.tasks import CompactionPlan, RewriteResult
from lance_core_compaction.verify import verify


class Compaction:
    """Compactions in steps, so that other processes can execute the tasks.

    `plan` returns the tasks. Any process executes them, in any order, see `CompactionTask.execute`.
    `commit` takes the results; those of tasks that failed may be missing.
    """

    @staticmethod
    def plan(
        dataset: DatasetBase, options: CompactionOptions | Mapping[str, Any]
    ) -> CompactionPlan:
        """The tasks of a compaction of the open version; nothing is written.

        Raises `InvalidInputError` and `InvalidTypeError` for invalid options and `CompactionError`
        for those that do not fit the table.
        """
        settings = CompactionSettings.of(dataset.snapshot, options)
        return compact.plan(dataset.snapshot, settings)

    @staticmethod
    def execute(
        dataset: DatasetBase,
        options: CompactionOptions | Mapping[str, Any],
        *,
        progress: FragmentWriteProgress | None = None,
    ) -> CompactionMetrics:
        """Plan, execute all tasks in this process, commit, and open the new version.

        See `DatasetOptimizer.compact_files` for errors.
        """
        settings = CompactionSettings.of(dataset.snapshot, options)
        snapshot, metrics = compact.compact(dataset.snapshot, settings, progress)
        dataset.move_to(snapshot)
        return metrics

    @staticmethod
    def commit(
        dataset: DatasetBase,
        rewrites: Sequence[RewriteResult],
        options: CompactionOptions | Mapping[str, Any] | None = None,
    ) -> CompactionMetrics:
        """Commit the results of tasks, and open the new version.

        After an error the new data files stay, so that other results, or the same ones again, can
        be committed; a cleanup removes them later. ``options`` are checked only: the tasks have
        their own. Rows that other writers have deleted since are deleted in the new fragments, too.
        Raises `InvalidInputError` if a fragment is rewritten twice, `RetryableCommitConflictError`
        if another writer has replaced a rewritten fragment, or has committed an index that covers
        only some of the fragments of a task, `CommitFileMissingError` if a new file does not exist,
        and other errors of a commit.
        """
        from_options(options or {})
        with discard_on_failure(dataset.snapshot.root) as files:
            snapshot, metrics = commit_results(dataset.snapshot, rewrites, files)
        dataset.move_to(snapshot)
        return metrics

    @staticmethod
    def verify(dataset: DatasetBase) -> CompactionCheck:
        """See `DatasetOptimizer.verify`."""
        return verify(dataset.snapshot)
