"""No damage to a 2.0 data file does worse than an error that says so.

Each mutant of a file of our own either reads as Arrow data that validates, or raises a
`LanceError`; quickly, and in little memory. `tox -e fuzz` makes more mutants, and others.
"""

from __future__ import annotations

from tests.each_case import each_case
from tests.fuzz.v2_0 import FILES, damage

COUNT = 300
"""Mutants of all files together."""


@each_case("name", FILES)
def test_a_mutant_reads_as_valid_data_or_raises_an_error(name: str) -> None:
    verdict = damage(name, COUNT // len(FILES), seed=0)
    assert verdict.failures == []
    # The damage is neither trivial nor hopeless.
    assert verdict.fewest > COUNT // 100
