"""How many threads work of this process may keep busy."""

from __future__ import annotations

import os

from lance_core.errors import InvalidInputError

VARIABLE = "LANCE_CPU_THREADS"
"""Environment variable with a number of threads; pylance reads it, too."""


def cpu_count() -> int:
    """What `VARIABLE` says, else how many processors the process may use.

    Raises `InvalidInputError` if it says something else than a number from 1 on.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        if not given.isascii() or not given.isdigit() or int(given) < 1:
            raise InvalidInputError(f"{VARIABLE} is a number from 1 on, not {given!r}")
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
