"""Pauses between attempts."""

from __future__ import annotations

import pytest

from lance_core.concurrency.backoff import backoff
from tests.each_case import each_case


@each_case("drawn", [0.0, 0.5, 0.999])
def test_the_limit_of_a_pause_doubles_with_each_failure_up_to_the_longest(drawn: float) -> None:
    pauses = [backoff(failures, 0.1, 1.0, lambda: drawn) for failures in range(1, 7)]
    assert pauses == pytest.approx([drawn * limit for limit in (0.1, 0.2, 0.4, 0.8, 1.0, 1.0)])


def test_any_number_of_failures_gives_a_pause() -> None:
    assert backoff(10**9, 0.1, 15.0, lambda: 0.5) == 7.5


def test_a_first_pause_above_the_longest_is_cut() -> None:
    assert backoff(1, 20.0, 5.0, lambda: 1.0) == 5.0
