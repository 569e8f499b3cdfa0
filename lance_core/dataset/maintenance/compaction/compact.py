"""Compact a table: plan, execute all tasks, and commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import CommitOptions
from lance_core.concurrency.pools import in_order, num_threads
from lance_core.datafile.parallel import num_threads as column_threads
from lance_core.dataset.maintenance.compaction.commit import commit_results
from lance_core.dataset.maintenance.compaction.options import CompactionMode, CompactionSettings
from lance_core.dataset.maintenance.compaction.planner import plan_tasks
from lance_core.dataset.maintenance.compaction.tasks import (
    CompactionMetrics,
    CompactionPlan,
    CompactionTask,
    RewriteResult,
)
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.progress import FragmentWriteProgress
from lance_core.dataset.values.progress_bar import progress_bar
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.table.manifest.feature_flags import check_writable


def plan(snapshot: Snapshot, settings: CompactionSettings) -> CompactionPlan:
    """The tasks of a compaction of ``snapshot``; reads no data file."""
    check_writable(snapshot.manifest.flags)
    return CompactionPlan.of(snapshot, plan_tasks(snapshot, settings), settings)


def compact(
    snapshot: Snapshot,
    settings: CompactionSettings,
    progress: FragmentWriteProgress | None = None,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, CompactionMetrics]:
    """Compact ``snapshot``, and commit; without a task nothing is committed.

    If the compaction has certainly failed, the files that it has written are removed. Raises
    `RetryableCommitConflictError` if another writer has changed a rewritten fragment, and the
    errors of `CompactionTask.execute` and of `commit_transaction`.
    """
    tasks = plan(snapshot, settings).tasks
    if not tasks:
        return snapshot, CompactionMetrics()
    options = CommitOptions(age_of_files=environment.stopwatch())
    with discard_on_failure(snapshot.root) as files:
        results = _execute_all(snapshot, tasks, settings, files, progress)
        return commit_results(snapshot, results, files, options, environment)


def _execute_all(
    snapshot: Snapshot,
    tasks: Sequence[CompactionTask],
    settings: CompactionSettings,
    files: NewFiles,
    progress: FragmentWriteProgress | None,
) -> list[RewriteResult]:
    """The results of all tasks; their new fragments are added to ``files``.

    After an error the tasks that have not started do not start, and the others end before it is
    raised.
    """
    failed: list[BaseException] = []
    total = sum(fragment.num_rows for task in tasks for fragment in task.fragments)
    with progress_bar("compact", total) as advance:
        lock = threading.Lock()

        def counted(rows: int) -> None:
            if failed:
                raise _StoppedError
            with lock:
                advance(rows)

        def execute(task: CompactionTask) -> RewriteResult | None:
            return _attempt(lambda: task.execute_on(snapshot, progress, counted), failed)

        at_once = min(settings.num_threads or _tasks_at_once(snapshot, settings), len(tasks))
        if at_once == 1:
            done = [execute(task) for task in tasks]
        else:
            done = list(in_order(execute, tasks, at_once, is_io_bound=snapshot.is_io_bound))
    results = [result for result in done if result is not None]
    files.data += [one.to_fragment() for result in results for one in result.new_fragments]
    if failed:
        raise failed[0]
    return results


def _tasks_at_once(snapshot: Snapshot, settings: CompactionSettings) -> int:
    """One if the threads that decode and encode its columns use all processors.

    More tasks at once would be faster by less than a tenth, but each needs memory.
    """
    threads = num_threads()
    encodes = settings.compaction_mode is CompactionMode.REENCODE and not snapshot.is_io_bound
    if encodes and threads <= min(column_threads(), len(snapshot.schema.fields)):
        return 1
    return threads


class _StoppedError(Exception):
    """Ends a task because another one has failed."""


def _attempt(
    execute: Callable[[], RewriteResult], failed: list[BaseException]
) -> RewriteResult | None:
    """The result of ``execute``, None after an error, which is added to ``failed``."""
    if failed:
        return None
    try:
        return execute()
    except BaseException as error:  # raised again after all tasks have ended
        failed.append(error)
        return None
