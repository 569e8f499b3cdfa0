"""No damage to a 2.1 or 2.2 data file does worse than an error that says so.

`tox -e fuzz` makes more mutants, and others.
"""

from __future__ import annotations

from collections import Counter

from tests.fuzz.container import Parsed
from tests.fuzz.files import damage, golden
from tests.fuzz.judge import outcome
from tests.golden.reading import leaf_columns, opened

COUNT = 2000
"""Mutants of all files together."""


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
