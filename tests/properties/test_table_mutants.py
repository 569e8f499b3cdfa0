"""No damage to a file of a table does worse than an error that says so.

Each mutant of a manifest, a data file or a deletion file either gives data that validates, or
raises a `LanceError`; quickly, in little memory, and without writing anything. `tox -e fuzz` makes
more mutants, and others.
"""

from __future__ import annotations

import lance_core as lance
from lance_core.dataset.snapshot import open_table
from tests.each_case import each_case
from tests.fuzz.tables import (
    ROWS,
    SHARES,
    damage,
    paths_of,
    put_together,
    root_of,
    sound,
    taken_apart,
)

COUNT = 20
"""Mutants of each kind of file, times its share."""


@each_case("kind", SHARES)
def test_a_mutant_gives_valid_data_or_an_error(kind: str) -> None:
    count = COUNT * SHARES[kind]
    verdict = damage(kind, count, seed=len(kind))
    assert verdict.failures == []
    outcomes = verdict.outcomes
    # The damage is neither trivial nor hopeless.
    assert outcomes["errors"] + outcomes["not opened"] > count // 10
    assert outcomes["read"] > count // 50


def test_a_manifest_put_together_again_is_the_same_table() -> None:
    files = sound()
    path = paths_of(files, "manifest")
    again = put_together(*taken_apart(files[path]))
    dataset = lance.LanceDataset.of(open_table.open_version(root_of({**files, path: again})))
    gone = {5500, 5505, 5599}
    assert dataset.to_table(["i"])["i"].to_pylist() == sorted({*range(5400, ROWS)} - gone)
