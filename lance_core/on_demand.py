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

from lance_core.errors import StoreError


class Part(enum.Enum):
    """A part of the library, with its modules and those that its functions import."""

    TABLES = (
        *("difflib", "hashlib", "importlib.metadata", "pluggy", "pyroaring", "socket"),
        *("urllib.parse", "lance_core.dataset.exports", "lance_core.builtin"),
    )
    """Opening tables, and commits."""

    FILES = (
        *("google.protobuf.unknown_fields", "pyarrow.compute", "lance_core._pb.file_pb2"),
        *("lance_core.datafile.metadata", "lance_core.datafile.legacy_metadata"),
        *("lance_core.encodings.messages", "lance_core.encodings.v2_0.fields"),
        *("lance_core.encodings.v2_1.read.fields", "lance_core.encodings.arrow.strings"),
    )
    """Reading data files."""

    NEW_FILES = (
        *(
            "lance_core.encodings.plugin_values.value_encoding",
            "lance_core.encodings.v2_0.field_encoder",
        ),
        "lance_core.encodings.v2_1.write.field_encoder",
    )
    """Writing data files."""

    SQL = (
        "lance_core.dataset.expressions.sql.expression",
        "lance_core.dataset.expressions.sql.outcomes",
    )
    """Expressions in SQL."""

    ARROW = ("pyarrow.acero", "lance_core.dataset.expressions.arrow_expression")
    """Expressions of Arrow."""


_loaded: set[Part] = set()
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A fork waits until no thread is importing: in the child, the import would never end.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
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
