"""What an error of the operating system says about a call of the store."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

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
"""Refusals. Others say nothing about what was done before: a server went away, or, asked again
because its answer got lost, it no longer finds the file that it has moved (``ENOENT``)."""


def read_error(error: OSError, path: str, where: str) -> OSError:
    """What to raise for ``error``, met while reading: `ObjectNotFoundError` or `StoreError`."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ObjectNotFoundError(path, where)
    return StoreError(f"reading {path!r} in {where}: {error}")


@contextlib.contextmanager
def reading(path: str, where: str) -> Iterator[None]:
    """Turn what a read raises as `read_error` does."""
    try:
        yield
    except LanceError:
        raise
    except OSError as error:
        raise read_error(error, path, where) from error


@contextlib.contextmanager
def preparing(path: str, where: str) -> Iterator[None]:
    """Turn what happens before a write can be seen into `StoreError`."""
    try:
        yield
    except LanceError:
        raise
    except OSError as error:
        raise StoreError(f"writing {path!r} in {where}: {error}") from error


@contextlib.contextmanager
def publishing(path: str, where: str) -> Iterator[None]:
    """Turn a failed link, rename or removal into `StoreError` or `OutcomeUnknownError`."""
    try:
        yield
    except LanceError:
        raise
    except OSError as error:
        message = f"writing {path!r} in {where}: {error}"
        if error.errno in _NOT_APPLIED:
            raise StoreError(message) from error
        raise OutcomeUnknownError(message) from error


@contextlib.contextmanager
def settling(path: str, where: str) -> Iterator[None]:
    """Turn what happens once a write can be seen into `OutcomeUnknownError`."""
    try:
        yield
    except OSError as error:
        raise OutcomeUnknownError(
            f"{path!r} in {where} was written, but may not survive a power failure: {error}"
        ) from error
