"""All tests: ``python -m tests``, or those that pytest's arguments name.

Tests of services wait for them, all others compute: they are two runs of pytest at the same time.
In one run, a process would keep what both have imported and collected.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

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
    """Run all parts, whether or not one fails. Returns the highest of their exit codes."""
    if arguments:
        return subprocess.call([*PYTEST, *arguments], cwd=HERE.parent)
    first, second = parts()
    with tempfile.TemporaryFile() as output:
        # The second one's output follows that of the first.
        running = subprocess.Popen(
            [*PYTEST, *second], cwd=HERE.parent, stdout=output, stderr=subprocess.STDOUT
        )
        codes = [subprocess.call([*PYTEST, *first], cwd=HERE.parent), running.wait()]
        output.seek(0)
        sys.stdout.write(output.read().decode(errors="replace"))
    return max(map(abs, codes))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
