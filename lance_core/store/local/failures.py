"""Translate errors of the operating system into outcomes of store calls."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from types import TracebackType

from lance_core.errors import LanceError, ObjectNotFoundError, OutcomeUnknownError, StoreError

_NOT_APPLIED = {
    errno.EACCES,
    errno.EBUSY,
    errno.EDQUOT,
    errno.EEXIST,
    errno.EINVAL,
    errno.EISDIR,
    errno.ELOOP,
    errno.EMFILE,
    errno.EMLINK,
    errno.ENAMETOOLONG,
    errno.ENFILE,
    errno.ENOSPC,
    errno.ENOSYS,
    errno.ENOTDIR,
    errno.ENOTEMPTY,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EROFS,
    errno.EXDEV,
}
"""Errors that prove that nothing was applied. Other errors do not: the server may have become
unreachable, or a repeated request, whose first response was lost, does not find the file that it
already moved (``ENOENT``)."""


class _Phase:
    """A context manager that converts an `OSError` with ``translate``."""

    __slots__ = ("_path", "_translate", "_where")

    def __init__(
        self, translate: Callable[[OSError, str, str], OSError], path: str, where: str
    ) -> None:
        self._path = path
        self._where = where
        self._translate = translate

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(value, OSError) and not isinstance(value, LanceError):
            raise self._translate(value, self._path, self._where) from value


def read_error(error: OSError, path: str, where: str) -> OSError:
    """The exception for ``error`` of a read: `ObjectNotFoundError` or `StoreError`."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ObjectNotFoundError(path, where)
    return StoreError(f"reading {path!r} in {where} failed: {error}")


def refused(error: OSError, path: str, where: str) -> OSError:
    """The exception for ``error`` of a step before a write is visible: `StoreError`."""
    return StoreError(f"writing {path!r} in {where} failed: {error}")


def refused_or_unknown(error: OSError, path: str, where: str) -> OSError:
    """The exception for ``error`` of a publication: `StoreError` or `OutcomeUnknownError`."""
    error_type = StoreError if error.errno in _NOT_APPLIED else OutcomeUnknownError
    return error_type(f"writing {path!r} in {where}: {error}")


def _unsettled(error: OSError, path: str, where: str) -> OSError:
    return OutcomeUnknownError(
        f"{path!r} in {where} was written, but may not survive a power failure: {error}"
    )


reading = partial(_Phase, read_error)
"""Errors in the block of ``reading(path, where)`` are read errors; see `read_error`."""

preparing = partial(_Phase, refused)
"""Errors in this block are those of `refused`."""

publishing = partial(_Phase, refused_or_unknown)
"""Errors in this block are those of `refused_or_unknown`."""

settling = partial(_Phase, _unsettled)
"""Errors in this block occur after a write is visible: `OutcomeUnknownError`."""
