"""The store contract: objects (byte strings) identified by paths.

A store is rooted: every path is relative to the root of the store, its segments are separated by
``/``, and no path leads outside. An implementer writes an `ObjectStore`; convenience functions are
elsewhere in this package.

How a call ends: returning means *applied*. `ObjectExistsError`, `ObjectNotFoundError`,
`InvalidPathError` and any `StoreError` other than `OutcomeUnknownError` mean *not applied*.
`OutcomeUnknownError` means *unknown*: the write may have been applied, or may still be applied.
Callers must treat every other exception of a write as unknown too.
"""

from __future__ import annotations

import contextlib
import enum
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from types import TracebackType
from typing import ClassVar, TypeAlias

import pyarrow as pa

from lance_core.byte_ranges import ByteRange, BytesLike, CopyRanges
from lance_core.errors import InvalidInputError, ObjectNotFoundError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.durability import Durability

Buffers: TypeAlias = BytesLike | Sequence[pa.Buffer]
"""The data of a write: one buffer, or several that are concatenated."""


class PutMode(enum.Enum):
    """How a write treats an existing object at its path."""

    overwrite = "overwrite"
    create = "create"
    """Fail with `ObjectExistsError`, atomically: exactly one of several concurrent writers
    succeeds."""


@dataclass(frozen=True, slots=True)
class ObjectMeta:
    """Metadata of an object. ``size`` is in bytes; ``last_modified`` has a time zone.

    ``etag``: a text that differs after each write of the path and is never reused; None if the
    store has none. It distinguishes an object from a later one at the same path.
    """

    path: str
    size: int
    last_modified: datetime
    etag: str | None = None


class Guarantee(enum.Enum):
    """The level of a guarantee; UNKNOWN means that the probe must test it."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StoreCapabilities:
    """The guarantees of a store. The default of every field is UNKNOWN or NO.

    A call that requires a capability declared NO raises `UnsupportedFeatureError`; it never falls
    back to weaker behaviour. Raises `InvalidInputError` if a value is not a `Guarantee`, such as
    True.
    """

    put_if_absent: Guarantee = Guarantee.UNKNOWN
    """Of all calls of `ObjectStore.put` with `PutMode.create` to a path, by any number of
    processes, exactly one succeeds; the others raise `ObjectExistsError`."""
    multipart_if_absent: Guarantee = Guarantee.NO
    """Like ``put_if_absent``, for multipart uploads."""
    rename_if_absent: Guarantee = Guarantee.NO
    """Like ``put_if_absent``, for `ObjectStore.rename_if_absent`; the object is at one of the two
    paths at any time."""
    link_if_absent: Guarantee = Guarantee.NO
    """Like ``put_if_absent``, for giving an object a second name (a hard link)."""
    copy_if_absent: Guarantee = Guarantee.NO
    """Like ``put_if_absent``, for `ObjectStore.copy` with `PutMode.create`."""
    ordered_list: Guarantee = Guarantee.NO
    """`ObjectStore.list` yields paths in ascending byte order, and starts after ``start_after``
    without reading the earlier ones."""
    strong_reads: Guarantee = Guarantee.UNKNOWN
    """A read or listing that starts after a write returned sees that write."""
    range_reads: Guarantee = Guarantee.YES
    """The store reads ranges of an object without reading the whole object."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value: object = getattr(self, name)
            if not isinstance(value, Guarantee):
                raise InvalidInputError(
                    f"capability {name!r} is {value!r}: write Guarantee.YES, Guarantee.NO or "
                    "Guarantee.UNKNOWN"
                )

    def guaranteed(self) -> frozenset[str]:
        """The names of all capabilities whose value is YES."""
        names: set[str] = set()
        for name in self.__dataclass_fields__:  # a comprehension is one more call at each opening
            if getattr(self, name) is Guarantee.YES:
                names.add(name)
        return frozenset(names)


class ObjectWriter(ABC):
    """A streaming write of one object. Nothing is visible before `close` returns.

    It is open until `close` or `abort` is called, or until a call fails:

    - open: `write`, `close` and `abort` work as documented;
    - closed: another `close`, and `abort`, do nothing; `write` raises `InvalidInputError`;
    - aborted, or a `write` or `close` failed: `abort` does nothing; `write` and `close` raise
      `InvalidInputError`. Nothing is published, unless `close` raised `OutcomeUnknownError`.

    As a context manager it closes on success and aborts on an exception. One writer is for one
    thread. A store without streaming writes returns a `lance_core.store.spooling.SpoolingWriter`.
    """

    @abstractmethod
    def write(self, data: pa.Buffer | bytes | bytearray | memoryview) -> None:
        """Append ``data``, which the caller must not change until `close` returns.

        Raises `InvalidInputError` if ``data`` does not support the buffer protocol, or if the
        writer is not open.
        """

    def reserve(self, size: int) -> None:  # noqa: B027 - most stores need not know
        """Expect about ``size`` more bytes. A store may use it to allocate space at once."""

    def copy_with(self, copy_ranges: CopyRanges | None) -> None:  # noqa: B027 - for local files
        """Let ``copy_ranges`` copy the bytes of `ObjectStore.append_from` if it can.

        Only stores of local files have a use for it. None: the store copies them itself.
        """

    @abstractmethod
    def tell(self) -> int:
        """The number of bytes written so far, in every state."""

    @abstractmethod
    def close(self) -> None:
        """Make the object visible; ends like `ObjectStore.put`.

        A second call does nothing. Raises `InvalidInputError` after `abort` and after a failure.
        """

    @abstractmethod
    def abort(self) -> None:
        """Discard the written bytes; does nothing unless the writer is open, and never raises."""

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


COPY_BYTES = 8 << 20
"""Default maximum bytes that `ObjectStore.append_from` reads at once."""


def batches(ranges: Sequence[ByteRange], limit: int) -> Iterator[list[ByteRange]]:
    """``ranges`` in groups of at most ``limit`` bytes; longer ranges are split."""
    batch: list[ByteRange] = []
    size = 0
    for start, stop in ranges:
        at = start
        while at < stop:
            end = min(stop, at + limit - size)
            batch.append(ByteRange(at, end))
            size += end - at
            at = end
            if size == limit:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


class ObjectStore(ABC):
    """The methods that a store implements. All are thread-safe and blocking.

    What the stores of plugins return is checked, see `lance_core.store.wrappers.result_checks`.
    """

    keeps_contract: ClassVar[bool] = False
    """True in the stores of this package alone, whose results need no checks. A class that inherits
    it is checked nevertheless."""

    coalesce_gap: int = 1 << 20
    """Gap in bytes below which reading two ranges as one is cheaper (decoders merge them). A store
    that returns views of mapped memory sets it very large."""

    read_ahead: int = 0
    """Minimum bytes per request of a scan, which reads ahead if its next step needs less. 0 if
    small reads cost nothing extra."""

    has_views: bool = False
    """True if reads return views of memory, so that parallel reads are not faster."""

    @property
    @abstractmethod
    def capabilities(self) -> StoreCapabilities:
        """The guarantees of this instance."""

    @property
    def guarantor(self) -> str | None:
        """What gives the guarantees: the server, the container, and the way of writing to it.

        A text of any length without secrets. What a probe finds holds for all stores with an equal
        text, in all processes, with any folders and credentials. None: only for stores of
        the same kind, place and options in this process.
        """
        return None

    def check_can_write(self) -> None:  # noqa: B027 - most stores can
        """Raise `UnsupportedFeatureError` if the store is known to accept no writes."""

    @property
    def durability(self) -> Durability | None:
        """The durability of completed writes; None if the caller cannot choose it."""
        return None

    @abstractmethod
    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        """The bytes of each range, in the given order; the store may read them in parallel.

        A buffer stays valid and unchanged while it is referenced, even if the object is replaced or
        deleted. Raises `ObjectNotFoundError`, and `CorruptFileError` with path and offset if a
        range ends past the object.
        """

    @abstractmethod
    def get(self, path: str) -> pa.Buffer:
        """The whole object; raises `ObjectNotFoundError`."""

    @abstractmethod
    def head(self, path: str) -> ObjectMeta:
        """Metadata of an object; raises `ObjectNotFoundError`."""

    def existing(self, paths: Sequence[str]) -> list[str]:
        """Those of ``paths`` at which there is an object, looked at in the given order.

        Override this if the store can tell at a lower cost than by `head`.
        """
        present = []
        for path in paths:
            with contextlib.suppress(ObjectNotFoundError):
                present.append(self.head(path).path)
        return present

    @abstractmethod
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        """Write a whole object. Readers see either the old or the new object, never a mixture."""

    @abstractmethod
    def open_writer(self, path: str) -> ObjectWriter:
        """A streaming writer that replaces the object at ``path`` when it is closed.

        Its memory use is bounded, independent of the length of the object.
        """

    @abstractmethod
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        """All objects below the folder ``prefix`` ("" is the root), at any depth.

        ``start_after``: list only paths that sort after it (full paths, compared as UTF-8 bytes). A
        folder that does not exist is empty. Objects that are added or removed at the same time may
        or may not be listed.
        """

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        """Names (last segments) of the objects directly in ``folder``.

        They are in ascending order if `ordered_list` is guaranteed. ``start_after`` is a full path,
        as in `list`. Override this if the store can list names without sizes and dates, or one
        folder without its subfolders, at a lower cost.
        """
        start = len(folder) + 1 if folder else 0
        for meta in self.list(folder, start_after):
            if "/" not in meta.path[start:]:
                yield meta.path[start:]

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove an object; not an error if it does not exist."""

    @abstractmethod
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        """Copy an object inside the store. ``PutMode.create`` requires `copy_if_absent`."""

    def append_from(
        self,
        writer: ObjectWriter,
        source: str,
        ranges: Sequence[ByteRange],
        batch_bytes: int = COPY_BYTES,
    ) -> None:
        """Append ranges of the object ``source`` to a writer, in the given order.

        ``writer`` is open, and is one of this store or of any other. Raises `ObjectNotFoundError`
        and `CorruptFileError` like `get_ranges`, and otherwise ends like `ObjectWriter.write`; the
        caller aborts the writer after an error. This default reads at most ``batch_bytes`` at once
        and writes them. Override it if the store can copy bytes without sending them to this
        process.
        """
        for batch in batches(ranges, batch_bytes):
            for piece in self.get_ranges(source, batch):
                writer.write(piece)

    def within(self, seconds: float) -> ObjectStore:
        """This store, limited to requests that arrive within ``seconds`` of the start of a call.

        Override this if a call may repeat its requests for longer.
        """
        return self

    def turn(self, folder: str, patience: float) -> AbstractContextManager[None]:
        """Let the writers of ``folder`` come one after the other, as far as the store can.

        Waits for at most ``patience`` seconds while another caller is in its turn. A courtesy that
        saves writers from hindering each other: nothing may depend on it. Never fails. This default
        does nothing.
        """
        return contextlib.nullcontext()

    def remove_empty_folders(self, folder: str = "") -> None:
        """Remove ``folder`` and its subfolders as far as they contain no objects.

        This default, for stores without folders, does nothing. Never fails: a folder that cannot be
        removed remains.
        """
        return

    def rename_if_absent(self, source: str, target: str) -> None:
        """Move an object to an unused path, atomically; raises `ObjectExistsError`."""
        raise UnsupportedFeatureError(f"{type(self).__name__} has no atomic rename")
