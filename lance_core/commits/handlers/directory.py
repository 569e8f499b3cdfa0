"""A handler whose versions are the manifests in the table's own folder."""

from __future__ import annotations

from collections.abc import Sequence

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.latest import list_manifests, locate_manifest, newest_manifest
from lance_core.commits.newest import PROBING, NewestVersion, Probing
from lance_core.errors import NoSafeCommitHandlerError
from lance_core.store.base import ObjectStore


class DirectoryCommitHandler(CommitHandler):
    """Finds versions by their names in the folder of manifests; subclasses implement `commit`.

    Requires a store whose listings show every write that returned before the listing began.
    """

    has_folder = True

    def __init__(
        self,
        store: ObjectStore,
        environment: Environment = SYSTEM,
        probing: Probing = PROBING,
    ) -> None:
        self.store = store
        self._newest = NewestVersion(store, environment, probing)

    def latest(self) -> ManifestLocation | None:
        return self._newest.find(lambda: newest_manifest(self.store))

    def locate(self, version: int) -> ManifestLocation:
        return locate_manifest(self.store, version)

    def list_versions(self) -> Sequence[ManifestLocation]:
        return list_manifests(self.store)


def finds_by_name(handler: CommitHandler) -> bool:
    """True if the manifest of a version is where its name says, without asking ``handler``.

    A subclass of another author may keep versions elsewhere until it is asked for one.
    """
    return getattr(type(handler), "locate", None) is DirectoryCommitHandler.locate


class ReadOnlyCommitHandler(DirectoryCommitHandler):
    """Finds versions and publishes none."""

    keeps_contract = True

    def check_can_commit(self) -> None:
        raise NoSafeCommitHandlerError("nothing is committed: this handler is read-only")

    def commit(self, candidate: Candidate) -> ManifestLocation:
        raise NoSafeCommitHandlerError(f"version {candidate.version}: this handler is read-only")
