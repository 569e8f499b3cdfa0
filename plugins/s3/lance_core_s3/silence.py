"""Keeping the SDK from telling secrets to its loggers.

At DEBUG the SDK logs requests with headers and parameters: tokens, signatures, customers' keys.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SDK = "botocore"


class _Within(threading.local):
    depth = 0


_within = _Within()


class _Discretion(logging.Filter):
    """Drops what is logged at DEBUG on a thread that is inside `discreet`."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG or not _within.depth


_discretion = _Discretion()


def watch_loggers() -> None:
    """Let every logger of the SDK that there is heed `discreet`; others' calls log as ever."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == _SDK:
            logging.getLogger(name).addFilter(_discretion)


@contextmanager
def discreet() -> Iterator[None]:
    """Within the block, the SDK logs nothing at DEBUG on this thread."""
    _within.depth += 1
    try:
        yield
    finally:
        _within.depth -= 1
