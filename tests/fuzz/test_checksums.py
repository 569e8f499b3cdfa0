"""No damage to a file with checksums gives other answers; `tox -e fuzz` makes more mutants."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.fuzz.checksums import ERROR, SAME, VERSIONS, run

COUNT = 60


def test_a_mutant_with_checksums_gives_the_same_answers_or_an_error(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for version in VERSIONS:
        for kind, result, path in run(tmp_path / version, version, COUNT // len(VERSIONS), seed=7):
            assert result in (SAME, ERROR), (version, kind, path)
            outcomes[result] += 1
    assert outcomes[ERROR] > COUNT // 2
