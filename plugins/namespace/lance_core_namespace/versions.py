"""Operations on the versions of tables whose manifests are in the folder of the table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import lance_namespace as names
from lance_namespace import errors

from lance_core.errors import ObjectExistsError, ObjectNotFoundError
from lance_core.hookspecs.commits import Candidate, ManifestName, parse_manifest_name
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import ObjectMeta, ObjectStore, StoreUrl, parse_uri
from lance_core.plugins import open_store, select_commit_handler
from lance_core_namespace.requests import id_of, operation, shown
from lance_core_namespace.tables import TableOperations

FOLDER = "_versions"
_NEWEST = (1 << 64) - 1
MAX_VERSION = (1 << 63) - 1
"""Higher numbers belong to detached versions, which no namespace lists."""

MAX_MANIFEST = 1 << 30
"""Maximum bytes of a manifest that is copied to its name."""


class TableVersions(TableOperations):
    """Lists versions, and makes them of manifests that a writer has staged beside the others."""

    @abstractmethod
    def folder_of(self, id_: tuple[str, ...]) -> tuple[str, Mapping[str, str | Secret]]:
        """The URI of the folder of a table, and the options of its store.

        Raises ``TableNotFoundError``.
        """

    @operation
    def list_table_versions(self, request: Any) -> Any:
        """The versions of a table or branch, oldest first unless ``descending`` is asked for."""
        if request.limit is not None and request.limit < 0:
            raise errors.InvalidInputError(f"limit is negative: {request.limit}")
        store, path, _ = self._place(request)
        versions = dict(_manifests(store, path))
        if request.branch and not versions:
            raise errors.TableBranchNotFoundError(
                f"table {shown(request.id)} has no branch {request.branch!r}"
            )
        numbers = sorted(versions, reverse=bool(request.descending))
        if request.page_token:
            numbers = numbers[_start(numbers, request) :]
        page = numbers if request.limit is None else numbers[: request.limit]
        token = str(page[-1]) if page and len(page) < len(numbers) else None
        listed = [versions[number] for number in page]
        return names.ListTableVersionsResponse(versions=listed, page_token=token)

    @operation
    def describe_table_version(self, request: Any) -> Any:
        """The manifest of a version, of the newest one if none is named."""
        store, path, _ = self._place(request)
        versions = dict(_manifests(store, path))
        number = request.version
        if number is None:
            number = max(versions, default=None)
        if number not in versions:
            raise errors.TableVersionNotFoundError(
                f"version {number} of table {shown(request.id)} does not exist"
            )
        return names.DescribeTableVersionResponse(version=versions[number])

    @operation
    def create_table_version(self, request: Any) -> Any:
        """Make a staged manifest the next version; exactly one of several callers succeeds.

        Raises ``ConcurrentModificationError`` if the version exists or is not the next one, and
        then changes nothing.
        """
        store, path, url = self._place(request)
        staged = _staged(request.manifest_path, path)
        newest = max(dict(_manifests(store, path)), default=0)
        if request.version <= newest:
            raise errors.ConcurrentModificationError(
                f"version {request.version} of table {shown(request.id)} exists, or was removed"
            )
        final = _name_of(request)
        try:
            size = store.head(staged).size
            if size > MAX_MANIFEST:
                raise errors.InvalidInputError(f"the staged manifest has {size} bytes")
            data = bytes(store.get(staged))
        except ObjectNotFoundError as error:
            raise errors.InvalidInputError("there is no staged manifest at the path") from error
        scheme = final.scheme
        assert scheme is not None  # of a version that is not detached
        candidate = Candidate(request.version, scheme, data, "", b"")
        _, options = self.folder_of(id_of(request))
        try:
            location = select_commit_handler(store, url, options).commit(candidate)
        except ObjectExistsError as error:
            raise errors.ConcurrentModificationError(
                f"another writer made version {request.version} of table {shown(request.id)}"
            ) from error
        if staged != location.path:
            store.delete(staged)
        made = names.TableVersion(
            version=request.version,
            manifest_path=f"{path}/{location.path}",
            manifest_size=len(data),
            e_tag=request.e_tag,
        )
        return names.CreateTableVersionResponse(version=made)

    @operation
    def batch_create_table_versions(self, request: Any) -> Any:
        """Make versions of several tables one after the other; one that fails ends the rest."""
        made = []
        for entry in request.entries:
            request_of_one = names.CreateTableVersionRequest.from_dict(entry.to_dict())
            made.append(self.create_table_version(request_of_one).version)
        return names.BatchCreateTableVersionsResponse(versions=made)

    @operation
    def batch_delete_table_versions(self, request: Any) -> Any:
        """Remove the manifests of versions; the newest one stays.

        A range begins at its first version, and ends before its last one. Files that only removed
        versions have are removed by the next cleanup.
        """
        store, path, _ = self._place(request)
        versions = dict(_manifests(store, path))
        newest = max(versions, default=0)
        chosen = [
            number
            for number in versions
            if any(part.start_version <= number < part.end_version for part in request.ranges)
        ]
        if newest in chosen:
            raise errors.InvalidInputError(f"version {newest} is the newest one, which stays")
        for number in chosen:
            store.delete(f"{FOLDER}/{versions[number].manifest_path.rpartition('/')[2]}")
        return names.BatchDeleteTableVersionsResponse(deleted_count=len(chosen))

    def _place(self, request: Any) -> tuple[ObjectStore, str, StoreUrl]:
        """The store of a table or branch, its path as versions name it, and its URL."""
        uri, options = self.folder_of(id_of(request))
        url = parse_uri(uri)
        if request.branch:
            branch = request.branch
            if not all(
                part.isprintable() and part not in {"", ".", ".."} for part in branch.split("/")
            ):
                raise errors.InvalidInputError(f"{branch!r} is not the name of a branch")
            url = url.below(f"tree/{branch}")
        return open_store(url, options), url.path.strip("/"), url


def _manifests(store: ObjectStore, path: str) -> Iterator[tuple[int, Any]]:
    """The versions in a folder; raises ``InvalidTableStateError`` for names of two schemes."""
    schemes = set()
    for meta in store.list(FOLDER):
        name = meta.path.removeprefix(f"{FOLDER}/")
        parsed = parse_manifest_name(name)
        if parsed is not None and parsed.version <= MAX_VERSION and parsed.scheme is not None:
            schemes.add(parsed.scheme)
            if len(schemes) > 1:
                raise errors.InvalidTableStateError("manifests are named by two schemes")
            yield parsed.version, _version(parsed.version, meta, path)


def _version(number: int, meta: ObjectMeta, path: str) -> Any:
    return names.TableVersion(
        version=number,
        manifest_path=f"{path}/{meta.path}" if path else meta.path,
        manifest_size=meta.size,
        e_tag=meta.etag,
        timestamp_millis=int(meta.last_modified.timestamp() * 1000),
    )


def _staged(manifest_path: str, path: str) -> str:
    """The path of a staged manifest in the table; raises ``InvalidInputError`` for one outside."""
    folder = f"{path}/{FOLDER}/".lstrip("/")
    whole = manifest_path.lstrip("/")
    name = whole.removeprefix(folder)
    is_inside = whole != name and "/" not in name and name not in {"", ".", ".."}
    if not is_inside or not name.isprintable():
        raise errors.InvalidInputError("manifest_path is not in the folder of the table's versions")
    return f"{FOLDER}/{name}"


def _name_of(request: Any) -> ManifestName:
    scheme = request.naming_scheme or "V2"
    if scheme not in {"V1", "V2"} or not 1 <= request.version <= MAX_VERSION:
        raise errors.InvalidInputError(
            f"version {request.version} cannot be named by the scheme {scheme!r}"
        )
    number = f"{_NEWEST - request.version:020}" if scheme == "V2" else str(request.version)
    parsed = parse_manifest_name(f"{number}.manifest")
    if parsed is None:
        raise errors.InvalidInputError(f"version {request.version} has no name")
    return parsed


def _start(numbers: list[int], request: Any) -> int:
    """The index of the first version after the page that the token ends."""
    try:
        last = int(request.page_token)
    except ValueError:
        raise errors.InvalidInputError("page_token is not one of this namespace") from None
    after = [n for n in numbers if (n < last if request.descending else n > last)]
    return len(numbers) - len(after)
