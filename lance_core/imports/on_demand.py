"""Import parts of the library at their first use.

Functions of other modules import only what `load` has imported before, or what a single path needs.
If a process has no free file descriptors to open a module's file, the functions here raise a
`StoreError`.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import gc
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from lance_core.errors import StoreError


class Part(enum.Enum):
    """A part of the library: its modules, and the modules that its functions import."""

    # That of an enum is Python code, which would run at each look whether a part is loaded.
    __hash__ = object.__hash__

    TABLES = (
        *("difflib", "hashlib", "importlib.metadata", "pluggy", "pyroaring", "socket"),
        *("urllib.parse", "lance_core.dataset.dataset", "lance_core.plugins.builtin"),
    )
    """Opening tables, and commits."""

    FILES = (
        *("google.protobuf.unknown_fields", "pyarrow.compute", "lance_core._pb.file_pb2"),
        *("lance_core.datafile.metadata", "lance_core.encodings.messages"),
        "lance_core.encodings.arrow.strings",
    )
    """Reading data files."""

    NEW_FILES = ("lance_core.encodings.plugin_values.value_encoding",)
    """Writing data files."""

    COPIES = ("lance_core.store.local.range_copies",)
    """Copying bytes between files."""

    SQL = ("lance_core.dataset.expressions.sql.expression",)
    """SQL expressions."""

    ARROW = ("pyarrow.acero", "lance_core.dataset.expressions.arrow_expression")
    """Arrow expressions."""


_loaded: set[Part] = set()
_lock = threading.RLock()


def _finish_imports() -> None:
    """Wait until no thread is importing: in a forked child, that import would never end.

    pyarrow starts the import of pandas for values of some types. Only an import of pandas in this
    thread guarantees that the other one has finished.
    """
    _lock.acquire()
    if Part.FILES in _loaded:
        with contextlib.suppress(Exception):  # code that needs pandas raises it again
            import_module("pyarrow").array(())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_finish_imports, after_in_parent=_lock.release, after_in_child=_lock.release
    )


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Pause the cyclic garbage collector, where nearly everything that is created stays.

    It would visit all of it several times. With pauses during imports, a process that writes and
    reads a small table takes 3 % less time, and 8 % less again if the first collection afterwards
    does not visit it either.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # otherwise this would thaw what the user has frozen
                gc.freeze()
                gc.unfreeze()  # all objects are in the oldest generation now
            gc.enable()


def load(part: Part) -> None:
    """Import the modules of ``part`` at the first call; later calls do nothing.

    Raises `StoreError` if the import fails because too many files are open.
    """
    if part in _loaded:
        return
    with without_collections():
        for name in part.value:
            import_module(name)
    _loaded.add(part)


def import_module(name: str) -> ModuleType:
    """Import a module; raises `StoreError` if this fails because too many files are open."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module  # to count frozen objects takes longer the more there are
    with _importing(name):
        return importlib.import_module(name)


def public_name(name: str) -> Any:
    """The object that the package has under a public name; imports its module, as above."""
    return import_module("lance_core.imports.public_names").public(name)


def lazy_module(name: str) -> Any:
    """A module of this package that is imported at the first access to one of its members.

    Used by the classes of the public API, whose methods need different modules. An ordinary import
    under ``TYPE_CHECKING`` serves type checkers.
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
    with _lock, without_collections():
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
