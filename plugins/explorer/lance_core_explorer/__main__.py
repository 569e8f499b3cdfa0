"""``python -m lance_core_explorer [--short] [--only TEXT] [--replay FILE]``."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from lance_core_explorer.configurations import FULL, SHORT
from lance_core_explorer.runner import run
from lance_core_explorer.schedule import replay
from lance_core_explorer.search import Limits


def main() -> int:
    """Explore and print a table; returns exit code 1 if a result is not as expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="the set that runs with every change")
    parser.add_argument("--only", default="", help="configurations whose name contains this")
    parser.add_argument("--seconds", type=float, help="at most so long for each configuration")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--replay", type=Path, help="run the schedule in this file instead")
    arguments = parser.parse_args()
    if arguments.replay is not None:
        schedule = replay(arguments.replay.read_text("utf-8"), (*SHORT, *FULL))
        _write(str(schedule))
        return 0 if schedule.verdict is None else 1
    chosen = [
        configuration
        for configuration in (SHORT if arguments.short else FULL)
        if arguments.only in configuration.name
    ]
    logging.getLogger("lance_core").setLevel(logging.CRITICAL)  # faults are provoked on purpose
    limits = Limits(seconds=arguments.seconds)
    return 0 if run(chosen, _write, limits, arguments.processes) else 1


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
