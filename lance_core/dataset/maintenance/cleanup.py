"""``cleanup_old_versions``: remove old versions and abandoned files, with pylance's arguments.

`lance_core.commits.cleanup.planning` decides which versions and files to remove.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from functools import partial
from typing import Any

from lance_core.commits.cleanup.execution import CleanupReport, clean
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.plan import CleanupPlan
from lance_core.commits.cleanup.planning import plan
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.cleanup.scope import CleanupScope
from lance_core.commits.environment import SYSTEM
from lance_core.concurrency.pools import ThreadPool
from lance_core.dataset.snapshot.open_table import branch_of, table_of
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.errors import DatasetNotFoundError, InvalidInputError, warn_caller
from lance_core.lazy_dataclass import dataclass

CONCURRENCY = 16
"""Default number of concurrent store calls."""

MAX_THREADS = 256
"""Upper limit of concurrent store calls; a larger ``delete_concurrency`` is reduced to it."""


@dataclass(frozen=True, slots=True)
class CleanupStats:
    """Totals of what a cleanup has removed, or would remove; the same fields as in pylance.

    ``bytes_removed`` includes manifests. ``failed_deletes``: files whose removal failed; the next
    cleanup tries again.
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

    ``path`` is relative to the table's root. ``kind``: data, deletion, transaction, index, manifest
    or temporary_manifest. ``unverified``: no version references the file.
    """

    path: str
    kind: str
    unverified: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CleanupReferencedBranch:
    """A branch, and the version that stays because the branch starts from it.

    ``cleanup_candidate``: always False; a cleanup does not clean up branches as well.
    """

    name: str
    referenced_version: int
    cleanup_candidate: bool = False


@dataclass(frozen=True, slots=True)
class CleanupKeptVersion:
    """A version that matches the arguments of the cleanup but stays, and the reason."""

    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class CleanupExplanation:
    """The files and versions that a cleanup would remove.

    ``read_version``: the newest version that the plan considers.
    """

    read_version: int
    stats: CleanupStats
    candidate_files: list[CleanupCandidateFile] = field(default_factory=list)
    candidate_files_truncated: bool = False
    candidate_file_limit: int = 1000
    referenced_branches: list[CleanupReferencedBranch] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kept_versions: list[CleanupKeptVersion] = field(default_factory=list)


def policy_of(snapshot: Snapshot, arguments: Mapping[str, Any]) -> CleanupPolicy:
    """The cleanup policy for pylance's keyword arguments; ``snapshot`` and newer versions stay.

    Raises ``TypeError`` for an argument of the wrong type, `InvalidInputError` for a wrong value.
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
    """Clean up the table or branch that ``snapshot`` belongs to.

    ``concurrency``: store calls at a time. Raises `InvalidInputError` if it is below 1, and the
    errors of `clean`.
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
    """Remove empty folders if another process removed the table during the cleanup."""
    try:
        yield
    except DatasetNotFoundError:
        root.store.remove_empty_folders()
        raise


def cleanup(snapshot: Snapshot, arguments: Mapping[str, Any]) -> CleanupStats:
    """Implement ``cleanup_old_versions``; warn of versions that writers still need."""
    report = run(snapshot, policy_of(snapshot, arguments), arguments.get("delete_concurrency"))
    for text in report.warnings:
        warn_caller(text)
    counts = report.files_removed
    return _stats(counts, report.bytes_removed, len(report.versions), report.failed_deletes)


def explain(
    snapshot: Snapshot, arguments: Mapping[str, Any], include_files: bool, max_files: int
) -> CleanupExplanation:
    """Implement ``explain_cleanup_old_versions``: plan what `cleanup` would remove now.

    ``max_files`` limits the listed files. Raises `InvalidInputError` if it is not positive.
    """
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
        return operator.index(value)  # type: ignore[arg-type]  # raises TypeError for other types
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}") from None


def _version(value: object) -> int:
    number = _whole("versions", value)
    if number is None:
        raise TypeError("versions must be a list of numbers, got None in it")
    if number < 0:
        raise InvalidInputError(f"versions are positive numbers, got {number}")
    return number
