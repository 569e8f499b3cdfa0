"""Find the newest version without a listing, by the names that may have followed a known one.

A table keeps as many manifests as it has versions, and a listing reads all their names. A writer
that found version N to be the newest a few milliseconds ago needs none: no table gets more than
`Probing.commits_per_second`, so all versions since then are among the next few numbers, whether or
not a cleanup has removed some of them in the meantime. The newest is the highest of them that
exists. They are looked at in ascending order: whatever number is the newest when it is looked at is
found, also while others commit.

This is used where a look at a name costs no request. Elsewhere a listing costs one, however many
versions there are.
"""

from __future__ import annotations

from collections.abc import Callable

from lance_core.commits.base import ManifestLocation
from lance_core.commits.environment import Environment
from lance_core.errors import ObjectNotFoundError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.store.base import ObjectStore
from lance_core.table.paths import DETACHED, manifest_path


@dataclass(frozen=True, slots=True)
class Probing:
    """When names are looked at, and how many.

    ``commits_per_second``: more than a table can get. A commit creates and names a file; writers
    take half a millisecond or more for it. ``slack``: names that are looked at besides those. A
    listing reads ``names_per_probe`` names in the time of one look; it is preferred where fewer
    versions than that have been made for each name to look at.
    """

    commits_per_second: float = 10_000.0
    slack: int = 8
    names_per_probe: int = 8


PROBING = Probing()


class NewestVersion:
    """Finds the newest version of one table, and remembers it. Thread-safe."""

    def __init__(
        self, store: ObjectStore, environment: Environment, probing: Probing = PROBING
    ) -> None:
        self._store = store
        self._environment = environment
        self._probing = probing
        self._known: tuple[ManifestLocation, Callable[[], float]] | None = None
        """The newest version, and the seconds since the search that found it began."""

    def find(self, listed: Callable[[], ManifestLocation | None]) -> ManifestLocation | None:
        """The newest version, None if there is no table; ``listed`` finds it by a listing.

        Sees every commit that returned before the call.
        """
        if not self._store.has_views:
            return listed()
        elapsed = self._environment.stopwatch()
        newest = self._by_names()
        if newest is None:
            newest = listed()
        self._known = None if newest is None else (newest, elapsed)
        return newest

    def _by_names(self) -> ManifestLocation | None:
        """The newest version, None if only a listing can find it."""
        if self._known is None:
            return None
        known, elapsed = self._known
        probing = self._probing
        reach = probing.slack + int(elapsed() * probing.commits_per_second)
        last = known.version + reach
        if reach * probing.names_per_probe > known.version or last >= DETACHED:
            return None
        versions = range(known.version, last + 1)
        paths = [manifest_path(version, known.naming) for version in versions]
        existing = self._store.existing(paths)
        if not existing or existing[0] != known.path:
            return None  # cleaned up or renamed
        try:
            current = self._at(known.path, known)
            if current.contradicts(known):
                return None  # the version of another table
            if existing[-1] == known.path:
                return current
            newest = versions[paths.index(existing[-1])]
            return self._at(existing[-1], replace(known, version=newest))
        except ObjectNotFoundError:
            return None  # just cleaned up

    def _at(self, path: str, location: ManifestLocation) -> ManifestLocation:
        meta = self._store.head(path)
        return replace(location, path=path, size=meta.size, etag=meta.etag)
