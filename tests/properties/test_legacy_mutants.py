"""No damage to a table of file version 0.1 does worse than an error that says so.

`tox -e fuzz` makes more mutants, and others.
"""

from __future__ import annotations

import pytest

from tests.fuzz.legacy_tables import AWARE, damage

COUNT = 40
"""Mutants of each kind of file."""


@pytest.mark.parametrize("folder", AWARE)
def test_a_mutant_gives_valid_data_or_an_error(folder: str) -> None:
    verdict = damage(folder, COUNT, seed=10)
    assert verdict.failures == []
    outcomes = verdict.outcomes
    assert outcomes["errors"] + outcomes["not opened"] > COUNT // 10
    assert outcomes["read"] > COUNT // 50
