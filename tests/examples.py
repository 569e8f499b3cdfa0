"""How much of a large set tests try."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

IS_FULL_RUN = "LANCE_CORE_FULL_RUN" in os.environ
"""Whether this is `tox -e matrix` or `tox -e soak-spark`."""

only_on_spark_in_full = pytest.mark.skipif(not IS_FULL_RUN, reason="part of tox -e soak-spark")
"""For tests of which another one is the short form."""


def examples(few: int) -> int:
    """So ``few`` among all tests, and twenty times as many in a full run."""
    return 20 * few if IS_FULL_RUN else few


def share(cases: Sequence[T], one_in: int, turn: int) -> Sequence[T]:
    """``one_in`` shares with turns from 0 have all cases together; in a full run each has all."""
    return cases if IS_FULL_RUN else cases[turn % one_in :: one_in]
