"""File systems that the caller made, by name.

A table needs a URL. `register_file_system` gives a file-system object a name in this process, and
the tables on it have URLs that begin with ``fsspec://`` and that name.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.errors import InvalidInputError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Registered:
    """An object, the folder in it that URLs start at, and the process that made it."""

    filesystem: Any
    root: str
    process: int
    lock: ForkSafeLock


_registered: dict[str, Registered] = {}
_lock = ForkSafeLock()


def register_file_system(name: str, filesystem: AbstractFileSystem, root: str | None = None) -> str:
    """Give ``filesystem`` a name in this process; returns the URL of ``root``, ``fsspec://name``.

    ``name``: letters in lower case, digits, ``.``, ``_`` and ``-``. Where commits are decided
    outside of the file system (``fsspec+sql://``), it is part of what a table is known by: all
    writers must use the same. ``root``: a folder as the file system writes it, by default the
    outermost. The object is kept until `unregister_file_system`. It is known to this process only,
    not to children, Spark executors or a process that unpickles a dataset: they register one of
    their own under the name. Raises `InvalidInputError` if the name is taken by another.
    """
    from fsspec import AbstractFileSystem as Any_

    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(f"{name!r} cannot be the name of a file system")
    if not isinstance(filesystem, Any_):
        raise InvalidInputError(f"{type(filesystem).__name__} is no fsspec file system")
    if getattr(filesystem, "asynchronous", False):
        raise InvalidInputError("the file system was made with asynchronous=True: make another")
    start = filesystem.root_marker if root is None else filesystem._strip_protocol(root)  # noqa: SLF001
    process = os.getpid()
    with _lock:
        known = _registered.get(name)
        if known is not None and known.process == process:
            if (known.filesystem, known.root) != (filesystem, start):
                raise InvalidInputError(f"another file system is registered as {name!r}")
        else:
            _registered[name] = Registered(filesystem, start, process, ForkSafeLock())
    return f"fsspec://{name}"


def unregister_file_system(name: str) -> None:
    """Forget the file system of this name, if there is one; its tables cannot be used any more."""
    with _lock:
        _registered.pop(name, None)


def registered(name: str) -> Registered:
    """The file system of this name; `InvalidInputError` if this process has none."""
    found = _registered.get(name)
    if found is None or found.process != os.getpid():
        raise InvalidInputError(
            f"no file system is registered as {name!r} in this process: "
            f"lance_core_fsspec.register_file_system({name!r}, …) has to come first"
        )
    return found
