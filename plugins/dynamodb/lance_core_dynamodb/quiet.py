"""Keeping what the SDK logs at the level DEBUG to itself, during the calls of this plugin.

There are session tokens, signatures and answers of credential services in these records. Those of
calls that others make with the same SDK are left alone.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from contextvars import ContextVar

_SDK = ("botocore", "urllib3")
_is_quiet: ContextVar[bool] = ContextVar("lance_core_dynamodb_is_quiet", default=False)


class _Hush(logging.Filter):
    """Lets nothing pass that is logged at DEBUG inside of `quiet`."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG or not _is_quiet.get()


_hush = _Hush()


def hush_loggers() -> None:
    """Prepare the loggers that there are; to be called once the SDK's modules are imported.

    A logger's filter does not see what its children log, so each has one.
    """
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in _SDK:
            logging.getLogger(name).addFilter(_hush)  # adding it again changes nothing


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within the block, and on this thread, the SDK logs nothing at DEBUG."""
    before = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(before)
