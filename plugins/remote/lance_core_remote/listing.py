"""List objects: convert the listing pages of the service to paths of the store."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lance_core.errors import StoreError
from lance_core.hookspecs.stores import Guarantee, ObjectMeta, is_path
from lance_core_remote.client import (
    Failure,
    ListingPage,
    RemoteClient,
    RemoteObject,
    RequestError,
)
from lance_core_remote.retries import Sender

MAX_EMPTY = 10_000
"""Maximum consecutive pages without an object; after that, the listing fails."""


class Lister:
    """Lists the objects whose keys begin with ``root``, which is "" or ends in a slash."""

    def __init__(self, client: RemoteClient, sender: Sender, root: str) -> None:
        self._client = client
        self._sender = sender
        self._root = root

    def objects(self, folder: str, start_after: str | None, *, deep: bool) -> Iterator[ObjectMeta]:
        """The objects below ``folder``. Requests a page when the one before is consumed.

        With ``deep`` false, only the objects directly in the folder. Skips objects whose names are
        not valid paths, such as markers of folders. Raises `StoreError` if the service repeats a
        page, or violates the order of keys that it guarantees.
        """
        below = f"{folder}/" if folder else ""
        prefix = self._root + below
        after = None if start_after is None else self._root + start_after
        skip = len(self._root)
        is_ordered = not deep and self._client.capabilities.ordered_list is Guarantee.YES
        last = ""
        for meta in self._pages(folder, prefix, after, deep):
            key = meta.key
            if not key.startswith(prefix) or (after is not None and key <= after):
                continue
            path = key[skip:]
            if (deep or "/" not in path[len(below) :]) and is_path(path):
                if is_ordered and key <= last:
                    raise StoreError(f"{self._client.name} does not list {folder!r} in order")
                last = key
                yield ObjectMeta(path, meta.size, meta.last_modified, meta.etag)

    def _page(self, prefix: str, after: str | None, token: str | None, deep: bool) -> ListingPage:
        try:
            return self._client.list_page(prefix, after, token, deep=deep)
        except RequestError as error:
            failed = error
        if failed.failure is Failure.MISSING:
            # An empty listing would make a table look new, and its writers start it again.
            failed = RequestError(Failure.REFUSED, f"{failed.text} instead of a listing")
        raise failed

    def _pages(
        self, folder: str, prefix: str, after: str | None, deep: bool
    ) -> Iterator[RemoteObject]:
        token: str | None = None
        tokens: set[int] = set()
        first, empty = "", 0
        while True:
            page = self._sender.read(
                "listing", folder, partial(self._page, prefix, after, token, deep)
            )
            empty = 0 if page.objects else empty + 1
            is_stuck = empty > MAX_EMPTY or bool(page.objects and page.objects[0].key == first)
            token = page.next_token
            if is_stuck or hash(token) in tokens:
                raise StoreError(f"listing {folder!r} in {self._client.name} makes no progress")
            yield from page.objects
            if token is None:
                return
            tokens.add(hash(token))
            first = page.objects[0].key if page.objects else first
