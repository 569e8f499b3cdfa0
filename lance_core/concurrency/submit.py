"""Giving work to a pool of threads, even when the interpreter has begun to end.

Pools take nothing any more as soon as the main thread has returned. Other threads may go on for
long after that, and functions registered with `atexit` run then.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def submit(
    executor: Executor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> Future[T]:
    """``work`` under way in ``executor``, or done by the caller if that takes nothing any more."""
    try:
        return executor.submit(work, *args, **kwargs)
    except RuntimeError:
        done: Future[T] = Future()
    try:
        done.set_result(work(*args, **kwargs))
    except BaseException as error:
        done.set_exception(error)
    return done
