"""Functions and constants of pylance's small modules do the same here."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import lance.dependencies
import lance.fragment
import lance.log
import lance.util
import pytest

import lance_core.dependencies
import lance_core.fragment
import lance_core.log
import lance_core.util
from tests.each_case import each_case

TIMES = ["2026-01-31 12:30:00", "2026-01-31", "now", datetime(2026, 1, 31), 5, None]


def outcome(lib: Any, time: Any) -> Any:
    try:
        return lib.util.sanitize_ts(time)
    except (ValueError, TypeError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError


def test_times_are_understood_alike() -> None:
    assert [outcome(lance_core, time) for time in TIMES] == [outcome(lance, time) for time in TIMES]
    duration = timedelta(days=2, microseconds=7)
    assert lance_core.util.td_to_micros(duration) == lance.util.td_to_micros(duration)


@each_case("variable", ["debug", "TRACE", "lance=debug,warn", "lance=debug", ""])
def test_the_variable_states_the_same_level(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_LOG", variable)
    assert lance_core.log.get_log_level() == lance.log.get_log_level()


def test_the_default_limit_of_files_is_the_same() -> None:
    ours, theirs = lance_core.fragment, lance.fragment
    assert ours.DEFAULT_MAX_BYTES_PER_FILE == theirs.DEFAULT_MAX_BYTES_PER_FILE


def test_the_same_libraries_are_there() -> None:
    flags = [name for name in vars(lance.dependencies) if name.endswith("_AVAILABLE")]
    compared = [
        name for name in flags if name not in ("_CAGRA_AVAILABLE", "_RAFT_COMMON_AVAILABLE")
    ]
    assert len(compared) == 6
    for name in compared:
        assert getattr(lance_core.dependencies, name) == getattr(lance.dependencies, name), name
