"""How long to wait before something that failed is tried again.

Pauses are drawn evenly between nothing and a limit that doubles with each failure ("full jitter"),
so that clients that failed together do not come back together. Randomness is the caller's, as is
the clock: a test or an explorer of schedules may own both.
"""

from __future__ import annotations

from collections.abc import Callable

_MAX_DOUBLINGS = 32
"""Keeps the power of two a small number, however often something fails."""


def backoff(failures: int, first: float, longest: float, random: Callable[[], float]) -> float:
    """Seconds to wait after ``failures`` in a row, which is 1 or more.

    The limit of the pause is ``first`` seconds after the first failure, and never more than
    ``longest``. ``random`` returns a number in [0, 1).
    """
    return min(first * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), longest) * random()
