"""Protect an old version from cleanup while a new version is derived from it.

A pin is a tag with a reserved name: cleanups of all libraries keep tagged versions. (The pin of a
branch is in the branch's own folder, where only this library looks for it.) The pin is written
before the version is read; a cleanup removes the version, then reads the tags, and only then
removes files. So whichever acts second notices the other.

A process that dies leaves its pin behind. A pin older than the longest possible commit has no
effect, and cleanup removes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lance_core.commits.base import CommitHandler, ManifestLocation
from lance_core.commits.environment import Environment
from lance_core.errors import CommitUnknownError
from lance_core.store.base import ObjectStore
from lance_core.table.refs import Tag, tag_path

PIN_PREFIX = "lance-core-pin-"
"""Prefix of the names of tags that are pins."""


def is_pin(tag: str) -> bool:
    """True if the tag with this name is a pin, not a user's tag."""
    return tag.startswith(PIN_PREFIX)


@contextlib.contextmanager
def pinned(
    handler: CommitHandler, store: ObjectStore, version: int, environment: Environment
) -> Iterator[ManifestLocation]:
    """Protect ``version`` from cleanup within the block; yields its location.

    The pin remains if the block ends with an unknown outcome. Raises `DatasetNotFoundError` if the
    version does not exist.
    """
    location = handler.locate(version)
    path = tag_path(f"{PIN_PREFIX}{environment.new_uuid()}")
    now = environment.clock()
    store.put(path, Tag(version, None, location.size or 0, now, now).to_json())
    try:
        yield handler.locate(version)
    except CommitUnknownError:
        raise
    except Exception:
        _remove(store, path)
        raise
    _remove(store, path)


def _remove(store: ObjectStore, path: str) -> None:
    with contextlib.suppress(Exception):  # it expires
        store.delete(path)
