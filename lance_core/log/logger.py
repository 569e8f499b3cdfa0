"""The logger of the library, and a handler for it that writes to a file."""

from __future__ import annotations

import logging
import os

ENV_NAME_PYLANCE_LOGGING_LEVEL = LEVEL_VARIABLE = "LANCE_LOG"
"""A level, such as ``debug``, among comma-separated ``target=level`` of pylance's compiled part."""

LOGGER = logging.getLogger("lance_core")
"""The logger of this library."""

NAMES = {"pylance": LOGGER.name}
"""Loggers of this library by the names that pylance's have."""

FORMAT = "%(asctime)s %(name)s [%(levelname)s] %(filename)s:%(lineno)d %(funcName)s : %(message)s"


def get_python_log_level(rust_log_level: str) -> str:
    """The level of Python's `logging` with the meaning of a level of pylance: "trace" is DEBUG."""
    return "DEBUG" if rust_log_level.lower() == "trace" else rust_log_level


def get_log_level() -> str:
    """The level that the environment variable ``LANCE_LOG`` states, or INFO."""
    entries = os.environ.get(LEVEL_VARIABLE, "INFO").upper().split(",")
    levels = [entry for entry in entries if "=" not in entry]
    return get_python_log_level(levels[0]) if levels and levels[0] else "INFO"


def set_logger(
    file_path: str | None = "pylance.log",
    name: str = "pylance",
    level: int = logging.INFO,
    format_string: str | None = None,
    log_handler: logging.Handler | None = None,
) -> None:
    """Log messages from ``level`` on to a file, or by ``log_handler``.

    ``name``: that of a logger; "pylance" is the logger of this library, "lance_core".
    """
    logger = logging.getLogger(NAMES.get(name, name))
    logger.setLevel(level)
    handler = logging.FileHandler(file_path or "") if log_handler is None else log_handler
    handler.setLevel(level)
    handler.setFormatter(logging.Formatter(format_string or FORMAT))
    logger.addHandler(handler)
