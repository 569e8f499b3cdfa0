"""A short form of the mutation run: some mutants of two modules, and what must not be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.operators import edited, mutants_of
from tests.mutants.selection import AREAS, chosen

SOURCE = '''
import os

class Box:
    def holds(self, items, wanted):
        """Text."""
        for item in items:
            if item.size >= 3 and not item.is_empty:
                continue
            self.count += 1
            self.note(item, wanted)
        return wanted in items or len(items) > 2
'''


def test_changes_are_made_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "box.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = {mutant.change for mutant in mutants_of(path)}
    assert {
        "item.size >= 3 -> item.size > 3",
        "item.size >= 3 and (not item.is_empty) -> not item.is_empty",
        "not item.is_empty -> item.is_empty",
        "continue -> pass",
        "self.count += 1 -> pass",
        "self.note(item, wanted) -> pass",
        "self.note(item, wanted) -> self.note(wanted, item)",
        "return wanted in items or len(items) > 2 -> return True",
        "2 -> 3",
    } <= found
    assert {mutant.function for mutant in mutants_of(path)} == {"Box.holds"}
    keys = [mutant.key for mutant in mutants_of(path)]
    assert len(set(keys)) == len(keys)
    with pytest.raises(ValueError, match="not exactly once"):
        edited(path, "item", "thing")


def test_hundreds_of_changes_spread_over_the_modules_are_tried() -> None:
    mutants = {name: chosen(area) for name, area in AREAS.items()}
    keys = [mutant.key for same in mutants.values() for mutant in same]
    assert len(mutants["commits"]) >= 150
    assert len(set(keys)) >= 550
    assert len({mutant.path for same in mutants.values() for mutant in same}) >= 130


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_the_tests_of_a_module_kill_its_mutants() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.mutants",
        *("--area", "commits"),
        "--only",
        r"table\.transactions\.conflict_conditions:",
    ]
    done = subprocess.run(
        [*command, "--tests", "tests/unit/table/transactions/test_conflicts.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.rpartition("\n")[0].rpartition("\n")[2].split()[0]) >= 5
