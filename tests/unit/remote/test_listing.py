"""Listings: pages, services that say more than they were asked for, and names that no path has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice

import pytest

from lance_core.errors import StoreError
from lance_core.store.functions import list_paths
from lance_core_remote.client import ListingPage, RemoteObject
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import MemoryClient
from tests.each_case import each_case

NOW = datetime.now(UTC)


class Says(MemoryClient):
    """Answers every listing by these pages, whatever it was asked for."""

    def __init__(self, *pages: Sequence[str], last: str | None = None) -> None:
        super().__init__()
        self._pages = pages
        self._last = last
        self.asked: list[tuple[str, str | None, str | None, bool]] = []

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        self.asked.append((prefix, start_after, token, deep))
        number = int(token or 0)
        found = [RemoteObject(key, 1, NOW, "tag") for key in self._pages[number]]
        is_last = number + 1 == len(self._pages)
        return ListingPage(found, self._last if is_last else str(number + 1))


def test_pages_are_asked_for_when_they_are_needed() -> None:
    client = Says(["r/a", "r/b"], [], ["r/c"])
    listing = RemoteStore(client, "r").list("")
    assert [found.path for found in islice(listing, 2)] == ["a", "b"]
    assert len(client.asked) == 1
    assert [found.path for found in listing] == ["c"]
    assert [token for _, _, token, _ in client.asked] == [None, "1", "2"]


def test_what_was_not_asked_for_is_left_out() -> None:
    keys = ["q/x", "r/", "r/a", "r/b/", "r/b/c", "r/b//d", "r/b/../e", "r/b/f", "rr/g"]
    client = Says(keys)
    store = RemoteStore(client, "r")
    assert list_paths(store) == ["a", "b/c", "b/f"]
    assert list_paths(store, "b", "b/c") == ["b/f"]
    assert list(store.list_names("b")) == ["c", "f"]
    assert list(store.list_names("")) == ["a"]
    assert list_paths(RemoteStore(client)) == ["q/x", "r/a", "r/b/c", "r/b/f", "rr/g"]
    assert client.asked[:3] == [
        ("r/", None, None, True),
        ("r/b/", "r/b/c", None, True),
        ("r/b/", None, None, False),
    ]


def test_a_listing_without_progress_ends() -> None:
    with pytest.raises(StoreError, match="makes no progress"):
        list_paths(RemoteStore(Says(["a"], last="0"), ""))


def test_a_listing_in_circles_ends() -> None:
    class Turns(MemoryClient):
        def list_page(self, *_: object, deep: bool, **__: object) -> ListingPage:
            self.number = 1 - getattr(self, "number", 1)
            return ListingPage([RemoteObject("ab"[self.number], 1, NOW, "tag")], str(self.number))

    with pytest.raises(StoreError, match="makes no progress"):
        list_paths(RemoteStore(Turns(), ""))


@pytest.mark.parametrize("keys", [(), ("a",)], ids=["empty", "the same"])
def test_pages_that_say_nothing_new_end(keys: Sequence[str]) -> None:
    class Goes(MemoryClient):
        number = 0

        def list_page(self, *_: object, deep: bool, **__: object) -> ListingPage:
            self.number += 1
            return ListingPage([RemoteObject(key, 1, NOW, "tag") for key in keys], str(self.number))

    with pytest.raises(StoreError, match="makes no progress"):
        list_paths(RemoteStore(Goes(), ""))


@each_case(
    "pages", [(["b", "a"],), (["a", "a"],), (["a", "c"], ["b"])], ids=["page", "twice", "pages"]
)
def test_names_that_come_out_of_order_are_an_error(pages: Sequence[Sequence[str]]) -> None:
    with pytest.raises(StoreError, match="in order"):
        list(RemoteStore(Says(*pages), "").list_names(""))
