"""Execute a cleanup: remove old versions, and files that no remaining version needs.

Manifests are removed first, then the files that only they name. So every listed version has all its
files at any moment, and the table can be opened after a crash. Between the two steps, everything
added since planning is read: a writer that built on an old version has either found it removed, or
its result is found here. See docs/format/commits.md, section "Cleanup".
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from lance_core.commits.base import CommitHandler
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.plan import CleanupPlan, KeptReason, KeptVersion, VersionToRemove
from lance_core.commits.cleanup.planning import is_detached, plan, read_beside
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.cleanup.reachability import Reachable
from lance_core.commits.cleanup.scope import (
    MAIN_SCOPE,
    CleanupScope,
    named_versions,
    other_manifests,
)
from lance_core.commits.environment import Environment
from lance_core.concurrency.backoff import backoff
from lance_core.errors import ObjectExistsError, ObjectNotFoundError, StoreError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import Guarantee, ObjectStore, PutMode
from lance_core.table.manifest.file import parse_manifest_file
from lance_core.table.paths import VERSIONS

BATCH = 64
"""Maximum number of manifests held in memory, to restore them if they turn out to be needed."""

PUTTING_BACK = 5
"""Attempts to restore one manifest."""

FIRST_PAUSE, MAX_PAUSE = 0.2, 5.0
"""Seconds; upper bounds of the pause before the second attempt, and before any attempt."""


@dataclass(frozen=True, slots=True)
class CleanupReport:
    """The result of a cleanup.

    ``versions``: the removed versions. ``files_removed``: number of removed files by kind,
    including manifests. ``kept``: versions that the policy selects but that are still protected.
    ``failed_deletes``: files that could not be removed; the next cleanup tries again.
    """

    read_version: int
    versions: tuple[int, ...]
    bytes_removed: int
    files_removed: dict[FileKind, int]
    failed_deletes: int
    kept: tuple[KeptVersion, ...]
    warnings: tuple[str, ...]


def clean(
    store: ObjectStore,
    handler: CommitHandler,
    policy: CleanupPolicy,
    environment: Environment,
    scope: CleanupScope = MAIN_SCOPE,
) -> CleanupReport:
    """Remove old versions and unneeded files; raises what `plan` and `execute` raise."""
    return execute(
        store, handler, plan(store, handler, policy, environment, scope), environment, scope
    )


def execute(
    store: ObjectStore,
    handler: CommitHandler,
    plan: CleanupPlan,
    environment: Environment,
    scope: CleanupScope = MAIN_SCOPE,
) -> CleanupReport:
    """Execute ``plan``, but keep the files that versions missing from the plan need.

    Raises `StoreError` if the table cannot be written to, and the errors of `plan` for new versions
    that cannot be read. Some files then remain, and the next cleanup removes them.
    """
    if plan.time.problem and plan.time.is_dated:
        raise StoreError(plan.time.problem)
    return _Execution(store, handler, plan, environment, scope).run()


class _Execution:
    """The state of executing one plan."""

    def __init__(
        self,
        store: ObjectStore,
        handler: CommitHandler,
        plan: CleanupPlan,
        environment: Environment,
        scope: CleanupScope,
    ) -> None:
        self._store = store
        self._handler = handler
        self._plan = plan
        self._environment = environment
        self._scope = scope
        self._needed = Reachable()
        """Files needed by versions that are not in the plan."""
        self._removed: list[VersionToRemove] = []
        self._gone: set[str] = set()
        """Paths of all removed manifests, including those that were restored."""
        self._kept = list(plan.kept)
        self._counts: Counter[FileKind] = Counter()
        self._bytes = 0
        self._failures = 0

    def run(self) -> CleanupReport:
        versions = iter(self._plan.versions)
        while batch := list(itertools.islice(versions, BATCH)):
            self._remove_versions(batch)
        if self._plan.files:
            self._look_at_newcomers()
            self._remove_files()
        return CleanupReport(
            self._plan.read_version,
            tuple(gone.location.version for gone in self._removed),
            self._bytes,
            dict(self._counts),
            self._failures,
            tuple(self._kept),
            self._plan.warnings,
        )

    def _remove_versions(self, batch: list[VersionToRemove]) -> None:
        """Remove manifests, except those of tagged versions; restore those that got a tag."""
        named = self._named()
        contents = dict(zip(batch, self._scope.each(self._content, batch), strict=True))
        going = [version for version in batch if version.location.version not in named]
        staged = [path for version in going for path in version.staged]
        if not all(self._scope.each(self._delete, self._rate_limited(staged))):
            raise StoreError("staged manifests of old versions could not be removed")
        paths = self._rate_limited(version.location.path for version in going)
        ends = zip(going, self._scope.each(self._delete, paths), strict=True)
        gone = {version for version, is_gone in ends if is_gone}
        self._gone.update(version.location.path for version in gone)
        self._failures += len(going) - len(gone)
        try:
            named = self._named()
        except Exception:  # it is unknown which of them are named by now
            self._put_back({d.location.path: contents[d] for d in batch if d in gone})
            raise
        back = [d for d in batch if d in gone and d.location.version in named]
        self._put_back({version.location.path: contents[version] for version in back})
        for version in batch:
            content = contents[version]
            number = version.location.version
            if version in gone and number not in named:
                self._removed.append(version)
                self._count(FileKind.MANIFEST, version.size)
            elif content is not None:
                self._needed.add(parse_manifest_file(content, version.location.path))
                if number in named:
                    self._kept.append(KeptVersion(number, KeptReason.PINNED))

    def _named(self) -> frozenset[int]:
        plan = self._plan
        return named_versions(self._store, self._scope, plan.time, plan.grace).versions

    def _content(self, version: VersionToRemove) -> bytes | None:
        try:
            return bytes(self._store.get(version.location.path))
        except ObjectNotFoundError:
            return None

    def _put_back(self, contents: Mapping[str, bytes | None]) -> None:
        """Restore manifests of versions that were named between reading the names and the removal.

        Tries all of them, then raises the last `StoreError` if one failed.
        """
        failure: StoreError | None = None
        for path, content in contents.items():
            for attempt in range(PUTTING_BACK):
                try:
                    if content is not None:
                        self._write(path, content)
                    break
                except StoreError as error:
                    failure = error if attempt == PUTTING_BACK - 1 else failure
                    random = self._environment.random
                    self._environment.sleep(backoff(attempt + 1, FIRST_PAUSE, MAX_PAUSE, random))
        if failure is not None:
            raise failure

    def _write(self, path: str, content: bytes) -> None:
        conditional = self._store.capabilities.put_if_absent is Guarantee.YES
        mode = PutMode.create if conditional else PutMode.overwrite
        with contextlib.suppress(ObjectExistsError):  # by another writer or an earlier attempt
            self._store.put(path, content, mode)

    def _look_at_newcomers(self) -> None:
        """Mark files as needed that are named by versions and branches missing from the plan.

        A slow writer may have published a removed version number again.
        """
        seen = self._plan.seen - self._gone
        own = [
            location.path for location in self._handler.list_versions() if location.path not in seen
        ]
        listed = self._store.list_names(VERSIONS)
        beside = [path for path in (f"{VERSIONS}/{name}" for name in listed) if is_detached(path)]
        own += [path for path in beside if path not in seen]
        others = [path for path in other_manifests(self._store, self._scope) if path not in seen]
        tree = self._scope.tree or self._store
        for path in own:
            if (file := read_beside(self._store, path)) is not None:
                self._needed.add(file)
        for path in others:
            if (file := read_beside(tree, path)) is not None:
                self._needed.add(file, own=False)

    def _remove_files(self) -> None:
        going = [file for file in self._plan.files if file.path not in self._needed]
        paths = self._rate_limited(file.path for file in going)
        for file, is_gone in zip(going, self._scope.each(self._delete, paths), strict=True):
            if is_gone:
                self._count(file.kind, file.size)
            else:
                self._failures += 1

    def _delete(self, path: str) -> bool:
        """Delete the file at ``path``; return True if it is certainly removed."""
        try:
            self._store.delete(path)
        except StoreError:
            return False
        return True

    def _count(self, kind: FileKind, size: int) -> None:
        self._counts[kind] += 1
        self._bytes += size

    def _rate_limited(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield ``paths`` no faster than the rate limit of the policy."""
        rate = self._plan.policy.delete_rate_limit
        if rate is None:
            yield from paths
            return
        start = self._environment.monotonic()
        for number, path in enumerate(paths):
            ahead = number / rate - (self._environment.monotonic() - start)
            if ahead > 0:
                self._environment.sleep(ahead)
            yield path
