"""Make the plan of a cleanup: read everything that names files, and compare it with the listing.

A file is removed only if it is certainly not needed: anything that cannot be read or is not
understood makes the whole plan fail. Planning removes nothing of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from lance_core.commits.base import CommitHandler, ManifestLocation
from lance_core.commits.cleanup.files import FileKind, own_files, staged_version
from lance_core.commits.cleanup.plan import (
    CleanupPlan,
    FileToRemove,
    KeptReason,
    KeptVersion,
    VersionToRemove,
)
from lance_core.commits.cleanup.policy import UNVERIFIED_AGE, CleanupPolicy
from lance_core.commits.cleanup.reachability import Reachable
from lance_core.commits.cleanup.scope import (
    MAIN_SCOPE,
    CleanupScope,
    NamedVersions,
    named_versions,
    other_manifests,
)
from lance_core.commits.environment import Environment
from lance_core.commits.history import Version, read_version
from lance_core.commits.options import deadline_of
from lance_core.commits.store_time import StoreTime, store_time
from lance_core.errors import (
    CleanupError,
    CorruptFileError,
    DatasetNotFoundError,
    ObjectNotFoundError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectMeta, ObjectStore
from lance_core.store.functions import exists
from lance_core.table.manifest.file import ManifestFile, parse_manifest_file
from lance_core.table.paths import VERSIONS, parse_manifest_name

MAX_GRACE = 10.0 * 365 * 86400
"""Seconds; upper bound of the grace period, so that no config value overflows a timedelta."""


def plan(
    store: ObjectStore,
    handler: CommitHandler,
    policy: CleanupPolicy,
    environment: Environment,
    scope: CleanupScope = MAIN_SCOPE,
) -> CleanupPlan:
    """Determine what a cleanup would remove now.

    Writes and removes one small object to read the store's clock. Raises `CleanupError` for tagged
    versions, `UnsupportedFeatureError` for content that this library does not understand and for
    stores without dates, and `CorruptFileError` for tags, branches and manifests that cannot be
    read.
    """
    survey = _survey(store, handler, policy, environment, scope)
    return _Planning(store, policy, scope, survey).run()


@dataclass(frozen=True, slots=True)
class _Survey:
    """The inputs of a plan.

    ``listing``: the objects in the folder of manifests, by path. ``grace``: twice the deadline of a
    commit.
    """

    time: StoreTime
    listing: Mapping[str, ObjectMeta]
    locations: tuple[ManifestLocation, ...]
    head: ManifestFile
    grace: timedelta
    named: NamedVersions


def _survey(
    store: ObjectStore,
    handler: CommitHandler,
    policy: CleanupPolicy,
    environment: Environment,
    scope: CleanupScope,
) -> _Survey:
    time = store_time(store, environment)
    if not time.is_dated and not policy.delete_unverified:
        raise UnsupportedFeatureError(
            "the store does not date its objects, so files of unfinished commits cannot be told "
            "from old files; if no other process writes to the table, delete_unverified=True "
            "removes unneeded files of any age"
        )
    listing = {meta.path: meta for meta in store.list(VERSIONS)}
    _check_naming(listing)
    locations = tuple(handler.list_versions())
    _check_completeness(store, listing, locations)
    if not locations:
        raise DatasetNotFoundError("the table to clean up does not exist")
    head = read_version(store, locations[-1]).file
    grace = _grace(head)
    named = named_versions(store, scope, time, grace)
    return _Survey(time, listing, locations, head, grace, named)


class _Planning:
    """Sorts versions, then files, into those to remove and those to keep."""

    def __init__(
        self, store: ObjectStore, policy: CleanupPolicy, scope: CleanupScope, survey: _Survey
    ) -> None:
        self._store = store
        self._policy = policy
        self._scope = scope
        self._survey = survey
        self._grace = survey.grace
        """The longest grace period of any version."""
        self._needed = Reachable()
        self._verified = Reachable()
        """Files named by versions to remove; other versions may need some of them."""
        self._to_remove: list[VersionToRemove] = []
        self._kept: list[KeptVersion] = []
        self._staged: dict[int, list[ObjectMeta]] = {}
        for path, meta in survey.listing.items():
            version = staged_version(path)
            if version is not None:
                self._staged.setdefault(version, []).append(meta)

    def run(self) -> CleanupPlan:
        survey = self._survey
        self._needed.add(survey.head)
        self._sort_versions()
        self._check_tags()
        seen = {location.path for location in survey.locations} | self._read_beside()
        return CleanupPlan(
            read_version=survey.locations[-1].version,
            policy=self._policy,
            time=survey.time,
            grace=self._grace,
            versions=tuple(self._to_remove),
            files=tuple(self._files()),
            kept=tuple(self._kept),
            named=survey.named,
            seen=frozenset(seen),
        )

    def _sort_versions(self) -> None:
        """Read all versions except the newest, and decide which to remove."""
        survey = self._survey
        numbers = self._policy.numbers([location.version for location in survey.locations])
        older = survey.locations[:-1]
        versions = self._scope.each(self._read, older)
        own = survey.grace
        for version, successor in zip(versions, survey.locations[1:], strict=True):
            if version is None:
                continue  # another cleanup removed it in the meantime
            before, own = own, _grace(version.file)
            number = version.location.version
            made = version.file.manifest.timestamp
            goes = number in numbers and self._policy.is_old(made, survey.time.now)
            # Writers that build on a version use the deadline in its config, not in a later one.
            grace = max(survey.grace, before, own)
            reason = self._reason(version.location, successor, grace) if goes else None
            if reason is not None:
                self._kept.append(KeptVersion(number, reason))
            if goes and reason is None:
                self._verified.add(version.file)
                self._to_remove.append(self._version_to_remove(version.location))
            else:
                self._needed.add(version.file)

    def _reason(
        self, location: ManifestLocation, successor: ManifestLocation, grace: timedelta
    ) -> KeptReason | None:
        """The reason to keep a version that the policy selects; None if it is removed."""
        named = self._survey.named
        if location.version in named.tags.values():
            return KeptReason.TAGGED
        if location.version in named.branches.values():
            return KeptReason.BRANCH
        if location.version in named.pinned:
            return KeptReason.PINNED
        if self._policy.delete_unverified:
            return None
        # A late write is younger than its successor: the version counts from its own date.
        ages = [self._age(location.path), self._age(successor.path)]
        if all(age is not None and age >= grace for age in ages):
            return None
        self._grace = max(self._grace, grace)
        return KeptReason.RECENT

    def _age(self, path: str) -> timedelta | None:
        meta = self._survey.listing.get(path)
        return None if meta is None else self._survey.time.age(meta)

    def _version_to_remove(self, location: ManifestLocation) -> VersionToRemove:
        meta = self._survey.listing.get(location.path)
        size = location.size if meta is None else meta.size
        staged = self._staged.get(location.version, ())
        return VersionToRemove(location, size or 0, tuple(meta.path for meta in staged))

    def _read(self, location: ManifestLocation) -> Version | None:
        try:
            return read_version(self._store, location)
        except DatasetNotFoundError:
            return None

    def _check_tags(self) -> None:
        tagged = {kept.version for kept in self._kept if kept.reason is KeptReason.TAGGED}
        if tagged and self._policy.error_if_tagged:
            named = self._survey.named.tags.items()
            tags = {name: version for name, version in named if version in tagged}
            raise CleanupError(
                f"{len(tagged)} tagged version(s) have been marked for cleanup. Either set "
                "`error_if_tagged_old_versions=False` or delete the following tag(s) to enable "
                f"cleanup: {tags}"
            )

    def _read_beside(self) -> set[str]:
        """Mark what detached versions and branches need; return the paths of their manifests."""
        detached = [path for path in self._survey.listing if is_detached(path)]
        others = other_manifests(self._store, self._scope)
        tree = self._scope.tree or self._store
        for file in self._scope.each(lambda path: read_beside(self._store, path), detached):
            if file is not None:
                self._needed.add(file)
        for file in self._scope.each(lambda path: read_beside(tree, path), others):
            if file is not None:
                self._needed.add(file, own=False)
        return {*detached, *others}

    def _files(self) -> Iterator[FileToRemove]:
        """Yield files that no version needs, unless a commit in progress may need them."""
        named = self._survey.named
        for path in named.lapsed:
            yield FileToRemove(path, FileKind.TEMPORARY, 0, verified=False)
        for file in own_files(self._store, self._survey.listing.values(), named.within):
            if file.path in self._needed:
                continue
            verified = file.path in self._verified
            if verified or self._policy.delete_unverified or self._is_long_ago(file.meta):
                yield FileToRemove(file.path, file.kind, file.meta.size, verified)
        yield from self._superfluous()

    def _superfluous(self) -> Iterator[FileToRemove]:
        """Yield manifests that were staged long ago and whose version exists in another file.

        A staged manifest of a version that does not exist yet may be the only copy of a commit. The
        staged manifests of versions to remove are removed with them.
        """
        going = {version.location.version for version in self._to_remove}
        head = self._survey.locations[-1].version
        for version, staged in self._staged.items():
            for meta in staged if version <= head and version not in going else ():
                if self._is_long_ago(meta):
                    yield FileToRemove(meta.path, FileKind.TEMPORARY, meta.size, verified=False)

    def _is_long_ago(self, meta: ObjectMeta) -> bool:
        age = self._survey.time.age(meta)
        return age is not None and age >= UNVERIFIED_AGE


def _grace(file: ManifestFile) -> timedelta:
    """The time for which writers may use a version: twice the deadline for building on it."""
    return timedelta(seconds=min(2 * deadline_of(file.manifest.config), MAX_GRACE))


def is_detached(path: str) -> bool:
    """True if ``path`` is the path of a detached version's manifest."""
    name = parse_manifest_name(path.removeprefix(f"{VERSIONS}/"))
    return name is not None and name.scheme is None


def read_beside(store: ObjectStore, path: str) -> ManifestFile | None:
    """Read a manifest outside the history; None if it does not exist any more.

    Also None for a staged manifest that cannot be read: it cannot become a version.
    """
    try:
        return parse_manifest_file(store.get(path), path)
    except ObjectNotFoundError:
        return None
    except CorruptFileError:
        if parse_manifest_name(path.rpartition("/")[2]) is None:
            return None
        raise


def _check_completeness(
    store: ObjectStore, listing: Mapping[str, ObjectMeta], locations: Iterable[ManifestLocation]
) -> None:
    """Raise `StoreError` if the handler has left out a version whose manifest is in ``listing``.

    The files of such a version would count as unneeded. A manifest that does not exist any more was
    removed by another cleanup after it was listed.
    """
    known = {location.path for location in locations}
    for path in listing.keys() - known:
        name = parse_manifest_name(path.removeprefix(f"{VERSIONS}/"))
        if name is not None and name.scheme is not None and exists(store, path):
            raise StoreError(
                f"nothing was removed: the commit handler does not list version {name.version}, "
                f"whose manifest is {path!r}"
            )


def _check_naming(listing: Mapping[str, ObjectMeta]) -> None:
    """Raise `CorruptFileError` if manifests use two naming schemes: readers would miss some."""
    names = [parse_manifest_name(path.removeprefix(f"{VERSIONS}/")) for path in listing]
    schemes = {name.scheme for name in names if name is not None and name.scheme is not None}
    if len(schemes) > 1:
        raise CorruptFileError("manifests are named by two schemes", path=VERSIONS)
