"""Durability of writes after a power failure."""

from __future__ import annotations

import enum


class Durability(enum.Enum):
    """The guarantee for a completed write if the machine loses power."""

    durable = "durable"
    """The content and the directory entry are on disk: both are synced, in this order."""
    fast = "fast"
    """No guarantee: the OS writes to disk at a time of its choice. Readers on this machine see the
    write at once."""
