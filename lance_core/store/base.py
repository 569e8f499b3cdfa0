"""The store contract: bytes at paths.

A store is rooted: every path is relative to the root that the store was opened at, segments are
separated by ``/``, and no path reaches outside. What an implementer writes is `ObjectStore`;
convenience is plain functions elsewhere in this package.

How a call ends. Returning means *applied*. `ObjectExistsError`, `ObjectNotFoundError`,
`InvalidPathError` and any `StoreError` other than `OutcomeUnknownError` mean *not applied*.
`OutcomeUnknownError` means *unknown*: the write may have landed, or may still land. Callers must
treat every other exception from a write as unknown too.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from types import TracebackType
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.durability import Durability

BytesLike: TypeAlias = pa.Buffer | bytes | bytearray | memoryview

Buffers: TypeAlias = BytesLike | Sequence[pa.Buffer]
"""What a write accepts: one buffer, or several that are written one after the other."""


class PutMode(enum.Enum):
    """What a write does when an object is already there."""

    overwrite = "overwrite"
    create = "create"
    """Fail with `ObjectExistsError`, atomically: of any number of writers exactly one succeeds."""


class ByteRange(NamedTuple):
    """Bytes ``start`` (inclusive) to ``stop`` (exclusive) of an object, ``0 <= start <= stop``."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class ObjectMeta:
    """What a store knows of an object. ``size`` in bytes, ``last_modified`` with a time zone.

    ``etag``: another text after each write of the path, which never comes back; None if the store
    has none. It tells an object from one that was written in its place.
    """

    path: str
    size: int
    last_modified: datetime
    etag: str | None = None


class Guarantee(enum.Enum):
    """Whether a store guarantees something; UNKNOWN is settled by the probe."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StoreCapabilities:
    """What a store guarantees. Nothing is assumed: the default of everything is UNKNOWN or NO.

    A call that needs what is NO raises `UnsupportedFeatureError`; it never does something weaker.
    Making one raises `InvalidInputError` if a value is no `Guarantee`, such as True.
    """

    put_if_absent: Guarantee = Guarantee.UNKNOWN
    """Of all `ObjectStore.put` with `PutMode.create` to a path, by any number of processes, exactly
    one succeeds; the others raise `ObjectExistsError`."""
    multipart_if_absent: Guarantee = Guarantee.NO
    """The same for uploads in parts."""
    rename_if_absent: Guarantee = Guarantee.NO
    """The same for `ObjectStore.rename_if_absent`; the object is always at one of the paths."""
    link_if_absent: Guarantee = Guarantee.NO
    """The same for giving an object a second name."""
    copy_if_absent: Guarantee = Guarantee.NO
    """The same for `ObjectStore.copy` with `PutMode.create`."""
    ordered_list: Guarantee = Guarantee.NO
    """`ObjectStore.list` yields paths in ascending byte order and starts after ``start_after``
    without reading what comes before."""
    strong_reads: Guarantee = Guarantee.UNKNOWN
    """A read or listing that starts after a write returned sees that write."""
    range_reads: Guarantee = Guarantee.YES
    """Parts of an object are read without reading the whole."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value: object = getattr(self, field.name)
            if not isinstance(value, Guarantee):
                raise InvalidInputError(
                    f"capability {field.name!r} is {value!r}: write Guarantee.YES, Guarantee.NO or "
                    "Guarantee.UNKNOWN"
                )

    def guaranteed(self) -> frozenset[str]:
        """The names of all capabilities that are YES."""
        return frozenset(f.name for f in fields(self) if getattr(self, f.name) is Guarantee.YES)


class ObjectWriter(ABC):
    """A streaming write of one object. Nothing is visible before `close` returns.

    It is open until `close` or `abort` is called, or until a call raises because the write failed:

    - open: `write`, `close` and `abort` do what they say;
    - closed: another `close`, and `abort`, do nothing; `write` raises `InvalidInputError`;
    - aborted, or a `write` or `close` failed: `abort` does nothing; `write` and `close` raise
      `InvalidInputError`. Nothing is published, unless `close` raised `OutcomeUnknownError`.

    As a context manager it closes on success and aborts on an exception. One writer is for one
    thread. A store without streaming writes returns a `lance_core.store.spooling.SpoolingWriter`.
    """

    @abstractmethod
    def write(self, data: pa.Buffer | bytes | bytearray | memoryview) -> None:
        """Append ``data``, which the caller keeps unchanged until `close` returns.

        Raises `InvalidInputError` for what has no bytes, and unless the writer is open.
        """

    @abstractmethod
    def tell(self) -> int:
        """Number of bytes written so far, whatever the state."""

    @abstractmethod
    def close(self) -> None:
        """Make the object visible; outcomes as of `ObjectStore.put`.

        A second call does nothing. Raises `InvalidInputError` after `abort` and after a failure.
        """

    @abstractmethod
    def abort(self) -> None:
        """Drop what was written; does nothing unless the writer is open, and never raises."""

    def __enter__(self) -> ObjectWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


class ObjectStore(ABC):
    """The least that an implementer writes. All methods are thread-safe and blocking."""

    coalesce_gap: int = 1 << 20
    """Ranges less than this many bytes apart are cheaper to read as one (decoders merge them).
    A store that hands out views of mapped memory sets it very large."""

    read_ahead: int = 0
    """Bytes that a scan should read by one request, if it is going to need them: more than it
    needs at the moment. 0 where reading bit by bit is as good."""

    has_views: bool = False
    """Whether reads hand out views of memory, so that several at a time are not faster."""

    @property
    @abstractmethod
    def capabilities(self) -> StoreCapabilities:
        """What this instance guarantees."""

    @property
    def durability(self) -> Durability | None:
        """What holds of writes that returned; None where that is not for the caller to choose."""
        return None

    @abstractmethod
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """The bytes of each range, in the order given; the store may fetch them in parallel.

        A buffer stays valid and unchanged for as long as it is held, even if the object is
        replaced or deleted. Raises `ObjectNotFoundError`, and `CorruptFileError` with path and
        offset if a range ends past the object.
        """

    @abstractmethod
    def get(self, path: str) -> pa.Buffer:
        """The whole object, or `ObjectNotFoundError`."""

    @abstractmethod
    def head(self, path: str) -> ObjectMeta:
        """Size and date of an object, or `ObjectNotFoundError`."""

    @abstractmethod
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        """Write a whole object. Readers see the old or the new object, never a part."""

    @abstractmethod
    def open_writer(self, path: str) -> ObjectWriter:
        """A streaming writer that replaces what is at ``path`` when it is closed.

        It takes a bounded amount of memory, however much is written.
        """

    @abstractmethod
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        """Every object below the folder ``prefix`` ("" is the root), at any depth.

        ``start_after``: only paths that sort after it (full paths, compared as UTF-8 bytes).
        A folder that does not exist is empty. What appears or vanishes meanwhile may or may not
        be listed.
        """

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        """Names (last segments) of the objects directly in ``folder``.

        They ascend if `ordered_list` is guaranteed. ``start_after`` is a full path, as in `list`.
        To be overridden where names come cheaper than sizes and dates, or one folder cheaper than
        all that is below it.
        """
        start = len(folder) + 1 if folder else 0
        for found in self.list(folder, start_after):
            if "/" not in found.path[start:]:
                yield found.path[start:]

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove an object. Deleting what is not there is not an error."""

    @abstractmethod
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        """Copy an object inside the store. ``PutMode.create`` needs `copy_if_absent`."""

    def within(self, seconds: float) -> ObjectStore:
        """The same store, sending nothing in a call that could arrive later than so many seconds.

        To be overridden where a call sends requests again for longer than that.
        """
        return self

    def remove_empty_folders(self, folder: str = "") -> None:
        """Remove ``folder`` and the folders below it, as far as nothing is in them.

        Stores without folders, such as this default, have nothing to do. Never fails: what cannot
        be removed stays.
        """
        return

    def rename_if_absent(self, source: str, target: str) -> None:
        """Move an object to a path where nothing is, atomically, or `ObjectExistsError`."""
        raise UnsupportedFeatureError(f"{type(self).__name__} has no atomic rename")
