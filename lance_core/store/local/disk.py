"""Every call by which the local store changes a file system, and when it waits for the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from lance_core.errors import InvalidInputError
from lance_core.store.durability import Durability
from lance_core.store.local.libc import rename_exclusive
from lance_core.store.secret import Secret, plain

VARIABLE = "LANCE_CORE_DURABILITY"
"""Environment variable that says which `Durability` a local store has if no option does."""

_MAX_VIEWS = min(1024, os.sysconf("SC_IOV_MAX") if hasattr(os, "sysconf") else 16)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


def chosen_durability(
    options: Mapping[str, str | Secret], environ: Mapping[str, str] = os.environ
) -> Durability:
    """What the option ``durability`` or else the environment asks for; ``durable`` by default."""
    text = plain(options.get("durability", environ.get(VARIABLE, Durability.durable.value)))
    try:
        return Durability(text.strip().lower())
    except ValueError:
        raise InvalidInputError(
            f"durability is {text!r}; it can be 'durable' or 'fast' (option 'durability' or "
            f"environment variable {VARIABLE})"
        ) from None


class Disk:
    """The real file system. Whoever wants to know or change what happens passes a subclass.

    Paths are absolute. Every method raises `OSError` and nothing else. ``exclusive_moves``: how a
    name is taken exclusively on each device, by number, and in each folder, by path, as
    `lance_core.store.local.exclusive` found out.
    """

    __slots__ = ("exclusive_moves",)

    def __init__(self) -> None:
        self.exclusive_moves: dict[int | str, Callable[[Disk, str, str], None]] = {}

    def create(self, path: str) -> int:
        """A descriptor for writing a new file; `FileExistsError` if anything is at ``path``."""
        return os.open(path, _CREATE, 0o666)

    def write(self, descriptor: int, views: Sequence[memoryview]) -> None:
        """Write all bytes of ``views``, straight from where they are."""
        pending = list(views)
        if len(pending) == 1:
            rest = pending[0][os.write(descriptor, pending[0]) :]
            pending = [rest] if rest.nbytes else []
        while pending:
            written = os.writev(descriptor, pending[:_MAX_VIEWS])
            done = 0
            while done < len(pending) and written >= pending[done].nbytes:
                written -= pending[done].nbytes
                done += 1
            del pending[:done]
            if written:
                pending[0] = pending[0][written:]

    def copy_bytes(self, source: int, target: int, length: int) -> None:
        """Append the first ``length`` bytes of one open file to another."""
        position = 0
        while position < length:
            if chunk := os.pread(source, min(1 << 20, length - position), position):
                self.write(target, [memoryview(chunk)])
                position += len(chunk)
            else:
                raise OSError(f"the file ended after {position} of {length} bytes")

    def sync_file(self, descriptor: int) -> None:
        """Return once what was written to the file is on disk."""
        os.fsync(descriptor)

    def sync_folder(self, path: str) -> None:
        """Return once the names in a folder are on disk."""
        descriptor = os.open(path, _FOLDER)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def make_folder(self, path: str) -> None:
        """Make one folder; `FileExistsError` if anything is there."""
        os.mkdir(path)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; `FileExistsError` if anything has it."""
        os.link(source, target)

    def rename(self, source: str, target: str) -> None:
        """Move a file, replacing what is at ``target``."""
        os.replace(source, target)

    def rename_exclusive(self, source: str, target: str) -> None:
        """Move a file; `FileExistsError` if anything is at ``target``."""
        rename_exclusive(source, target)

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        os.rmdir(path)


REAL_DISK = Disk()
"""What stores use that are given no other."""
