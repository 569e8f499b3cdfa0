"""Importing the parts of the library when they are first needed, all at a few places.

Functions of other modules import what is loaded here, or what they need only on such a path. A
process without descriptors to open the files of modules gets a `StoreError` from here.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import importlib
import os
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from lance_core.errors import StoreError


class Part(enum.Enum):
    """A part of the library, with its modules and those that its functions import."""

    TABLES = (
        *("difflib", "hashlib", "importlib.metadata", "pluggy", "pyroaring", "socket"),
        *("urllib.parse", "lance_core.dataset.dataset", "lance_core.builtin"),
    )
    """Opening tables, and commits."""

    FILES = (
        *("google.protobuf.unknown_fields", "pyarrow.compute", "lance_core._pb.file_pb2"),
        *("lance_core.datafile.metadata", "lance_core.encodings.messages"),
        "lance_core.encodings.arrow.strings",
    )
    """Reading data files."""

    FILES_2_0 = ("lance_core.encodings.v2_0.fields",)
    """Reading data files of version 2.0."""

    FILES_2_1 = ("lance_core.encodings.v2_1.read.fields",)
    """Reading data files of versions 2.1 and 2.2."""

    NEW_FILES = ("lance_core.encodings.plugin_values.value_encoding",)
    """Writing data files."""

    NEW_FILES_2_0 = ("lance_core.encodings.v2_0.field_encoder",)
    """Writing data files of version 2.0."""

    NEW_FILES_2_1 = ("lance_core.encodings.v2_1.write.field_encoder",)
    """Writing data files of versions 2.1 and 2.2."""

    SQL = ("lance_core.dataset.expressions.sql.expression",)
    """Expressions in SQL."""

    ARROW = ("pyarrow.acero", "lance_core.dataset.expressions.arrow_expression")
    """Expressions of Arrow."""


_loaded: set[Part] = set()
_lock = threading.RLock()


def _finish_imports() -> None:
    """Wait until no thread is importing: in a forked child, its import would never end.

    That of pandas is begun by pyarrow, for values of some types, and only finished for certain if
    this thread asks for it, too.
    """
    _lock.acquire()
    if Part.FILES in _loaded:
        with contextlib.suppress(Exception):  # it would be raised again where pandas is needed
            import_module("pyarrow").array(())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_finish_imports, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def load(part: Part) -> None:
    """Import a part, at the first call for it.

    Raises `StoreError` if that fails because too many files are open.
    """
    if part in _loaded:
        return
    for name in part.value:
        import_module(name)
    _loaded.add(part)


def import_module(name: str) -> ModuleType:
    """`importlib.import_module`; `StoreError` if that fails because too many files are open."""
    with _importing(name):
        return importlib.import_module(name)


def lazy_module(name: str) -> Any:
    """A module of this package that is imported when one of its members is first used.

    It is for the edges of the library, where one verb of many is chosen. Type checkers are told to
    see an ordinary import.
    """
    return _LazyModule(name)


class _LazyModule(ModuleType):
    _module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if self._module is None:
            self._module = import_module(self.__name__)
        return getattr(self._module, name)


@contextlib.contextmanager
def _importing(name: str) -> Iterator[None]:
    with _lock:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            most = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else "no more"
            raise StoreError(
                f"module {name} cannot be imported, too many files are open: this process may "
                f"have {most} (ulimit -n)"
            ) from error
