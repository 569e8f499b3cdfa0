"""Follow the calls of Python functions, also in threads that start at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def profiled(profile: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    """Hand ``profile`` the events of this thread, and of threads that start within the block."""
    before = sys.getprofile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
