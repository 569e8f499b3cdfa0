"""Run many random sequences: ``python -m tests.interop.text_sequences --count 2000``."""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.interop.text_sequences.running import Report, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.interop.text_sequences", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many sequences")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    options = parser.parse_args()
    os.environ["LANCE_CORE_DURABILITY"] = "fast"
    report, start = Report(), time.process_time()
    for number in range(options.first, options.first + options.count):
        before = len(report.failures)
        run(number, report)
        for text in report.failures[before:]:
            print(text, flush=True)  # noqa: T201
    for text, count in sorted(report.counts.items()):
        print(f"{count:7} {text}")  # noqa: T201
    for text in report.differences:
        print("pylance:", text)  # noqa: T201
    spent = time.process_time() - start
    print(f"{options.count} sequences in {spent:.0f} s, {len(report.failures)} failures")  # noqa: T201
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
