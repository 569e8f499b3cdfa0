"""Fast paths: special cases that are done faster than the plain way, with equal results.

Each decision point has a table of its fast paths. The first that applies is taken; if none does,
the plain code runs. In the plain mode no fast path applies anywhere. A reader of the code learns
the format from the plain way alone, tests compare both ways, and a user sees whether a fast path
is at fault.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, ParamSpec, TypeVar

VARIABLE = "LANCE_CORE_PLAIN"
"""Environment variable; "1" selects the plain mode. It is read once per process."""

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


class FastPath(Generic[P, R]):
    """``applies`` returns None, or the case that ``run`` does."""

    __slots__ = ("applies", "run")

    def __init__(self, applies: Callable[P, T | None], run: Callable[[T], R]) -> None:
        self.applies: Callable[P, Any] = applies
        self.run: Callable[[Any], R] = run

    @staticmethod
    def of(function: Callable[P, R | None]) -> FastPath[P, R]:
        """The path of a single ``function``, which returns the result, or None."""
        return FastPath(function, lambda result: result)


class FastPaths(Generic[P, R]):
    """The fast paths of a decision point, in the order in which they are tried."""

    __slots__ = ("_paths",)

    is_plain = os.environ.get(VARIABLE) == "1"
    """True in the plain mode: all tables are empty."""

    def __init__(self, *paths: FastPath[P, R]) -> None:
        self._paths = paths

    def first(self, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """What the first path that applies returns; None if none does."""
        if not FastPaths.is_plain:
            for path in self._paths:
                case = path.applies(*args, **kwargs)
                if case is not None:
                    return path.run(case)
        return None


@contextmanager
def plain_mode() -> Iterator[None]:
    """The plain mode in all threads of the process, for tests; what is in caches stays there."""
    before, FastPaths.is_plain = FastPaths.is_plain, True
    try:
        yield
    finally:
        FastPaths.is_plain = before
