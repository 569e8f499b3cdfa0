"""Convenience functions that read from any store."""

from __future__ import annotations

from lance_core.errors import ObjectNotFoundError
from lance_core.store.base import ObjectStore


def exists(store: ObjectStore, path: str) -> bool:
    """True if an object exists at ``path``."""
    try:
        store.head(path)
    except ObjectNotFoundError:
        return False
    return True


def list_paths(store: ObjectStore, prefix: str = "", start_after: str | None = None) -> list[str]:
    """The paths of all objects below ``prefix``, in the order of `ObjectStore.list`."""
    return [meta.path for meta in store.list(prefix, start_after)]
