"""Compact a table: plan, execute all tasks, and commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lance_core.errors import RetryableCommitConflictError
from lance_core.maintenance import (
    MAX_PAUSE,
    SYSTEM,
    CommitOptions,
    Environment,
    FragmentWriteProgress,
    NewFiles,
    Snapshot,
    backoff,
    check_writable,
    column_threads,
    discard_on_failure,
    in_order,
    num_threads,
    open_table,
    progress_bar,
)
from lance_core.optimize import CompactionMetrics
from lance_core_compaction.commit import commit_valid_results
from lance_core_compaction.options import CompactionMode, CompactionSettings
from lance_core_compaction.planner import plan_ids
from lance_core_compaction.tasks import (
    CompactionPlan,
    CompactionTask,
    RewriteResult,
)

MAX_ROUNDS = 6
"""Rounds of a compaction: after the first one, only fragments that met a conflict are rewritten."""

_FIRST_PAUSE = 0.01
"""Seconds: the limit of the pause after the first round; later ones grow, see `backoff`."""


def plan(snapshot: Snapshot, settings: CompactionSettings) -> CompactionPlan:
    """The tasks of a compaction of ``snapshot``; reads no data file."""
    check_writable(snapshot.manifest.flags)
    return CompactionPlan.of(snapshot, plan_ids(snapshot, settings), settings)


def compact(
    snapshot: Snapshot,
    settings: CompactionSettings,
    progress: FragmentWriteProgress | None = None,
    environment: Environment = SYSTEM,
) -> tuple[Snapshot, CompactionMetrics]:
    """Compact ``snapshot``, and commit; without a task nothing is committed.

    The results of all tasks are committed at once. Fragments that other writers have replaced
    since then are planned again on the newest version, in smaller tasks that are committed one by
    one; those that meet conflicts each time are left, and counted in the metrics. Files that no
    version names are removed.

    Raises `RetryableCommitConflictError` if no fragment could be rewritten because of conflicts,
    and the errors of `CompactionTask.execute` and of `commit_transaction`.
    """
    tasks = plan(snapshot, settings).tasks
    if not tasks:
        return snapshot, CompactionMetrics()
    compaction = _Compaction(snapshot, settings, progress, environment)
    compaction.run(tasks)
    size = max(len(task.fragments) for task in tasks)
    for number in range(1, MAX_ROUNDS):
        if not compaction.left:
            break
        pause = backoff(number, _FIRST_PAUSE, MAX_PAUSE, environment.random)
        environment.sleep(pause)
        for task in compaction.smaller_tasks(max(2, size >> number)):
            compaction.run([task])
    return compaction.snapshot, compaction.outcome()


class _Compaction:
    """A compaction in several rounds."""

    def __init__(
        self,
        snapshot: Snapshot,
        settings: CompactionSettings,
        progress: FragmentWriteProgress | None,
        environment: Environment,
    ) -> None:
        self.snapshot = snapshot
        """The newest version that is known."""
        self.left: dict[int, str] = {}
        """The fragments that were to be rewritten, and what kept them from it."""
        self._settings = settings
        self._progress = progress
        self._environment = environment
        self._metrics = CompactionMetrics()

    def run(self, tasks: Sequence[CompactionTask]) -> None:
        """Execute tasks for `snapshot`, and commit the results that meet no conflict."""
        snapshot, settings = self.snapshot, self._settings
        options = CommitOptions(age_of_files=self._environment.stopwatch())
        snapshot.root.check_can_commit()
        with discard_on_failure(snapshot.root) as files:
            results = _execute_all(snapshot, tasks, settings, files, self._progress)
            made = commit_valid_results(snapshot, results, files, options, self._environment)
        self.snapshot = made.snapshot
        self._metrics += made.metrics
        for task in tasks:
            for fragment in task.fragments:
                self.left.pop(fragment.id, None)
        for result, reason in made.left:
            self.left |= {fragment.id: reason for fragment in result.original_fragments}

    def smaller_tasks(self, size: int) -> Iterator[CompactionTask]:
        """Tasks of about ``size`` fragments for those that are left, each for the newest version.

        Fragments that are not worth rewriting any more, or do not exist, are not left.
        """
        self.snapshot = open_table.open_version(self.snapshot.root)
        left, self.left = self.left, {}
        existing = self.snapshot.manifest.fragments.ids
        if left.keys().isdisjoint(existing):
            return
        others = tuple(id_ for id_ in existing if id_ not in left)
        settings = replace(self._settings, excluded_fragment_ids=others)
        settings.check(self.snapshot)
        pieces = [
            piece for ids in plan_ids(self.snapshot, settings) for piece in _pieces(ids, size)
        ]
        self.left = {id_: left[id_] for piece in pieces for id_ in piece}
        for piece in pieces:
            # The commit of the piece before this one has opened a newer version.
            if self.snapshot.manifest.fragments.positions.keys() >= set(piece):
                yield CompactionTask.planned(self.snapshot, piece, self._settings)

    def outcome(self) -> CompactionMetrics:
        """The metrics. Raises `RetryableCommitConflictError` if conflicts left all fragments."""
        if self.left and not self._metrics.fragments_removed:
            reason = next(iter(self.left.values()))
            raise RetryableCommitConflictError(
                f"the compaction was given up, because other writers have changed all of its "
                f"{len(self.left)} fragments each time: {reason}"
            )
        return self._metrics + CompactionMetrics(fragments_left=len(self.left))


def _pieces(ids: list[int], size: int) -> Iterator[list[int]]:
    """The ``ids`` of a task in pieces of ``size`` fragments, or one more at the end."""
    start = 0
    while start < len(ids):
        stop = start + size if len(ids) - start - size > 1 else len(ids)
        yield ids[start:stop]
        start = stop


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
    files.data += [
        fragment.to_fragment() for result in results for fragment in result.new_fragments
    ]
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
