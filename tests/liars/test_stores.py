"""A store that returns anything, or raises anything, at any call, costs no row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from lance_core.errors import CommitUnknownError, LanceError
from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core.store.base import ObjectWriter
from lance_core.store.local import Durability, LocalStore
from tests.each_case import each_case
from tests.examples import share
from tests.liars.lies import ERRORS, WRONG_VALUES, Lie, no_lie
from tests.liars.trial import Trial

pytestmark = pytest.mark.usefixtures("without_pauses")

WRITES = ("put", "delete", "write", "close", "append_from", "rename_if_absent", "copy")

RIGHT_VALUES = {
    **dict.fromkeys(("get", "get_ranges", "head", "open_writer", "tell"), ()),
    "list": ("empty list",),
    "list_names": ("empty list", "dict"),
}
"""Values that a method may return; writes return None."""

BUFFERS: dict[str, Callable[[Any], Any]] = {
    "one buffer too few": lambda buffers: buffers[:-1],
    "one buffer too many": lambda buffers: [*buffers, pa.py_buffer(b"")],
    "short buffers": lambda buffers: [buffer.slice(0, buffer.size // 2) for buffer in buffers],
    "long buffers": lambda buffers: [pa.py_buffer(bytes(buffer) + b"x") for buffer in buffers],
    "bytes": lambda buffers: [bytes(buffer) for buffer in buffers],
    "a generator": lambda buffers: (buffer for buffer in buffers),
    "joined": lambda buffers: pa.py_buffer(b"".join(map(bytes, buffers))),
}
METAS: dict[str, Callable[[Any], Any]] = {
    "a negative size": lambda meta: replace(meta, size=-1),
    "size as text": lambda meta: replace(meta, size="7"),
    "no size": lambda meta: replace(meta, size=None),
    "no date": lambda meta: replace(meta, last_modified=None),
    "a date without zone": lambda meta: replace(meta, last_modified=datetime(2020, 1, 1)),
    "a path outside": lambda meta: replace(meta, path="/etc/passwd"),
    "no path": lambda meta: replace(meta, path=None),
    "etag as number": lambda meta: replace(meta, etag=7),
    "a tuple": lambda meta: (meta.path, meta.size),
}
LISTINGS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda listing, change=change: map(change, listing) for name, change in METAS.items()},
    "texts": lambda listing: [meta.path for meta in listing],
    "an error in between": lambda listing: (meta.size / 0 for meta in listing),
    "backwards": lambda listing: reversed(list(listing)),
    "in folders": lambda listing: (replace(meta, path=f"root/{meta.path}") for meta in listing),
}


METHODS = (
    *("get", "get_ranges", "head", "put", "list", "list_names", "delete", "copy"),
    *("append_from", "rename_if_absent"),
)


class Lying(LocalStore):
    """Does what its base does, but may end a call in another way."""

    plugin: Plugin

    def open_writer(self, path: str) -> Any:
        def opened() -> Any:
            return LyingWriter(self.plugin, super(Lying, self).open_writer(path))

        return self.plugin.lie.end("open_writer", opened)


class LyingWriter(ObjectWriter):
    """A writer of `Lying`."""

    def __init__(self, plugin: Plugin, inner: ObjectWriter) -> None:
        self.plugin = plugin
        self.inner = inner

    def write(self, data: Any) -> Any:
        return self.plugin.lie.end("write", lambda: self.inner.write(data))

    def tell(self) -> Any:
        return self.plugin.lie.end("tell", self.inner.tell)

    def close(self) -> Any:
        return self.plugin.lie.end("close", self.inner.close)

    def abort(self) -> Any:
        return self.plugin.lie.end("abort", self.inner.abort)


def _lying(method: str) -> Callable[..., Any]:
    honest = getattr(LocalStore, method)

    def call(self: Lying, *arguments: Any) -> Any:
        return self.plugin.lie.end(method, lambda: honest(self, *arguments))

    return call


for _method in METHODS:
    setattr(Lying, _method, _lying(_method))


class Plugin:
    """Offers the liar."""

    def __init__(self) -> None:
        self.lie = no_lie()

    @hookimpl
    def lance_object_stores(self) -> list[ObjectStoreSpec]:
        def make(url: Any, options: Any) -> Lying:
            store = Lying(f"/{url.path}", Durability.fast)
            store.plugin = self
            return store

        return [ObjectStoreSpec("liar", ("liar",), make)]


def _answers(method: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    for name, make in WRONG_VALUES.items():
        if name not in RIGHT_VALUES.get(method, ("None",)):
            yield name, lambda _, make=make: make()
    for name, raised in ERRORS.items():
        yield name, lambda _, raised=raised: raised()
    special = {"get_ranges": BUFFERS, "head": METAS, "list": LISTINGS, "get": {}}
    yield from special.get(method, {}).items()
    if method == "get":
        yield "bytes of it", bytes


Case = tuple[str, str, Lie]


def _cases() -> Iterator[Case]:
    calls = {
        "append": ("put", "open_writer", "write", "close", "list", "list_names", "get", "head"),
        "read": ("get", "get_ranges", "list", "head"),
        "clean up": ("list", "get", "delete", "put", "head"),
        "upsert": ("get_ranges", "put"),
        "copy pages": ("append_from", "get_ranges", "close"),
    }
    for verb, methods in calls.items():
        for method in methods:
            for name, answer in _answers(method):
                for at in (1, 2, 4):
                    for applied in (True, False) if method in WRITES else (True,):
                        yield verb, name, Lie(method, answer, at, applied)
                yield verb, name, Lie(method, answer, always=True)


@each_case("verb, name, lie", lambda: share(list(_cases()), 37, 0))
def test_no_answer_of_a_store_costs_a_row(
    plugin: Plugin, trial: Callable[[str], Trial], verb: str, name: str, lie: Lie
) -> None:
    ended = trial(verb).run(plugin, "liar", lie)
    if ended is None or isinstance(ended, MemoryError):
        return
    assert isinstance(ended, LanceError)
    if name in WRONG_VALUES and lie.method not in ("put", "close"):
        assert re.search(rf"'liar' of plugin 'liars'.*{lie.method}\b.* returned", str(ended))
    elif name in ERRORS and not isinstance(ended, CommitUnknownError):
        assert re.search(rf"'liar' of plugin 'liars'.*{lie.method}\b.* raised {name}", str(ended))
