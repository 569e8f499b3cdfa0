"""What holds of a write if the machine loses power."""

from __future__ import annotations

import enum


class Durability(enum.Enum):
    """What holds of a write that returned, should the machine lose power."""

    durable = "durable"
    """It is on disk, and so is the name of its file: both are synced, in this order."""
    fast = "fast"
    """Nothing: the system writes it when it sees fit. Readers of this machine see it at once."""
