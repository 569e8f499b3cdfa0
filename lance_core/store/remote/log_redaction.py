"""Keeping secrets out of what SDKs and HTTP libraries log.

At DEBUG, SDKs log requests with their headers and parameters: tokens, signatures, customers' keys.
HTTP libraries log URLs, whose queries may grant access.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_is_quiet: ContextVar[bool] = ContextVar("lance_core_is_quiet", default=False)


class LogRedaction(logging.Filter):
    """A filter for the loggers of ``packages``: of the top-level modules and everything in them.

    It drops DEBUG records that are logged inside `quiet`. ``redact`` maps the text of a record to
    the text that may be shown; it applies to all records of these loggers, at every level.
    """

    def __init__(self, *packages: str, redact: Callable[[str], str] | None = None) -> None:
        super().__init__()
        self._packages = frozenset(packages)
        self._redact = redact
        self._loggers_seen = 0

    def attach(self) -> None:
        """Add the filter to each logger of the packages that exists now; repeating is harmless.

        A logger's filter does not see what its children log, so each logger gets it.
        """
        known = logging.root.manager.loggerDict
        if len(known) == self._loggers_seen:
            return
        self._loggers_seen = len(known)
        for name in list(known):
            if name.partition(".")[0] in self._packages:
                logging.getLogger(name).addFilter(self)

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Within the block, and on this thread, the packages log nothing at DEBUG.

        Calls of the same packages from elsewhere log as before.
        """
        self.attach()
        before = _is_quiet.set(True)
        try:
            yield
        finally:
            _is_quiet.reset(before)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether ``record`` is passed on; its text is redacted first."""
        if record.levelno <= logging.DEBUG and _is_quiet.get():
            return False
        if self._redact is not None:
            text = record.getMessage()
            shown = self._redact(text)
            if shown != text:
                record.msg, record.args = shown, ()
        return True
