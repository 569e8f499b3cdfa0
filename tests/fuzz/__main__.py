"""Damage files in many ways and read them: `python -m tests.fuzz --count 100000`.

Most are golden files of 2.1 and 2.2; a tenth are a file of version 0.1.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter

from tests.fuzz.files import damage, damage_legacy, golden


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="other mutants for another number")
    parser.add_argument("--only", default="", help="part of the names of the files to damage")
    options = parser.parse_args()
    files = {name: raw for name, raw in golden().items() if options.only in name}
    total: Counter[str] = Counter()
    failures = 0
    start = time.monotonic()
    verdicts = damage(files, options.count - options.count // 10, options.seed)
    old = ((f"0.1, {options.count // 10}", damage_legacy(options.count // 10, options.seed)),)
    for name, verdict in itertools.chain(verdicts, old):
        print(f"{name}: {dict(verdict.outcomes)}", *verdict.failures, sep="\n  ")  # noqa: T201
        total += verdict.outcomes
        failures += len(verdict.failures)
    spent = time.monotonic() - start
    read = ", ".join(f"{count} {kind}" for kind, count in total.items())
    print(f"{total.total()} mutants in {spent:.0f} s: {read}, {failures} failures")  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
