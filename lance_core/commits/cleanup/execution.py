"""Removing what no version that stays needs.

Manifests go first, then files that only they named: at every moment each version that is listed has
all its files, and a crash leaves a table that opens. Between the two, everything that appeared
since the plan was made is looked at: whoever made something of an old version has either found it
gone, or is found here. See the page on commits, section Cleanup.
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
"""Manifests that are held in memory, to put them back should they turn out to be needed."""

PUTTING_BACK = 5
"""How often it is tried to put one back."""

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
"""Seconds; the longest pause before the second try, and before any."""


@dataclass(frozen=True, slots=True)
class CleanupReport:
    """What a cleanup has done.

    ``versions``: those removed. ``files_removed``: number of files by kind, manifests included.
    ``kept``: versions that stay although the policy alone would have removed them.
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
    """Remove old versions, and files that no version needs; errors as of `plan` and `execute`."""
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
    """Do what ``plan`` says, less what turns out to be needed by now.

    Raises `StoreError` if the table cannot be written to, and what `plan` raises for what has
    appeared meanwhile and cannot be read; then files stay, and the next cleanup goes on.
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
        """What is needed by now of what was to go."""
        self._removed: list[VersionToRemove] = []
        self._gone: set[str] = set()
        """Paths of manifests that were removed, whether or not they were put back."""
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
        """Remove manifests, less those that were given a name; put back those that get one."""
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
        except Exception:  # which of them have a name by now cannot be told
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
        """Versions got their names between the look at the names and the removal: undo that.

        Raises the last `StoreError` if that fails, after all of them were tried.
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
                    self._environment.sleep(
                        backoff(attempt + 1, FIRST_PAUSE, LONGEST_PAUSE, random)
                    )
        if failure is not None:
            raise failure

    def _write(self, path: str, content: bytes) -> None:
        conditional = self._store.capabilities.put_if_absent is Guarantee.YES
        mode = PutMode.create if conditional else PutMode.overwrite
        with contextlib.suppress(ObjectExistsError):  # another writer's, or ours of an earlier try
            self._store.put(path, content, mode)

    def _look_at_newcomers(self) -> None:
        """Take in what versions and branches need that are not in the plan.

        A late writer may have made a version anew that was removed.
        """
        seen = self._plan.seen - self._gone
        own = [found.path for found in self._handler.list_versions() if found.path not in seen]
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
        """Whether the file at ``path`` is certainly gone."""
        try:
            self._store.delete(path)
        except StoreError:
            return False
        return True

    def _count(self, kind: FileKind, size: int) -> None:
        self._counts[kind] += 1
        self._bytes += size

    def _rate_limited(self, paths: Iterable[str]) -> Iterator[str]:
        """``paths``, no faster than the policy allows."""
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
