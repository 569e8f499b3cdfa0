"""File-system objects of the caller, registered by name.

A table needs a URL. `register_file_system` gives a file-system object a name in this process; the
URLs of its tables begin with ``fsspec://`` and that name.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.concurrency import ForkSafeLock

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Registered:
    """A file-system object, the folder at which URLs start, and the process that registered it."""

    filesystem: Any
    root: str
    process: int
    lock: ForkSafeLock


_registered: dict[str, Registered] = {}
_lock = ForkSafeLock()


def register_file_system(name: str, filesystem: AbstractFileSystem, root: str | None = None) -> str:
    """Register ``filesystem`` under a name; returns the URL of ``root``, ``fsspec://name``.

    ``name``: lower-case letters, digits, ``.``, ``_`` and ``-``. If an external store decides
    commits (``fsspec+sql://``), the name is part of the table's key, so all writers must use the
    same name. ``root``: a folder in the syntax of the file system, by default its root. The object
    is kept until `unregister_file_system`. The registration applies to this process only; child
    processes, Spark executors and processes that unpickle a dataset must register their own object
    under the name. Raises `InvalidInputError` if another object has the name.
    """
    from fsspec import AbstractFileSystem as Any_

    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(f"{name!r} cannot be the name of a file system")
    if not isinstance(filesystem, Any_):
        raise InvalidInputError(f"{type(filesystem).__name__} is not an fsspec file system")
    if getattr(filesystem, "asynchronous", False):
        raise InvalidInputError(
            "the file system has asynchronous=True, which is not supported: create one without "
            "this option"
        )
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
    """Remove the file system of this name, if any; its tables cannot be used any more."""
    with _lock:
        _registered.pop(name, None)


def registered(name: str) -> Registered:
    """The file system of this name; `InvalidInputError` if none is registered in this process."""
    file_system = _registered.get(name)
    if file_system is None or file_system.process != os.getpid():
        raise InvalidInputError(
            f"no file system is registered as {name!r} in this process: "
            f"lance_core_fsspec.register_file_system({name!r}, …) must be called first"
        )
    return file_system
