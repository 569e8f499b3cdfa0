"""All tests: ``python -m tests``, or those that pytest's arguments name.

Each part is a run of pytest of its own: a process keeps what it has imported and collected, and
with all parts in one run it would need twice the memory.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SERVICES = ("cloud", "docs", "packaging", "spark", "sql")
"""Folders whose tests talk to services, Java or other environments."""

PYTEST = (sys.executable, "-m", "pytest", "-n", "3", "--dist", "loadgroup")


def parts() -> list[list[str]]:
    """The folders of each part; every folder with tests is in one."""
    folders = sorted(
        {path.relative_to(HERE).parts[0] for path in HERE.rglob("test_*.py")} - {"old"}
    )
    others = [folder for folder in folders if folder not in SERVICES]
    return [[f"tests/{folder}" for folder in part] for part in (SERVICES, others)]


def main(arguments: list[str]) -> int:
    """Run all parts, whether or not one fails. Returns the highest of their exit codes."""
    runs = [arguments] if arguments else parts()
    return max(
        subprocess.run([*PYTEST, *run], cwd=HERE.parent, check=False).returncode for run in runs
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
