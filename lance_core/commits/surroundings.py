"""What commit code needs of the world besides a store: time, chance and identity.

All of it is passed in, so that a test, or an explorer of schedules, can own every step. Code in
this package takes these from nowhere else.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The outside world, as functions. The default is the real one."""

    clock: Callable[[], int] = time.time_ns
    """Nanoseconds since 1970, for time stamps; may jump."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds from an arbitrary point, never backwards, for deadlines."""
    sleep: Callable[[float], None] = time.sleep
    """Returns after so many seconds."""
    random: Callable[[], float] = random.random
    """A number in [0, 1), for the spread of waiting times."""
    new_uuid: Callable[[], uuid.UUID] = uuid.uuid4
    """An identity that nobody else has."""


REAL = Surroundings()
"""The real world."""
