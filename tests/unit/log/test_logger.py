"""`set_logger` writes the messages of the library to a file or a handler."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import lance_core
from lance_core.log import get_log_level, get_python_log_level
from tests.each_case import each_case


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("lance_core", "of_others")]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    yield
    for logger, level, handlers in before:
        for added in set(logger.handlers) - set(handlers):
            added.close()
        logger.handlers[:] = handlers
        logger.setLevel(level)


def test_messages_of_the_library_go_to_the_file(tmp_path: Path) -> None:
    lance_core.set_logger(str(tmp_path / "messages"), level=logging.DEBUG)
    logging.getLogger("lance_core.dataset").debug("a message")
    written = (tmp_path / "messages").read_text("utf-8")
    assert written.endswith(": a message\n")
    assert " lance_core.dataset [DEBUG] test_logger.py:" in written


def test_a_handler_and_a_format_of_the_caller_are_used(tmp_path: Path) -> None:
    handler = logging.FileHandler(tmp_path / "mine")
    lance_core.set_logger(name="of_others", format_string="%(message)s!", log_handler=handler)
    logging.getLogger("of_others").debug("not shown")
    logging.getLogger("of_others").info("shown")
    logging.getLogger("lance_core").error("of another logger")
    assert (tmp_path / "mine").read_text("utf-8") == "shown!\n"


@each_case(
    "variable, level",
    [
        ("debug", "DEBUG"),
        ("trace", "DEBUG"),
        ("lance=debug,warn", "WARN"),
        ("lance=debug", "INFO"),
        ("", "INFO"),
        (None, "INFO"),
    ],
)
def test_the_level_is_that_of_the_variable(
    variable: str | None, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LANCE_LOG", raising=False)
    if variable is not None:
        monkeypatch.setenv("LANCE_LOG", variable)
    assert get_log_level() == level
    assert get_python_log_level("trace") == "DEBUG"
