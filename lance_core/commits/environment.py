"""The environment of commit code besides a store: clocks, randomness and unique ids.

All of it is passed in, so that a test or a schedule explorer controls every step. Code in this
package has no other source of time, randomness or ids.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from functools import partial

from lance_core.lazy_dataclass import dataclass

_uptime = partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
"""Monotonic seconds; they include time while the machine is suspended if the OS counts it."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Clocks, randomness and ids as functions. The defaults are the system's."""

    clock: Callable[[], int] = time.time_ns
    """Nanoseconds since 1970 for time stamps; may jump."""
    monotonic: Callable[[], float] = _uptime
    """Seconds since an arbitrary point, never decreasing, for deadlines."""
    sleep: Callable[[float], None] = time.sleep
    """Sleeps for the given number of seconds."""
    random: Callable[[], float] = random.random
    """A random number in [0, 1), for the jitter of pauses."""
    new_uuid: Callable[[], uuid.UUID] = uuid.uuid4
    """A new unique id."""

    def stopwatch(self) -> Callable[[], float]:
        """A function that returns the seconds since this call.

        Only one of the two clocks may advance while a machine is suspended, so the larger value
        counts.
        """
        monotonic, clock = self.monotonic(), self.clock()
        return lambda: max(self.monotonic() - monotonic, (self.clock() - clock) / 1e9)


SYSTEM = Environment()
"""The environment of the operating system."""
