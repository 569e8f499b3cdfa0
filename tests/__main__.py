"""All tests: ``python -m tests``, or those that pytest's arguments name.

Tests of services wait for them, all others compute: they are two runs of pytest at the same time.
In one run, a process would keep what both have imported and collected.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.side_by_side import run_side_by_side

HERE = Path(__file__).parent
SERVICES = ("cloud", "docs", "packaging", "spark", "sql")
"""Folders whose tests talk to services, Java or other environments."""

PYTEST = (sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup")


def parts() -> list[list[str]]:
    """The folders of each part; every folder with tests is in one."""
    folders = {path.relative_to(HERE).parts[0] for path in HERE.rglob("test_*.py")}
    others = sorted(folders.difference(SERVICES, ["old"]))
    return [[f"tests/{folder}" for folder in part] for part in (others, SERVICES)]


def main(arguments: list[str]) -> int:
    """Run what ``arguments`` name, or all parts side by side. Returns the highest exit code."""
    os.chdir(HERE.parent)
    if arguments:
        return subprocess.call([*PYTEST, *arguments])
    return run_side_by_side(*([*PYTEST, *part] for part in parts()))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
