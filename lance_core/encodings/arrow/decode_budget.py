"""Bound the bytes that one read decodes.

A page can hold a thousand times its stored bytes: a dictionary, a constant or a compressed buffer
stores a long value once. How much rows take in memory is known from lengths when indices, offsets
or headers are decoded, before memory is allocated for the values. Decoders `spend` these bytes. A
scan sets a budget for each window, and divides a window that exceeds it.

Bytes count in proportion to the requested rows, so that fewer rows always spend less: a buffer that
can only be decompressed whole counts with the share of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SHARE = 4
"""An upper bound counts instead of the exact bytes if it is one part in so many of what is left."""


class BudgetExceededError(Exception):
    """Ends a read whose rows take more bytes than its budget.

    The code that sets a budget handles it. It is neither a `LanceError` nor a `MemoryError`:
    readers handle these by reading fewer columns or rows, and keep what they have read so far.
    """


class DecodeBudget:
    """The bytes that one read may decode, and those that it has ``spent``."""

    __slots__ = ("_limit", "spent")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.spent = 0

    def spend(self, size: int) -> None:
        """Count ``size`` bytes; raise `BudgetExceededError` if they exceed the budget."""
        self.spent += size
        if self.spent > self._limit:
            raise BudgetExceededError(self.spent, self._limit)

    def spend_at_most(self, bound: int, exact: Callable[[], int]) -> None:
        """Count ``exact()`` bytes, or the upper ``bound`` if that is little."""
        left = self._limit - self.spent
        self.spend(bound if bound * _SHARE <= left else exact())


# A context variable, because arrays are made far below the read that sets the limit, by codecs that
# know nothing of it.
_budget: ContextVar[DecodeBudget | None] = ContextVar("_budget", default=None)


@contextmanager
def decode_budget(limit: int) -> Iterator[DecodeBudget]:
    """Let the calling thread decode at most ``limit`` bytes in this block."""
    budget = DecodeBudget(limit)
    token = _budget.set(budget)
    try:
        yield budget
    finally:
        _budget.reset(token)


current_budget = _budget.get
"""Returns the budget of the calling thread; None without a limit."""


def spend_at_most(bound: int, exact: Callable[[], int], limit: int) -> bool:
    """Count ``exact()`` bytes, or their upper ``bound``; return True if they exceed ``limit``."""
    budget = _budget.get()
    if budget is not None:
        budget.spend_at_most(bound, exact)
    return bound > limit and exact() > limit


def spend(size: int) -> None:
    """Count ``size`` decoded bytes; raises `BudgetExceededError` if a budget is exceeded."""
    budget = _budget.get()
    if budget is not None:
        budget.spend(size)
