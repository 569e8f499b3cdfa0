"""Keeping signatures out of the log of the HTTP library, which writes whole URLs at DEBUG."""

from __future__ import annotations

import logging

from lance_core_azure.errors import hidden


class WithoutSignatures(logging.Filter):
    """Replaces what follows ``sig=`` in every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        shown = hidden(text)
        if shown != text:
            record.msg, record.args = shown, ()
        return True


_LOGGERS = ("urllib3.connectionpool", "urllib3.util.retry", "urllib3.connection")


def install() -> None:
    """Make the library's loggers leave signatures out; more than once does no harm."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(one, WithoutSignatures) for one in logger.filters):
            logger.addFilter(WithoutSignatures())
