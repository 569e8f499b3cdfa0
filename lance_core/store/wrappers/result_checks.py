"""Check what the store of a plugin returns, so that its defects give errors and no wrong rows.

A method that returns anything but what `ObjectStore` says, or that raises an error of Python such
as `TypeError`, ends in a `StoreError` that names the plugin, the method, the path and the type. For
writes it is an `OutcomeUnknownError`, because the write may have been applied.

The checks cost about a microsecond for each call, and less for each range or listed object.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from lance_core.byte_ranges import ByteRange, CopyRanges
from lance_core.error_texts.plugin_calls import failed_call, type_of, wrong_field, wrong_result
from lance_core.errors import LanceError, OutcomeUnknownError, PluginLoadError, StoreError
from lance_core.store.base import (
    COPY_BYTES,
    Buffers,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.durability import Durability

Mask = Callable[[str], str]
"""Removes secrets from a text."""


def checked_store(store: ObjectStore, plugin: str, mask: Mask = str) -> ObjectStore:
    """``store`` with checked results; the stores of this package are returned as they are.

    ``plugin`` names the store and its plugin in errors. Raises `PluginLoadError` if an attribute of
    the store has the wrong type.
    """
    if vars(type(store)).get("keeps_contract") is True:
        return store
    return CheckedStore(store, PluginCalls(plugin, mask))


class PluginCalls:
    """Calls methods of an object of a plugin; its errors name ``plugin``."""

    __slots__ = ("mask", "plugin")

    def __init__(self, plugin: str, mask: Mask) -> None:
        self.plugin = plugin
        self.mask = mask

    def read(self, what: str, method: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a call that changes nothing."""
        try:
            return method(*arguments)
        except (LanceError, MemoryError):
            raise
        except Exception as error:
            raise StoreError(self.failure(what, error)) from error

    def write(self, what: str, method: Callable[..., Any], *arguments: Any) -> None:
        """Make a call that writes, and must return None."""
        try:
            answer = method(*arguments)
        except (LanceError, MemoryError):
            raise
        except Exception as error:
            raise OutcomeUnknownError(self.failure(what, error)) from error
        if answer is not None:
            raise OutcomeUnknownError(wrong_result(self.plugin, what, answer, "None"))

    def failure(self, what: str, error: Exception) -> str:
        """The message for an error of Python."""
        return failed_call(self.plugin, what, error, self.mask)

    def wrong(self, what: str, value: object, expected: str) -> StoreError:
        """The error for a value of the wrong type."""
        return StoreError(wrong_result(self.plugin, what, value, expected))

    def false(self, what: str, problem: str) -> StoreError:
        """The error for a value of the right type that cannot be true."""
        return StoreError(f"{self.plugin}: {what} returned {problem}")


class CheckedStore(ObjectStore):
    """Forwards to ``inner``, the store of a plugin, and checks how each call ends."""

    keeps_contract = True

    def __init__(self, inner: ObjectStore, calls: PluginCalls) -> None:
        self.inner = inner
        self._calls = calls
        self.coalesce_gap = self._attribute("coalesce_gap", int)
        self.read_ahead = self._attribute("read_ahead", int)
        self.has_views = self._attribute("has_views", bool)
        self._attribute("capabilities", StoreCapabilities)

    def __repr__(self) -> str:
        return repr(self.inner)

    def _attribute(self, name: str, expected: type[Any]) -> Any:
        value = self._calls.read(name, getattr, self.inner, name)
        is_wrong = not isinstance(value, expected) or (
            isinstance(value, bool) and expected is not bool
        )
        if is_wrong or (expected is int and value < 0):
            raise PluginLoadError(
                f"{self._calls.plugin}: {name} is {type_of(value)}; it must be {expected.__name__}"
            )
        return value

    @property
    def capabilities(self) -> StoreCapabilities:
        capabilities: StoreCapabilities = self._attribute("capabilities", StoreCapabilities)
        return capabilities

    @property
    def durability(self) -> Durability | None:
        durability: Durability | None = self._calls.read(
            "durability", getattr, self.inner, "durability"
        )
        if durability is not None and not isinstance(durability, Durability):
            raise self._calls.wrong("durability", durability, "a Durability or None")
        return durability

    @property
    def guarantor(self) -> str | None:
        guarantor: str | None = self._calls.read("guarantor", getattr, self.inner, "guarantor")
        if guarantor is not None and not isinstance(guarantor, str):
            raise self._calls.wrong("guarantor", guarantor, "a str or None")
        return guarantor

    def check_can_write(self) -> None:
        self._calls.read("check_can_write", self.inner.check_can_write)

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        what = f"get_ranges({path!r})"
        answer = self._calls.read(what, self.inner.get_ranges, path, ranges)
        if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
            raise self._calls.wrong(what, answer, "a sequence of pyarrow.Buffer")
        if len(answer) != len(ranges):
            raise self._calls.false(what, f"{len(answer)} buffers for {len(ranges)} ranges")
        for buffer, (start, stop) in zip(answer, ranges, strict=True):
            if not isinstance(buffer, pa.Buffer):
                raise self._calls.wrong(what, [buffer][0], "a sequence of pyarrow.Buffer")
            if buffer.size != stop - start:
                raise self._calls.false(what, f"{buffer.size} bytes for bytes {start} to {stop}")
        return answer

    def get(self, path: str) -> pa.Buffer:
        what = f"get({path!r})"
        answer = self._calls.read(what, self.inner.get, path)
        if not isinstance(answer, pa.Buffer):
            raise self._calls.wrong(what, answer, "a pyarrow.Buffer")
        return answer

    def head(self, path: str) -> ObjectMeta:
        what = f"head({path!r})"
        meta = self._meta(self._calls.read(what, self.inner.head, path), what)
        if meta.path != path:
            raise self._calls.false(what, f"the path {meta.path[:200]!r}")
        return meta

    def existing(self, paths: Sequence[str]) -> builtins.list[str]:
        if type(self.inner).existing is ObjectStore.existing:
            return super().existing(paths)
        present: object = self._calls.read("existing", self.inner.existing, paths)
        if not isinstance(present, builtins.list):
            raise self._calls.wrong("existing", present, "a list")
        if present != [path for path in paths if path in present]:
            raise self._calls.false("existing", "other paths, or another order of them")
        return present

    @contextlib.contextmanager
    def turn(self, folder: str, patience: float) -> Iterator[None]:
        held = contextlib.ExitStack()
        with contextlib.suppress(Exception):
            held.enter_context(self.inner.turn(folder, patience))
        try:
            yield
        finally:
            with contextlib.suppress(Exception):
                held.close()  # which tells the turn of no error that it could suppress

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        self._calls.write(f"put({path!r})", self.inner.put, path, data, mode)

    def open_writer(self, path: str) -> ObjectWriter:
        what = f"open_writer({path!r})"
        writer = self._calls.read(what, self.inner.open_writer, path)
        if not isinstance(writer, ObjectWriter):
            raise self._calls.wrong(what, writer, "an ObjectWriter")
        return CheckedWriter(writer, self, path, self._calls)

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        what = f"list({prefix!r})"
        folder = f"{prefix}/" if prefix else ""
        last = "" if self.capabilities.ordered_list is Guarantee.YES else None
        for answer in self._each(what, self.inner.list, prefix, start_after):
            meta = self._meta(answer, what)
            path = meta.path
            if not path.startswith(folder):
                raise self._calls.false(what, f"{path[:200]!r}, which is not in this folder")
            if last is not None:
                if path <= last:
                    raise self._calls.false(what, f"{path!r} after {last!r}, not in byte order")
                last = path
            yield meta

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        if type(self.inner).list_names is ObjectStore.list_names:
            yield from super().list_names(folder, start_after)
            return
        what = f"list_names({folder!r})"
        last = "" if self.capabilities.ordered_list is Guarantee.YES else None
        for name in self._each(what, self.inner.list_names, folder, start_after):
            if not isinstance(name, str):
                raise self._calls.wrong(what, name, "texts")
            if not name or "/" in name:
                raise self._calls.false(what, f"{name[:200]!r}, which is not a name")
            if last is not None:
                if name <= last:
                    raise self._calls.false(what, f"{name!r} after {last!r}, not in byte order")
                last = name
            yield name

    def delete(self, path: str) -> None:
        self._calls.write(f"delete({path!r})", self.inner.delete, path)

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        self._calls.write(f"copy({source!r}, {target!r})", self.inner.copy, source, target, mode)

    def append_from(
        self,
        writer: ObjectWriter,
        source: str,
        ranges: Sequence[ByteRange],
        batch_bytes: int = COPY_BYTES,
    ) -> None:
        if type(self.inner).append_from is ObjectStore.append_from:
            super().append_from(writer, source, ranges, batch_bytes)
            return
        what = f"append_from({source!r})"
        if not (isinstance(writer, CheckedWriter) and writer.store is self):
            self._calls.write(what, self.inner.append_from, writer, source, ranges, batch_bytes)
            return
        with writer.appending(sum(span.length for span in ranges)) as own:
            self._calls.write(what, self.inner.append_from, own, source, ranges, batch_bytes)

    def within(self, seconds: float) -> ObjectStore:
        limited = self._calls.read("within", self.inner.within, seconds)
        if limited is self.inner:
            return self
        if not isinstance(limited, ObjectStore):
            raise self._calls.wrong("within", limited, "an ObjectStore")
        return CheckedStore(limited, self._calls)

    def remove_empty_folders(self, folder: str = "") -> None:
        with contextlib.suppress(Exception):  # the contract: it never fails
            self.inner.remove_empty_folders(folder)

    def rename_if_absent(self, source: str, target: str) -> None:
        what = f"rename_if_absent({source!r}, {target!r})"
        self._calls.write(what, self.inner.rename_if_absent, source, target)

    def _each(self, what: str, method: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """The members of a listing."""
        answer = self._calls.read(what, method, *arguments)
        if not isinstance(answer, Iterable) or isinstance(answer, str | bytes):
            raise self._calls.wrong(what, answer, "an iterator")
        members = self._calls.read(what, iter, answer)
        nothing = object()
        while (member := self._calls.read(what, next, members, nothing)) is not nothing:
            yield member

    def _meta(self, meta: object, what: str) -> ObjectMeta:
        if not isinstance(meta, ObjectMeta):
            raise self._calls.wrong(what, meta, "ObjectMeta")
        wrong = wrong_field(
            ("path", meta.path, str),
            ("size", meta.size, int),
            ("last_modified", meta.last_modified, datetime),
        )
        if wrong is not None:
            raise self._calls.false(what, f"ObjectMeta whose {wrong}")
        if meta.size < 0:
            raise self._calls.false(what, f"ObjectMeta whose size is {meta.size}")
        if meta.last_modified.tzinfo is None:
            raise self._calls.false(what, "ObjectMeta whose last_modified has no time zone")
        if meta.etag is not None and not isinstance(meta.etag, str):
            raise self._calls.false(what, f"ObjectMeta whose etag is {type_of(meta.etag)}")
        return meta


class CheckedWriter(ObjectWriter):
    """A writer of `CheckedStore`; counts the bytes itself, since files contain their positions."""

    def __init__(
        self, inner: ObjectWriter, store: CheckedStore, path: str, calls: PluginCalls
    ) -> None:
        self.inner = inner
        self.store = store
        self._path = path
        self._calls = calls
        self._written = 0
        self._has_failed = False

    def write(self, data: pa.Buffer | bytes | bytearray | memoryview) -> None:
        with self._counting():
            self._calls.write(f"write to {self._path!r}", self.inner.write, data)
            self._written += data.size if isinstance(data, pa.Buffer) else memoryview(data).nbytes

    @contextlib.contextmanager
    def appending(self, length: int) -> Iterator[ObjectWriter]:
        """The writer of the plugin, to which ``length`` bytes are appended."""
        with self._counting():
            yield self.inner
            self._written += length

    def reserve(self, size: int) -> None:
        self._calls.read(f"reserve of {self._path!r}", self.inner.reserve, size)

    def copy_with(self, copy_ranges: CopyRanges | None) -> None:
        self._calls.read(f"copy_with of {self._path!r}", self.inner.copy_with, copy_ranges)

    def tell(self) -> int:
        what = f"tell of {self._path!r}"
        position = self._calls.read(what, self.inner.tell)
        if not isinstance(position, int) or isinstance(position, bool):
            raise self._calls.wrong(what, position, "the number of written bytes")
        if position != self._written and not self._has_failed:
            raise self._calls.false(what, f"{position} after {self._written} bytes were written")
        return position

    def close(self) -> None:
        self._calls.write(f"close of {self._path!r}", self.inner.close)

    def abort(self) -> None:
        with contextlib.suppress(Exception):  # the contract: it never raises
            self.inner.abort()

    @contextlib.contextmanager
    def _counting(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._has_failed = True
            raise
