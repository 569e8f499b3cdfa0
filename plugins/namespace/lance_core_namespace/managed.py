"""Commits of tables whose versions a namespace manages.

A commit takes two steps; the second one decides:

1. Write the manifest to a staging path that no other writer uses.
2. Ask the namespace to make it the version (``create_table_version``). Of all calls for a version
   it accepts one, and then copies the manifest to its name.

A namespace that leaves the manifest at its staging path is as good: whoever finds such a version
copies it. What the namespace answers is checked, so it cannot name a file outside of the table.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

import lance_namespace as names
from lance_namespace import errors

from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    ExistsError,
    NotFoundError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.commits import (
    Candidate,
    CommitHandler,
    ManifestLocation,
    ReadOnlyCommitHandler,
    parse_manifest_name,
)
from lance_core.hookspecs.stores import Guarantee, ObjectStore, PutMode, exists
from lance_core_namespace.versions import FOLDER

_DETACHED = 1 << 63
_STAGED = re.compile(r"(?P<final>[0-9]{1,20}\.manifest)-[0-9A-Za-z-]{1,200}", re.ASCII)
_PAGE = 1000
_MAX_PAGES = 100_000

_REFUSED = (
    errors.InvalidInputError,
    errors.PermissionDeniedError,
    errors.TableNotFoundError,
    errors.ThrottlingError,
    errors.UnauthenticatedError,
    errors.UnsupportedOperationError,
)
"""Errors after which a version was certainly not made."""

_LOST = (errors.ConcurrentModificationError, errors.TableAlreadyExistsError)
"""Errors that say that the version exists."""

_ABSENT = (errors.TableNotFoundError, errors.TableBranchNotFoundError)


class NamespaceCommitHandler(CommitHandler):
    """Serves the table or branch at the root of ``store``.

    ``path``: its path in the object store, as the namespace names it. Detached versions are not of
    the namespace: their numbers are random, so no two writers compete for one.
    """

    def __init__(
        self,
        store: ObjectStore,
        client: Any,
        table_id: Sequence[str],
        path: str,
        branch: str | None,
    ) -> None:
        self.store = store
        self._client, self._id, self._branch = client, list(table_id), branch
        self._path = path.strip("/")
        self._folder = ReadOnlyCommitHandler(store)

    def latest(self) -> ManifestLocation | None:
        """The newest version of the namespace; it is copied to its name if it is not there."""
        versions = self._listed(limit=1)
        return None if not versions else self._location(versions[0])

    def locate(self, version: int) -> ManifestLocation:
        if version & _DETACHED:
            return self._folder.locate(version)
        request = Fields(id=self._id, version=version, branch=self._branch)
        try:
            with _answers("describe_table_version"):
                response = self._client.describe_table_version(request)
        except (errors.TableVersionNotFoundError, *_ABSENT) as error:
            raise DatasetNotFoundError(f"the namespace has no version {version}") from error
        made = _version_of(response)
        if made.version != version:
            raise CorruptFileError(
                f"the namespace answers with version {made.version} for version {version}"
            )
        return self._location(made)

    def list_versions(self) -> Sequence[ManifestLocation]:
        """The versions of the namespace that cleanups left, oldest first."""
        present = {location.version for location in self._folder.list_versions()}
        locations: dict[int, ManifestLocation] = {}
        for version in self._pages():
            if version.version in present or not locations:  # the newest one may need a copy
                locations[version.version] = self._location(version)
        return [locations[number] for number in sorted(locations)]

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if candidate.version & _DETACHED:
            self.store.put(candidate.path, candidate.data)
            return candidate.location
        staged = _staging_path(candidate)
        try:
            self.store.put(staged, candidate.data)
        except (StoreError, ExistsError) as error:
            raise StoreError(f"the manifest could not be staged: {error}") from error
        response = self._created(candidate, staged)
        made = getattr(response, "version", None)
        if made is not None and self._location(made).path != candidate.path:
            raise OutcomeUnknownError("the namespace answers with a manifest of another version")
        if made is None:
            self._finish(staged, candidate.path)
        return candidate.location

    def discard(self, candidate: Candidate) -> None:
        self.store.delete(_staging_path(candidate))

    def _created(self, candidate: Candidate, staged: str) -> Any:
        request = Fields(
            id=self._id,
            version=candidate.version,
            branch=self._branch,
            manifest_path=f"{self._path}/{staged}",
            manifest_size=len(candidate.data),
            naming_scheme=candidate.naming.value,
        )
        try:
            with _answers("create_table_version"):
                return _model(self._client.create_table_version(request))
        except _LOST as error:
            raise ObjectExistsError(candidate.path) from error
        except _REFUSED as error:
            raise StoreError(f"the namespace refuses the version: {error}") from error
        except errors.LanceNamespaceError as error:
            raise OutcomeUnknownError(
                f"the namespace may have made the version: {error}"
            ) from error

    def _listed(self, limit: int, token: str | None = None) -> list[Any]:
        return list(self._page(limit, token).versions)

    def _page(self, limit: int, token: str | None) -> Any:
        request = Fields(
            id=self._id, branch=self._branch, limit=limit, descending=True, page_token=token
        )
        try:
            with _answers("list_table_versions"):
                return _model(self._client.list_table_versions(request))
        except _ABSENT:
            return names.ListTableVersionsResponse(versions=[])

    def _pages(self) -> Iterator[Any]:
        """All versions, newest first."""
        token: str | None = None
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            page = self._page(_PAGE, token)
            yield from page.versions
            token = page.page_token or None
            if token is None:
                return
            if token in seen:
                raise CorruptFileError("the namespace repeats a page of its list of versions")
            seen.add(token)
        raise CorruptFileError(f"the namespace lists more than {_MAX_PAGES * _PAGE} versions")

    def _location(self, version: Any) -> ManifestLocation:
        """Where the manifest of a version is; it is copied to its name first if necessary.

        Raises `CorruptFileError` for a path that is not the one of this version of this table.
        """
        folder, _, name = unquote(version.manifest_path).rpartition("/")
        folder = folder.strip("/")
        staged = _STAGED.fullmatch(name)
        final = staged["final"] if staged else name
        parsed = parse_manifest_name(final)
        own = f"{self._path}/{FOLDER}".strip("/")
        if folder != own and not folder.endswith(f"/{own}"):
            reason = "is not in the folder of the table's versions"
        elif parsed is None or parsed.scheme is None:
            reason = "is not the name of a manifest"
        elif parsed.version != version.version:
            reason = f"belongs to version {parsed.version}"
        else:
            path, size = f"{FOLDER}/{final}", version.manifest_size
            if staged:
                self._finish(f"{FOLDER}/{name}", path)
            return ManifestLocation(version.version, path, parsed.scheme, size)
        raise CorruptFileError(
            f"the namespace names a manifest of version {version.version} that {reason}: "
            f"{version.manifest_path[:200]!r}"
        )

    def _finish(self, staged: str, final: str) -> None:
        """Copy a manifest of the namespace to its name, unless it is there."""
        if exists(self.store, final):
            return
        careful = self.store.capabilities.copy_if_absent is Guarantee.YES
        mode = PutMode.create if careful else PutMode.overwrite
        try:
            self.store.copy(staged, final, mode)
        except ExistsError:
            pass  # another process copied it
        except ObjectNotFoundError as error:
            if not exists(self.store, final):
                raise OutcomeUnknownError(f"the manifest {final} is not there yet") from error
        with contextlib.suppress(Exception):
            self.store.delete(staged)


class Fields(dict[str, Any]):
    """A request as a dictionary, which pylance's clients take, and with attributes for others.

    Fields that are None are left out of the dictionary.
    """

    def __init__(self, **fields: Any) -> None:
        super().__init__({name: value for name, value in fields.items() if value is not None})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name)

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """The fields, as the models of lance-namespace return them."""
        return dict(self)

    to_dict = model_dump


class LostNamespaceCommitHandler(ReadOnlyCommitHandler):
    """Reads the versions in the folder, and refuses to commit past the namespace."""

    def check_can_commit(self) -> None:
        raise _lost()

    def commit(self, candidate: Candidate) -> ManifestLocation:
        raise _lost()


def _lost() -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "a namespace manages the versions of the table, and its client could not be pickled: open "
        "the table by namespace_client and table_id in this process"
    )


@contextlib.contextmanager
def _answers(call: str) -> Iterator[None]:
    """Within the block, errors that are not of lance-namespace become a `StoreError`."""
    try:
        yield
    except errors.InvalidTableStateError as error:
        raise CorruptFileError(f"the namespace finds the table damaged: {error}") from error
    except (errors.LanceNamespaceError, StoreError, NotFoundError):
        raise
    except Exception as error:
        reason = f"{call} of the namespace failed ({type(error).__name__})"
        raise OutcomeUnknownError(reason) from error


def _model(response: Any) -> Any:
    """A response as an object, also if a client returns a dictionary."""
    if not isinstance(response, dict):
        return response
    if "versions" in response:
        return names.ListTableVersionsResponse.from_dict(response)
    return names.CreateTableVersionResponse.from_dict(response)


def _version_of(response: Any) -> Any:
    version = getattr(_model(response), "version", None)
    if version is None:
        raise CorruptFileError("the namespace describes a version without its manifest")
    return version


def _staging_path(candidate: Candidate) -> str:
    """A path that depends on the bytes: sending a candidate again stages the same file."""
    digest = hashlib.sha256(candidate.data).digest()
    return f"{candidate.path}-{uuid.UUID(bytes=digest[:16], version=4)}"
