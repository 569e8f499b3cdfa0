"""Allocate large result arrays from an Arrow memory pool.

A pool reuses freed memory. numpy maps each large array anew, and the operating system then clears
every page, which costs more than most decoders do. In return a pool retains memory that is not in
use. Arrow's default pool, mimalloc, retains up to three times the used memory if one thread frees
what another thread allocated, as streams of batches do, and maps huge pages that it uses in part.
Use `low_retention_pool` for streams and for large results. Its largest buffers have huge pages,
which are cleared several times faster (`huge_pages`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.huge_pages import huge_buffer, huge_bytes
from lance_core.errors import ResultTooLargeError

_LARGE = 64 << 10
_TOO_LARGE = 1 << 40
"""Use Arrow's pool for arrays of this many bytes.

Below ``_LARGE`` numpy is as fast. Above ``_TOO_LARGE`` no allocation succeeds, and numpy raises
`MemoryError`.
"""

_DECAY = 20
"""Milliseconds for which a pool keeps freed memory: the next window of a stream uses it again, so
that the operating system need not clear it once more. With 0 a stream takes a seventh longer."""

_pool: ContextVar[pa.MemoryPool | None] = ContextVar("_pool", default=None)
_max_kept: ContextVar[int] = ContextVar("_max_kept", default=0)


def empty(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An uninitialised array of ``count`` elements, as `numpy.empty` returns.

    Raises `MemoryError` if there is not enough memory.
    """
    element_type = np.dtype(dtype)
    size = count * element_type.itemsize
    if not _LARGE <= size < _TOO_LARGE:
        return np.empty(count, element_type)
    return np.frombuffer(allocate(size), element_type)


def allocate(size: int) -> pa.Buffer:
    """An uninitialised buffer of ``size`` bytes."""
    pool = _pool.get()
    if pool is not None and huge_bytes(size) and size < _TOO_LARGE:
        try:
            return huge_buffer(size, max_kept=_max_kept.get())
        except OSError:
            pass  # there are too many mappings, or the kernel has no huge pages
    return pa.allocate_buffer(size, memory_pool=pool)


def concat_arrays(arrays: Sequence[pa.Array]) -> pa.Array:
    """The values of all arrays, one after the other; a single array is not copied.

    Raises `ResultTooLargeError` if one array cannot hold them: for example 2 GiB of strings, or
    more distinct dictionary items than the index type can number.
    """
    if len(arrays) == 1:
        return arrays[0]
    try:
        return pa.concat_arrays(arrays, memory_pool())
    except pa.ArrowInvalid as error:
        count = sum(map(len, arrays))
        raise ResultTooLargeError(
            f"{count} values of type {arrays[0].type} do not fit one array: {_short(error)}"
        ) from error


def _short(error: pa.ArrowInvalid) -> str:
    """The message without Arrow's advice, which does not apply to stored columns."""
    return str(error).partition(", consider")[0]


def memory_pool() -> pa.MemoryPool | None:
    """The pool from which the calling thread allocates now; None means Arrow's default pool."""
    return _pool.get()


@contextmanager
def low_retention_pool(*, max_kept: int = 0) -> Iterator[None]:
    """Let the calling thread allocate from a pool that retains little freed memory.

    The pool is jemalloc, configured to return freed memory after `_DECAY` milliseconds, if Arrow
    includes it and the default pool is mimalloc. With any other default pool, which the user has
    chosen, that pool stays in use; call `release_unused` to shrink it. ``max_kept``: how many bytes
    of the largest buffers are kept when they are freed, as far as the system does not need them.
    """
    before = _pool.set(_low_retention())
    limit = _max_kept.set(max_kept)
    try:
        yield
    finally:
        _max_kept.reset(limit)
        _pool.reset(before)


def release_unused() -> None:
    """Return the freed memory that the default pool retains to the operating system.

    Memory in use stays valid. The pool also keeps memory per thread, so call this function in the
    thread that decodes. It does nothing if `low_retention_pool` uses jemalloc instead.
    """
    if _low_retention() is None:
        pa.default_memory_pool().release_unused()


def release_all_unused() -> None:
    """Return the freed memory that all pools retain to the operating system.

    It takes longer than `release_unused`: for use after a stream, not between its windows.
    """
    pa.default_memory_pool().release_unused()
    if (pool := _low_retention()) is not None:
        pool.release_unused()


def _low_retention() -> pa.MemoryPool | None:
    if pa.default_memory_pool().backend_name != "mimalloc":
        return None
    return _jemalloc()


@cache
def _jemalloc() -> pa.MemoryPool | None:
    """The jemalloc pool; None on platforms on which Arrow does not include it."""
    try:
        pool = pa.jemalloc_memory_pool()
        pa.jemalloc_set_decay_ms(_DECAY)
    except NotImplementedError:
        return None
    return pool
