"""What commit code needs of the world besides a store: time, chance and identity.

All of it is passed in, so that a test, or an explorer of schedules, can own every step. Code in
this package takes these from nowhere else.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable

from lance_core.lazy_dataclass import dataclass


def _uptime() -> float:
    """Seconds that also pass while the machine is suspended, where the system counts them."""
    return time.clock_gettime(_UPTIME)


_UPTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True)
class Environment:
    """The outside world, as functions. The default is the real one."""

    clock: Callable[[], int] = time.time_ns
    """Nanoseconds since 1970, for time stamps; may jump."""
    monotonic: Callable[[], float] = _uptime
    """Seconds from an arbitrary point, never backwards, for deadlines."""
    sleep: Callable[[float], None] = time.sleep
    """Returns after so many seconds."""
    random: Callable[[], float] = random.random
    """A number in [0, 1), for the spread of waiting times."""
    new_uuid: Callable[[], uuid.UUID] = uuid.uuid4
    """An identity that nobody else has."""

    def stopwatch(self) -> Callable[[], float]:
        """A function that returns the seconds since this call.

        A machine that was paused may notice it by one clock only, so the larger answer counts.
        """
        monotonic, clock = self.monotonic(), self.clock()
        return lambda: max(self.monotonic() - monotonic, (self.clock() - clock) / 1e9)


SYSTEM = Environment()
"""The real world."""
