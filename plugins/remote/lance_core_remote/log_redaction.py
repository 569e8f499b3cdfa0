"""Keep secrets out of the logs of SDKs and HTTP libraries.

At DEBUG level, SDKs log the headers and parameters of requests: tokens, signatures, customer keys.
HTTP libraries log URLs, whose queries may grant access.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_is_quiet: ContextVar[bool] = ContextVar("lance_core_is_quiet", default=False)


class LogRedaction(logging.Filter):
    """A filter for all loggers of ``packages`` (top-level modules and their submodules).

    It drops DEBUG records that are logged inside `quiet`. ``redact`` maps the text of a record, and
    of its exception, to the text that may be shown; it applies to all records of these loggers, at
    every level.
    """

    def __init__(self, *packages: str, redact: Callable[[str], str] | None = None) -> None:
        super().__init__()
        self._packages = frozenset(packages)
        self._redact = redact
        self._loggers_seen = 0

    def attach(self) -> None:
        """Add the filter to all existing loggers of the packages; may be called repeatedly.

        A filter of a logger does not see the records of child loggers, so each logger needs it.
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
        """Within the block, this thread logs no DEBUG records of the packages.

        Other threads, and code outside of the block, log as before.
        """
        self.attach()
        before = _is_quiet.set(True)
        try:
            yield
        finally:
            _is_quiet.reset(before)

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the text of ``record``; return False to drop the record."""
        if record.levelno <= logging.DEBUG and _is_quiet.get():
            return False
        if self._redact is not None:
            text = record.getMessage()
            shown = self._redact(text)
            if shown != text:
                record.msg, record.args = shown, ()
            if record.exc_info:
                self._redact_exception(record, self._redact)
        return True

    @staticmethod
    def _redact_exception(record: logging.LogRecord, redact: Callable[[str], str]) -> None:
        """Replace the exception of a record by its redacted text, if that differs."""
        text = logging.Formatter().formatException(record.exc_info)  # type: ignore[arg-type]  # is set
        shown = redact(text)
        if shown != text:
            record.exc_info, record.exc_text = None, shown
