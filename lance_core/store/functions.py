"""Common reads, as functions over the store contract."""

from __future__ import annotations

from lance_core.errors import ObjectNotFoundError
from lance_core.store.base import ObjectStore


def exists(store: ObjectStore, path: str) -> bool:
    """Whether there is an object at ``path`` at this moment."""
    try:
        store.head(path)
    except ObjectNotFoundError:
        return False
    return True


def list_paths(store: ObjectStore, prefix: str = "", start_after: str | None = None) -> list[str]:
    """The paths of every object below ``prefix``, as `ObjectStore.list` orders them."""
    return [found.path for found in store.list(prefix, start_after)]
