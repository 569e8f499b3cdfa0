"""What SDKs log keeps no secrets, and others' records stay."""

from __future__ import annotations

import logging
import threading
import uuid

import pytest

from lance_core_remote.log_redaction import LogRedaction


@pytest.fixture
def package() -> str:
    return f"sdk{uuid.uuid4().hex}"


def test_debug_records_of_a_quiet_block_are_dropped(
    package: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    log = logging.getLogger(f"{package}.requests")
    with LogRedaction(package).quiet():
        log.debug("token %s", "canary")
        log.info("told")
    log.debug("afterwards")
    assert caplog.messages == ["told", "afterwards"]


def test_blocks_nest(package: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log = logging.getLogger(package)
    redaction = LogRedaction(package)
    with redaction.quiet():
        with redaction.quiet():
            log.debug("canary")
        log.debug("canary")
    assert not caplog.messages


def test_other_threads_and_other_packages_log_as_before(
    package: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    log = logging.getLogger(package)
    with LogRedaction(package).quiet():
        thread = threading.Thread(target=log.debug, args=("another thread",))
        thread.start()
        thread.join()
        logging.getLogger(f"{package}2").debug("another package")
    assert caplog.messages == ["another thread", "another package"]


def test_loggers_made_between_blocks_are_found(
    package: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    redaction = LogRedaction(package)
    with redaction.quiet():
        log = logging.getLogger(f"{package}.late")
    with redaction.quiet():
        log.debug("canary")
    assert not caplog.messages


def test_texts_are_redacted_at_every_level(package: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log = logging.getLogger(f"{package}.pool")
    redaction = LogRedaction(package, redact=lambda text: text.replace("canary", "***"))
    redaction.attach()
    redaction.attach()
    log.debug("GET %s %d", "/a?sig=canary", 200)
    log.warning("canary")
    log.info("%s", "plain")
    assert caplog.messages == ["GET /a?sig=*** 200", "***", "plain"]
    assert len(log.filters) == 1


def test_the_exception_of_a_record_is_redacted(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("redacted_sdk.part")
    redaction = LogRedaction("redacted_sdk", redact=lambda text: text.replace("canary", "***"))
    redaction.attach()
    try:
        raise ValueError("the canary")
    except ValueError:
        logger.exception("it failed")
    logger.removeFilter(redaction)
    assert "ValueError: the ***" in caplog.text
    assert "canary" not in caplog.text.replace('ValueError("the canary")', "")
