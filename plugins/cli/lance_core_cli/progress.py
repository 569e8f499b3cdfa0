"""The progress of a command on the error output."""

from __future__ import annotations

import sys
from collections.abc import Callable


def on_terminal(verb: str, unit: str, scale: int = 1) -> Callable[[int, int], None] | None:
    """Shows how many of how many are done, counted in ``scale``; None if nobody would see it."""

    def show(done: int, of: int) -> None:
        end = "\n" if done == of else ""
        sys.stderr.write(f"\r{verb} {done / scale:.0f} of {of / scale:.0f} {unit}{end}")
        sys.stderr.flush()

    return show if sys.stderr.isatty() else None
