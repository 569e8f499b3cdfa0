"""Memory for results: large arrays from one of Arrow's pools.

A pool hands out again what was freed. What numpy allocates is mapped anew each time, and the
system then clears every page of it, which costs more than most decoders do. In return a pool keeps
more than is in use: Arrow's usual one, mimalloc, up to three times as much where threads free what
others have allocated, as they do in streams of batches, and huge pages of which it uses a part.
`low_retention_pool` is for streams, and for results that are large themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LARGE = 64 << 10
_TOO_LARGE = 1 << 40
"""Bytes from which on it pays, and from which on there is none: numpy says so."""

_pool: ContextVar[pa.MemoryPool | None] = ContextVar("_pool", default=None)


def empty(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of ``count`` elements that are still to be filled in; as `numpy.empty`.

    Raises `MemoryError` if there is not enough memory.
    """
    kind = np.dtype(dtype)
    size = count * kind.itemsize
    if not _LARGE <= size < _TOO_LARGE:
        return np.empty(count, kind)
    return np.frombuffer(allocate(size), kind)


def allocate(size: int) -> pa.Buffer:
    """A buffer of ``size`` bytes that are still to be filled in."""
    return pa.allocate_buffer(size, memory_pool=memory_pool())


def memory_pool() -> pa.MemoryPool | None:
    """The pool for what the calling thread allocates now; None stands for the usual one."""
    return _pool.get()


@contextmanager
def low_retention_pool() -> Iterator[None]:
    """Meanwhile the calling thread takes memory from where least is kept of what was freed.

    That is jemalloc, told to return at once what is freed, if Arrow has it and the usual pool is
    mimalloc: any other was somebody's choice. If not, it is the usual pool, which `release_unused`
    is for.
    """
    before = _pool.set(_sparing_pool())
    try:
        yield
    finally:
        _pool.reset(before)


def release_unused() -> None:
    """Return to the system what the usual pool keeps of memory that was freed, if it is not spared.

    Nothing in use changes. Also what the calling thread keeps for itself: call it in the thread
    that decodes.
    """
    if _sparing_pool() is None:
        pa.default_memory_pool().release_unused()


def _sparing_pool() -> pa.MemoryPool | None:
    if pa.default_memory_pool().backend_name != "mimalloc":
        return None
    return _jemalloc()


@cache
def _jemalloc() -> pa.MemoryPool | None:
    """None on systems that Arrow does not have it on."""
    try:
        pool = pa.jemalloc_memory_pool()
        pa.jemalloc_set_decay_ms(0)
    except NotImplementedError:
        return None
    return pool
