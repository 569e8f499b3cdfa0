"""Keeping secrets out of what others log.

The address of a resumable upload is enough to write to it, and urllib3 logs addresses.
"""

from __future__ import annotations

import logging
import re

_UPLOAD = re.compile(r"(upload_id=)[^&\s\"]+")


class UploadsHidden(logging.Filter):
    """Takes the names of uploads out of addresses."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _UPLOAD.sub(r"\1***", part) if isinstance(part, str) else part
                for part in record.args
            )
        return True


def hide_uploads() -> None:
    """Let urllib3 log no names of uploads, whoever listens."""
    log = logging.getLogger("urllib3.connectionpool")
    if not any(isinstance(known, UploadsHidden) for known in log.filters):
        log.addFilter(UploadsHidden())
