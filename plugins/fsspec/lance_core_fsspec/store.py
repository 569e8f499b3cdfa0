"""A store on an fsspec file system."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import pyarrow as pa

from lance_core.errors import (
    InvalidInputError,
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs import StoreUrl
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import (
    Buffers,
    ByteRange,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
    check_folder,
    check_path,
    joined,
)
from lance_core_fsspec.errors import is_missing, read_failure, write_failure
from lance_core_fsspec.listing import children, is_folder, meta_of, walk
from lance_core_fsspec.mount import Mount
from lance_core_fsspec.reads import read_ranges
from lance_core_fsspec.source import Source
from lance_core_fsspec.writer import SpoolWriter
from lance_core_fsspec.writes import copied_from, make_object, sent_from

T = TypeVar("T")


def open_store(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The store of ``url``; ``options`` are arguments of its file system, as text or JSON.

    Ignores ``durability``, an option of local files, which a commit handler may use.
    """
    arguments = {name: value for name, value in options.items() if name != "durability"}
    return FsspecStore(Source(url, arguments))


class FsspecStore(ObjectStore):
    """The objects below a folder of the file system of ``source``.

    It uses no cached listings. The file system itself defines time-outs and retries.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        source.mount()  # raises errors of the URL and the options now

    def __repr__(self) -> str:
        return f"FsspecStore({self._source!r})"

    def __reduce__(self) -> NoReturn:
        raise UnsupportedFeatureError("a store cannot be pickled: send a StoreConfig and open it")

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._source.mount().traits.capabilities

    def check_can_write(self) -> None:
        self._check_writable(self._source.mount())

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        check_path(path)
        return self._read(path, lambda mount: read_ranges(mount, path, ranges, self.coalesce_gap))

    def get(self, path: str) -> pa.Buffer:
        check_path(path)

        def whole(mount: Mount) -> pa.Buffer:
            with mount.lock:
                mount.filesystem.invalidate_cache()  # some read the size from it
                return pa.py_buffer(mount.filesystem.cat_file(mount.key(path)))

        return self._read(path, whole)

    def head(self, path: str) -> ObjectMeta:
        check_path(path)

        def look(mount: Mount) -> ObjectMeta:
            with mount.lock:
                mount.filesystem.invalidate_cache()
                entry = mount.filesystem.info(mount.key(path))
            if is_folder(entry):
                raise ObjectNotFoundError(path, repr(self._source))
            return meta_of(mount, path, entry)

        return self._read(path, look)

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        check_path(path)
        if not isinstance(mode, PutMode):
            raise InvalidInputError(f"mode must be a PutMode, got {mode!r}")
        content = bytes(joined(data))
        if mode is PutMode.create:
            self._create(path, content)
        else:
            self._write(path, lambda mount: lambda key: mount.filesystem.pipe_file(key, content))

    def open_writer(self, path: str) -> ObjectWriter:
        check_path(path)
        self._check_writable(self._source.mount())

        def finish(file: Path) -> None:
            self._write(path, lambda mount: sent_from(mount, file))

        return SpoolWriter(path, finish)

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        folder = check_folder(prefix)
        objects = self._read(folder, lambda mount: dict(walk(mount, folder)))
        mount = self._source.mount()
        for path in sorted(objects):
            if start_after is None or path > start_after:
                # An object removed since then need not be listed.
                with contextlib.suppress(ObjectNotFoundError):
                    yield self._meta(mount, path, objects[path])

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        start = len(check_folder(folder)) + 1 if folder else 0

        def look(mount: Mount) -> list[str]:
            with mount.lock:
                entries = children(mount, folder)
            return sorted(path for path, entry in entries.items() if not is_folder(entry))

        for path in self._read(folder, look):
            if start_after is None or path > start_after:
                yield path[start:]

    def delete(self, path: str) -> None:
        check_path(path)

        def remove(mount: Mount) -> None:
            with mount.lock:
                try:
                    mount.filesystem.rm_file(mount.key(path))
                except Exception as error:
                    if not is_missing(error) and mount.filesystem.isfile(mount.key(path)):
                        raise

        self._apply(path, remove)

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        check_path(source)
        check_path(target)
        if mode is not PutMode.overwrite:
            raise UnsupportedFeatureError(f"{self._source!r} has no atomic copy")
        self.head(source)
        if source != target:
            self._write(target, lambda mount: copied_from(mount, source))

    def remove_empty_folders(self, folder: str = "") -> None:
        check_folder(folder)
        mount = self._source.mount()
        if mount.traits.stages:
            with contextlib.suppress(Exception):
                _remove_empty(mount, folder)

    def _meta(self, mount: Mount, path: str, entry: Mapping[str, object]) -> ObjectMeta:
        return self._read(path, lambda _: meta_of(mount, path, entry))

    def _create(self, path: str, content: bytes) -> None:
        """Write an object if there is none, with the file system's conditional write."""
        if self.capabilities.put_if_absent is Guarantee.NO:
            raise UnsupportedFeatureError(
                f"{self._source!r} cannot write an object only if there is none"
            )

        def create(mount: Mount) -> None:
            with mount.lock:
                mount.filesystem.pipe_file(mount.key(path), content, mode="create")

        try:
            self._apply(path, create)
        except OutcomeUnknownError:
            raise
        except (ObjectExistsError, StoreError) as error:
            # An earlier internal attempt of the file system may have been applied.
            there = self._seen(path)
            if there is None and not isinstance(error, ObjectExistsError):
                raise
            if there is not None and not there.equals(pa.py_buffer(content)):
                raise
            failure = OutcomeUnknownError(f"{path!r} may have been written just now: {error}")
        else:
            return
        raise failure

    def _seen(self, path: str) -> pa.Buffer | None:
        """The object at ``path``, or None if it does not exist or cannot be read."""
        try:
            return self.get(path)
        except LanceError:
            return None

    def _write(self, path: str, sender: Callable[[Mount], Callable[[str], None]]) -> None:
        def write(mount: Mount) -> None:
            make_object(mount, path, sender(mount), self._source.redact)

        try:
            self._apply(path, write)
        except ObjectExistsError as error:  # the write is unconditional: a file blocks a folder
            raise StoreError(f"{error.path!r} cannot be created here") from None

    def _apply(self, path: str, act: Callable[[Mount], None]) -> None:
        """Run a write; converts its exceptions to those of the store contract."""
        mount = self._source.mount()
        self._check_writable(mount)
        try:
            return act(mount)
        except (LanceError, MemoryError):
            raise
        except Exception as error:
            failure = write_failure(error, path, repr(self._source), self._source.redact)
        raise failure  # without the original, whose text may hold a secret

    def _read(self, path: str, act: Callable[[Mount], T]) -> T:
        mount = self._source.mount()
        try:
            return act(mount)
        except (LanceError, MemoryError):
            raise
        except Exception as error:
            failure = read_failure(error, path, repr(self._source), self._source.redact)
        raise failure  # without the original, whose text may hold a secret

    def _check_writable(self, mount: Mount) -> None:
        if mount.traits.is_read_only:
            raise UnsupportedFeatureError(
                f"{self._source!r} is read-only: tables on {mount.traits.protocol!r} file "
                "systems cannot be written"
            )


def _remove_empty(mount: Mount, folder: str) -> bool:
    """Remove ``folder`` if it contains only empty folders; True if it was removed."""
    with mount.lock:
        entries = children(mount, folder)
    gone = [is_folder(entry) and _remove_empty(mount, path) for path, entry in entries.items()]
    if not all(gone) or not folder:
        return False
    with mount.lock:
        mount.filesystem.rmdir(mount.key(folder))
    return True
