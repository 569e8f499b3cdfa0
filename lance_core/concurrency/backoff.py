"""Pauses between retries.

Pauses are uniformly distributed between zero and a limit that doubles with each failure ("full
jitter"), so that clients that failed together do not retry together. The caller provides randomness
and the clock, so that a test or schedule explorer can control both.
"""

from __future__ import annotations

from collections.abc import Callable

_MAX_DOUBLINGS = 32
"""Limits the exponent of two after many failures."""


def backoff(failures: int, first: float, longest: float, random: Callable[[], float]) -> float:
    """Seconds to wait. ``failures``: the number of consecutive failures, at least 1.

    The limit of the pause is ``first`` seconds after the first failure, and at most ``longest``
    seconds. ``random`` returns a number in [0, 1).
    """
    return min(first * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), longest) * random()
