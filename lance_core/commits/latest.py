"""Find manifests by listing their folder.

A table uses one naming scheme for all manifests. With V2 names the newest version sorts first, so
an ordered listing returns it first; otherwise all names must be listed. Names that are not
manifests (staging and temporary files, detached versions, hints) are ignored.

The version hint file of other writers is not read: it does not exclude newer versions, and the
listing that would confirm it returns the answer itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from lance_core.commits.base import ManifestLocation
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    ObjectNotFoundError,
    StoreError,
)
from lance_core.store.base import Guarantee, ObjectMeta, ObjectStore
from lance_core.table.paths import (
    DETACHED,
    VERSION_HINT,
    VERSIONS,
    NamingScheme,
    manifest_path,
    parse_manifest_name,
)

FIRST_PAGE = 1000
"""Number of names checked for a second naming scheme when the first name is the newest version.
Stores return as many names per call."""

LISTINGS = 5
"""Attempts to list the folder if the newest manifest is removed before it is read."""

_USUAL_LENGTHS = {
    len(path) - len(VERSIONS) - 1 for path in (manifest_path(1, NamingScheme.V2), VERSION_HINT)
}


def newest_manifest(store: ObjectStore) -> ManifestLocation | None:
    """The newest attached version, or None; raises `CorruptFileError` for two naming schemes.

    On a store with ordered listing, the check for two schemes covers `FIRST_PAGE` names.
    """
    if store.capabilities.ordered_list is Guarantee.YES:
        return _newest_in_order(store.list(VERSIONS))
    for _ in range(LISTINGS):
        newest = _newest_name(list(store.list_names(VERSIONS)))
        if newest is None:
            return None
        try:
            meta = store.head(newest.path)
        except ObjectNotFoundError:
            continue  # it was removed, so a newer one exists
        return ManifestLocation(newest.version, newest.path, newest.naming, meta.size, meta.etag)
    raise StoreError("manifests vanish faster than they are found")


def _newest_in_order(listing: Iterator[ObjectMeta]) -> ManifestLocation | None:
    page = list(itertools.islice(listing, FIRST_PAGE))
    newest = _newest(_locations(page))
    if newest is not None and newest.naming is NamingScheme.V2:
        return newest
    return _newest(_locations(itertools.chain(page, listing)))


def list_manifests(store: ObjectStore) -> list[ManifestLocation]:
    """All attached versions, oldest first; raises `CorruptFileError` for two naming schemes."""
    locations = sorted(_locations(store.list(VERSIONS)), key=lambda location: location.version)
    _newest(locations)
    return locations


def locate_manifest(store: ObjectStore, version: int) -> ManifestLocation:
    """The location of the manifest of ``version``; `DatasetNotFoundError` if there is none."""
    schemes = [NamingScheme.V2] if version & DETACHED else [NamingScheme.V2, NamingScheme.V1]
    for scheme in schemes:
        path = manifest_path(version, scheme)
        try:
            meta = store.head(path)
        except ObjectNotFoundError:
            continue
        return ManifestLocation(version, path, scheme, meta.size, meta.etag)
    raise DatasetNotFoundError(f"the table has no version {version}")


def _locations(listing: Iterable[ObjectMeta]) -> Iterator[ManifestLocation]:
    """The attached versions among the objects of a listing."""
    skip = len(VERSIONS) + 1
    for meta in listing:
        name = parse_manifest_name(meta.path[skip:])
        if name is not None and name.scheme is not None:
            yield ManifestLocation(name.version, meta.path, name.scheme, meta.size, meta.etag)


def _newest(locations: Iterable[ManifestLocation]) -> ManifestLocation | None:
    newest: ManifestLocation | None = None
    for location in locations:
        if newest is None:
            newest = location
            continue
        if location.naming is not newest.naming:
            raise CorruptFileError(
                f"manifests are named by two schemes ({newest.path}, {location.path})",
                path=VERSIONS,
            )
        if location.version > newest.version:
            newest = location
    return newest


def _newest_name(names: list[str]) -> ManifestLocation | None:
    # Opening a table should not parse thousands of names: if all of them are as long as V2 names
    # (and one may be the hint), the smallest name is the newest version.
    if set(map(len, names)) <= _USUAL_LENGTHS:
        newest = _named(min(names)) if names else None
        if newest is not None and newest.naming is NamingScheme.V2:
            return newest
    return _newest(filter(None, map(_named, names)))


def _named(name: str) -> ManifestLocation | None:
    parsed = parse_manifest_name(name)
    if parsed is None or parsed.scheme is None:
        return None
    return ManifestLocation(parsed.version, f"{VERSIONS}/{name}", parsed.scheme)
