"""Keeping an old version from being cleaned up while something is made of it.

A pin is a tag of a reserved name: every cleanup, of whatever library, spares tagged versions. (That
of a branch is in the branch's own folder, where only this library looks for it.) It is put down
first and the version looked for afterwards; a cleanup removes the version first and looks for tags
afterwards, before it removes files. Whichever comes second notices the other.

A process that dies leaves its pin behind. Pins that are older than any commit may take are no pins
any more, and cleanup collects them.
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
"""What the names of tags that are pins begin with."""


def is_pin(tag: str) -> bool:
    """Whether the tag of this name is a pin, not a user's."""
    return tag.startswith(PIN_PREFIX)


@contextlib.contextmanager
def pinned(
    handler: CommitHandler, store: ObjectStore, version: int, environment: Environment
) -> Iterator[ManifestLocation]:
    """Where ``version`` is, and stays until the end of the block.

    The pin outlives the block if it ends with an unknown outcome. Raises `DatasetNotFoundError` if
    there is no such version.
    """
    found = handler.locate(version)
    path = tag_path(f"{PIN_PREFIX}{environment.new_uuid()}")
    now = environment.clock()
    store.put(path, Tag(version, None, found.size or 0, now, now).to_json())
    try:
        yield handler.locate(version)
    except CommitUnknownError:
        raise
    except Exception:
        _remove(store, path)
        raise
    _remove(store, path)


def _remove(store: ObjectStore, path: str) -> None:
    with contextlib.suppress(Exception):  # it lapses by itself
        store.delete(path)
