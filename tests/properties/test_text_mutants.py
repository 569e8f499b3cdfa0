"""No damage to a text index makes a search fail otherwise than by an error of the library.

With a mutant, a search finds the rows that match, by the index or with a warning, or raises such an
error. Files of indices have no checksums: other postings may be a valid index, by which other rows
are found. ``python -m tests.fuzz --only texts`` (`tox -e fuzz`) makes more mutants.
"""

from __future__ import annotations

from tests.each_case import each_case
from tests.fuzz.texts import SHARES, damage

COUNT = 24
"""Mutants of all kinds together."""


@each_case("kind", SHARES)
def test_a_search_with_a_mutant_is_right_warns_or_raises(kind: str) -> None:
    count = COUNT * SHARES[kind][1] // 24
    verdict = damage(kind, count, seed=len(kind))
    assert verdict.failures == []
    assert verdict.outcomes["other rows"] <= count // 2
