"""Run random cases: `python -m tests.interop.differential --first 0 --count 2000 --processes 2`.

Each case is drawn from its seed. Where pylance refuses or panics, or does not read of its own files
what was written, a case counts as refused by it; we must read our own files even so.

What is not compared, on purpose:

- what lies below nulls, the order of dictionaries and how rows are divided into chunks: both may
  be anything;
- metadata of a schema after ``take`` in any order: pylance drops it;
- filters that read lists of fixed size of structs: pylance gives some of the members only;
- zeros as literals for dictionaries of floats: pylance tells 0.0 from -0.0 there;
- literals of durations, times, moments with a zone or in nanoseconds, and 256-bit decimals:
  `test_filter_interop.py` has these, `test_filter_differences_interop.py` what differs.
"""

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
