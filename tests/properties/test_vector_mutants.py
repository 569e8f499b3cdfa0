"""No damage to a vector index makes a search fail, or find rows that there are not.

With a mutant, a search finds the nearest rows, by the index or with a warning. Files of indices
have no checksums: other codes may be a valid index, by which other rows are found, each with its
distance.
``python -m tests.fuzz --only vectors`` (`tox -e fuzz`) makes more mutants.
"""

from __future__ import annotations

from tests.each_case import each_case
from tests.fuzz.vectors import SHARES, damage

COUNT = 22
"""Mutants of all kinds together."""


@each_case("kind", SHARES)
def test_a_search_with_a_mutant_finds_rows_or_warns(kind: str) -> None:
    count = COUNT * SHARES[kind][1] // 22
    verdict = damage(kind, count, seed=len(kind))
    assert verdict.failures == []
    assert verdict.outcomes["other rows"] <= count // 3
