"""No damage to an index makes a query wrong or impossible.

With each mutant of the files and entries of indices, filters return the right rows: from the index,
or from a scan with a warning. Damage of which another valid index results cannot be noticed, since
files of indices have no checksums; that is the exception, see `tests.fuzz.indices`. `tox -e fuzz`
makes more mutants, and others.
"""

from __future__ import annotations

from tests.each_case import each_case
from tests.fuzz.indices import FILTERS, SHARES, UNDETECTABLE, damage, outcome, sound

COUNT = 40
"""Mutants of all kinds together."""


def test_sound_indices_are_used_without_a_warning() -> None:
    for column in FILTERS:
        assert outcome(sound(False), column, stable=False) == "right"


@each_case("kind", SHARES)
def test_queries_with_a_mutant_return_the_right_rows(kind: str) -> None:
    count = COUNT * SHARES[kind][1] // 20
    verdict = damage(kind, count, seed=len(kind))
    assert verdict.failures == []
    outcomes = verdict.outcomes
    # The damage is neither trivial nor often another valid index.
    assert outcomes["warned"] or kind in UNDETECTABLE
    assert outcomes["other rows"] <= count // 5
