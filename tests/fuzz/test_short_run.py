"""No damage to a data file of another version than 2.0 does worse than an error that says so.

`tox -e fuzz` makes more mutants, and others.
"""

from __future__ import annotations

from collections import Counter

from tests.fuzz.container import Parsed
from tests.fuzz.files import damage, damage_legacy, golden
from tests.fuzz.judge import outcome
from tests.golden.reading import leaf_columns, opened

COUNT = 1200
"""Mutants of all files together."""

COUNT_LEGACY = 90


def test_a_file_that_is_put_together_again_is_sound() -> None:
    for name, raw in golden().items():
        assert outcome(Parsed(raw).build(), opened(raw).schema, leaf_columns) == "read", name


def test_a_mutant_reads_as_valid_data_or_raises_an_error() -> None:
    outcomes: Counter[str] = Counter()
    for name, verdict in damage(golden(), COUNT, seed=0):
        assert verdict.failures == [], name
        outcomes += verdict.outcomes
    # The damage is neither trivial nor hopeless.
    assert min(outcomes[kind] for kind in ("not opened", "errors", "read")) > COUNT // 50


def test_a_mutant_of_a_0_1_file_reads_as_valid_data_or_raises_an_error() -> None:
    verdict = damage_legacy(COUNT_LEGACY, seed=0)
    assert verdict.failures == []
    assert min(verdict.outcomes[kind] for kind in ("not opened", "errors", "read")) > 10
