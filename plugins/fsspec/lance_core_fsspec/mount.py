"""A file system and the folder in it at which a store is rooted."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any
from urllib.parse import quote, unquote

from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core_fsspec.capabilities import Traits, traits_of


class Mount:
    """Converts between paths below ``root`` and keys of the file system.

    ``lock`` is held during every call, because most file systems are not thread-safe.
    """

    def __init__(self, filesystem: Any, root: str, lock: ForkSafeLock) -> None:
        self.filesystem = filesystem
        self.traits: Traits = traits_of(filesystem)
        self.lock: ForkSafeLock | AbstractContextManager[None] = (
            nullcontext() if self.traits.is_parallel else lock
        )
        self._folder = root if root.endswith("/") or not root else f"{root}/"
        self.is_reached = False
        """True after a listing has shown that the bucket or the server exists."""

    @property
    def container(self) -> str | None:
        """The key of the bucket, or the address of the server, that may not exist; or None."""
        if self.traits.quotes:
            return "/".join([*self._folder.split("/")[:3], ""])
        return self._folder.lstrip("/").partition("/")[0] if self.traits.has_buckets else None

    def key(self, path: str) -> str:
        """The key of ``path`` in the file system ("" is the root)."""
        key = self._folder + (quote(path) if self.traits.quotes else path)
        return key.rstrip("/") or self._folder

    def path(self, name: str) -> str | None:
        """The path of the key ``name``; None if it is not below the root."""
        prefix = self._folder.lstrip("/")
        key = name.lstrip("/")
        if not key.startswith(prefix) or (self.traits.quotes and "?" in key):
            return None
        path = key[len(prefix) :].rstrip("/")
        return (unquote(path) if self.traits.quotes else path) or None
