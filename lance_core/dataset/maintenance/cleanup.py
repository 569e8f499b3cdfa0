"""``cleanup_old_versions``: removing old versions and abandoned files, with pylance's arguments.

What goes and what stays is decided in `lance_core.commits.cleanup.planning`.
"""

from __future__ import annotations

import contextlib
import operator
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from functools import partial
from typing import Any

from lance_core.commits.cleanup.clean import CleanupReport, clean
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.plan import CleanupPlan
from lance_core.commits.cleanup.planning import plan
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.cleanup.scope import CleanupScope
from lance_core.commits.environment import SYSTEM
from lance_core.concurrency.pools import ThreadPool
from lance_core.dataset.snapshot.open_table import branch_of, table_of
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core.lazy_dataclass import dataclass

CONCURRENCY = 16
"""Store calls at a time, if the caller does not say."""

MAX_THREADS = 256
"""However many the caller asks for."""


@dataclass(frozen=True, slots=True)
class CleanupStats:
    """What a cleanup has removed, or would remove; the totals that pylance gives.

    ``bytes_removed`` includes manifests. ``failed_deletes``: files that the next cleanup tries
    again to remove.
    """

    bytes_removed: int = 0
    old_versions: int = 0
    data_files_removed: int = 0
    transaction_files_removed: int = 0
    index_files_removed: int = 0
    deletion_files_removed: int = 0
    failed_deletes: int = 0


@dataclass(frozen=True, slots=True)
class CleanupCandidateFile:
    """A file that a cleanup would remove.

    ``path`` from the table's root; ``kind``: data, deletion, transaction, index, manifest or
    temporary_manifest. ``unverified``: no version names it.
    """

    path: str
    kind: str
    unverified: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CleanupReferencedBranch:
    """A branch, and the version that stays because the branch begins there.

    ``cleanup_candidate``: whether the cleanup would go on in the branch; it never does.
    """

    name: str
    referenced_version: int
    cleanup_candidate: bool = False


@dataclass(frozen=True, slots=True)
class CleanupKeptVersion:
    """A version that stays although the arguments alone would have it removed, and why."""

    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class CleanupExplanation:
    """What a cleanup would do. ``read_version``: the newest version that was taken into account."""

    read_version: int
    stats: CleanupStats
    candidate_files: list[CleanupCandidateFile] = field(default_factory=list)
    candidate_files_truncated: bool = False
    candidate_file_limit: int = 1000
    referenced_branches: list[CleanupReferencedBranch] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kept_versions: list[CleanupKeptVersion] = field(default_factory=list)


def policy_of(snapshot: Snapshot, arguments: Mapping[str, Any]) -> CleanupPolicy:
    """A policy out of pylance's keyword arguments; versions from the open one on stay.

    Raises ``TypeError`` and `InvalidInputError`.
    """
    older_than = arguments.get("older_than")
    if older_than is not None and not isinstance(older_than, timedelta):
        raise TypeError(f"older_than must be a timedelta, got {type(older_than).__name__}")
    versions = arguments.get("versions")
    if versions is not None and (isinstance(versions, str) or not isinstance(versions, Sequence)):
        raise TypeError(f"versions must be a list of numbers, got {type(versions).__name__}")
    return CleanupPolicy(
        older_than=older_than,
        retain_versions=_whole("retain_versions", arguments.get("retain_versions")),
        versions=None if versions is None else frozenset(map(_version, versions)),
        before=snapshot.version,
        delete_unverified=bool(arguments.get("delete_unverified")),
        error_if_tagged=bool(arguments.get("error_if_tagged_old_versions", True)),
        delete_rate_limit=_whole("delete_rate_limit", arguments.get("delete_rate_limit")),
    )


def run(snapshot: Snapshot, policy: CleanupPolicy, concurrency: int | None = None) -> CleanupReport:
    """Clean up the table, or the branch of it, that ``snapshot`` is a version of.

    Raises `InvalidInputError` for a ``concurrency`` below 1, and what `clean` raises.
    """
    concurrency = _whole("delete_concurrency", concurrency)
    if concurrency is not None and concurrency < 1:
        raise InvalidInputError(f"delete_concurrency must be at least 1, got {concurrency}")
    root = snapshot.root
    count = min(concurrency or CONCURRENCY, MAX_THREADS)
    with _tidied(root), ThreadPool("cleanup", count) as threads:
        return clean(root.store, root.handler, policy, SYSTEM, _scope(snapshot, threads, count))


@contextlib.contextmanager
def _tidied(root: TableRoot) -> Iterator[None]:
    """Leave no folder behind where the table was removed while it was open."""
    try:
        yield
    except DatasetNotFoundError:
        root.store.remove_empty_folders()
        raise


def cleanup(snapshot: Snapshot, arguments: Mapping[str, Any]) -> CleanupStats:
    """``cleanup_old_versions``; warns of versions that stay for other writers' sake."""
    report = run(snapshot, policy_of(snapshot, arguments), arguments.get("delete_concurrency"))
    for text in report.warnings:
        warnings.warn(text, stacklevel=3)
    counts = report.files_removed
    return _stats(counts, report.bytes_removed, len(report.versions), report.failed_deletes)


def explain(
    snapshot: Snapshot, arguments: Mapping[str, Any], include_files: bool, max_files: int
) -> CleanupExplanation:
    """``explain_cleanup_old_versions``: what `cleanup` would do now."""
    if max_files <= 0:
        raise InvalidInputError("max_files must be positive")
    root = snapshot.root
    with _tidied(root), ThreadPool("cleanup", CONCURRENCY) as threads:
        policy, scope = policy_of(snapshot, arguments), _scope(snapshot, threads, CONCURRENCY)
        planned = plan(root.store, root.handler, policy, SYSTEM, scope)
    files = _candidates(planned)
    counts: dict[FileKind, int] = {}
    for file in planned.files:
        counts[file.kind] = counts.get(file.kind, 0) + 1
    size = sum(file.size_bytes for file in files)
    return CleanupExplanation(
        read_version=min(planned.read_version, snapshot.version),
        stats=_stats(counts, size, len(planned.versions)),
        candidate_files=files[:max_files] if include_files else [],
        candidate_files_truncated=include_files and len(files) > max_files,
        candidate_file_limit=max_files,
        referenced_branches=[
            CleanupReferencedBranch(name, version)
            for name, version in planned.named.branches.items()
        ],
        warnings=list(planned.warnings),
        kept_versions=[CleanupKeptVersion(k.version, k.reason.value) for k in planned.kept],
    )


def _candidates(planned: CleanupPlan) -> list[CleanupCandidateFile]:
    files = [
        CleanupCandidateFile(file.path, file.kind.value, not file.verified, file.size)
        for file in planned.files
    ]
    files += [
        CleanupCandidateFile(version.location.path, FileKind.MANIFEST.value, False, version.size)
        for version in planned.versions
    ]
    return files


def _stats(
    counts: Mapping[FileKind, int], size: int, versions: int, failures: int = 0
) -> CleanupStats:
    return CleanupStats(
        bytes_removed=size,
        old_versions=versions,
        data_files_removed=counts.get(FileKind.DATA, 0),
        transaction_files_removed=counts.get(FileKind.TRANSACTION, 0),
        index_files_removed=counts.get(FileKind.INDEX, 0),
        deletion_files_removed=counts.get(FileKind.DELETION, 0),
        failed_deletes=failures,
    )


def _scope(snapshot: Snapshot, threads: ThreadPool, count: int) -> CleanupScope:
    branch = branch_of(snapshot)
    tree = None if branch is None else table_of(snapshot.root).store
    return CleanupScope(branch, tree, partial(threads.in_order, ahead=2 * count))


def _whole(name: str, value: object) -> int | None:
    if value is None:
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # what it is for is to find out
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}") from None


def _version(value: object) -> int:
    number = _whole("versions", value)
    if number is None:
        raise TypeError("versions must be a list of numbers, got None in it")
    if number < 0:
        raise InvalidInputError(f"versions are positive numbers, got {number}")
    return number
