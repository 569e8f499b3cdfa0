"""Run random cases: `python -m tests.interop.differential --first 0 --count 2000 --processes 2`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.interop.differential.pool import run_all
from tests.interop.differential.running import DIFFERENT, EQUAL, REFUSED


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.differential")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first case")
    parser.add_argument("--count", type=int, default=2000, help="how many cases")
    parser.add_argument("--processes", type=int, default=2, help="how many run at a time")
    parser.add_argument("--refused", action="store_true", help="say what pylance refuses, too")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for outcome in run_all(options.first, options.count, options.processes):
        counts[outcome.kind] += 1
        if outcome.kind == DIFFERENT or (options.refused and outcome.kind == REFUSED):
            print(f"seed {outcome.seed}, {outcome.kind}: {outcome.why}", flush=True)  # noqa: T201
    shown = f"{counts[EQUAL]} equal, {counts[REFUSED]} {REFUSED}"
    different = f", {counts[DIFFERENT]} {DIFFERENT}" if counts[DIFFERENT] else ""
    print(shown + different)  # noqa: T201
    return 1 if counts[DIFFERENT] else 0


if __name__ == "__main__":
    sys.exit(main())
