"""The number of threads for CPU-bound work in this process."""

from __future__ import annotations

import os

from lance_core.errors import InvalidInputError

THREADS_VARIABLE = "LANCE_CPU_THREADS"
"""Environment variable with a number of threads; pylance reads it as well."""


def cpu_count() -> int:
    """The value of `THREADS_VARIABLE`, or the number of processors available to the process.

    Raises `InvalidInputError` if the value is not an integer of at least 1.
    """
    setting = os.environ.get(THREADS_VARIABLE, "").strip()
    if setting:
        if not setting.isascii() or not setting.isdigit() or int(setting) < 1:
            raise InvalidInputError(f"{THREADS_VARIABLE} is a number from 1 on, not {setting!r}")
        return int(setting)
    return num_processors()


def num_processors() -> int:
    """The number of processors available to the process; `THREADS_VARIABLE` is ignored."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
