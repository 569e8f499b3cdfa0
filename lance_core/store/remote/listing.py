"""Listing: pages of the service as paths of the store."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lance_core.errors import StoreError
from lance_core.store.base import ObjectMeta
from lance_core.store.paths import is_path
from lance_core.store.remote.client import (
    Failure,
    Page,
    RemoteClient,
    RemoteObject,
    RequestError,
)
from lance_core.store.remote.retries import Sender


class Lister:
    """Lists the objects whose keys begin with ``root``: "" or a text that ends in a slash."""

    def __init__(self, client: RemoteClient, sender: Sender, root: str) -> None:
        self._client = client
        self._sender = sender
        self._root = root

    def objects(self, folder: str, start_after: str | None, *, deep: bool) -> Iterator[ObjectMeta]:
        """The objects below ``folder``; a page is asked for when the one before is used up.

        With ``deep`` false, only those directly in it. Objects whose names no path can have, such
        as those that stand for folders, are none of this store.
        """
        below = f"{folder}/" if folder else ""
        prefix = self._root + below
        after = None if start_after is None else self._root + start_after
        skip = len(self._root)
        for found in self._pages(folder, prefix, after, deep):
            key = found.key
            if not key.startswith(prefix) or (after is not None and key <= after):
                continue
            path = key[skip:]
            if (deep or "/" not in path[len(below) :]) and is_path(path):
                yield ObjectMeta(path, found.size, found.last_modified, found.etag)

    def _page(self, prefix: str, after: str | None, token: str | None, deep: bool) -> Page:
        try:
            return self._client.list_page(prefix, after, token, deep=deep)
        except RequestError as error:
            if error.failure is not Failure.MISSING:
                raise
            return Page((), None)  # where services have folders, one that is not there is empty

    def _pages(
        self, folder: str, prefix: str, after: str | None, deep: bool
    ) -> Iterator[RemoteObject]:
        token: str | None = None
        while True:
            page = self._sender.read(
                "listing", folder, partial(self._page, prefix, after, token, deep)
            )
            yield from page.objects
            if page.next_token is None:
                return
            if page.next_token == token:
                raise StoreError(f"listing {folder!r} in {self._client.name} makes no progress")
            token = page.next_token
