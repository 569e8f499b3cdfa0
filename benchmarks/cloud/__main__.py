"""``python -m benchmarks.cloud [--quick] [--place s3 ...] [--only requests ...]``.

A proxy counts requests and bytes. Times are measured without it, and again through a proxy that
delays every request by some milliseconds, like the network to a cloud.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.cloud import lookups, requests, times, uploads
from benchmarks.cloud.counting import counting_proxy
from benchmarks.cloud.places import PLACES, forget_clouds
from benchmarks.machine import describe
from benchmarks.report import Report

GROUPS = ("requests", "times", "lookups", "uploads")


def main() -> int:
    """Run the selected benchmarks; the exit code is 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, no verdict")
    parser.add_argument("--place", nargs="*", choices=PLACES, help="emulators, or all")
    parser.add_argument("--only", nargs="*", choices=GROUPS, help="groups of figures, or all")
    parser.add_argument("--delay", type=float, default=20.0, help="milliseconds of a request")
    parser.add_argument("--json", type=Path, help="add all figures to this file")
    arguments = parser.parse_args()
    groups = arguments.only or GROUPS
    forget_clouds()
    run = describe("benchmarks.cloud", sys.argv[1:])
    report = Report()
    for name in arguments.place or PLACES:
        with PLACES[name]() as place, counting_proxy(place.origin) as proxy:
            if "requests" in groups:
                requests.requests(report, place, proxy, arguments.quick)
            if "times" in groups:
                times.times(report, place, proxy, arguments.delay / 1000, arguments.quick)
            if "lookups" in groups:
                lookups.lookups(report, place, proxy, arguments.delay / 1000, arguments.quick)
            if "uploads" in groups:
                uploads.memory(report, place, proxy, arguments.quick)
    if arguments.json:
        report.save(arguments.json, run)
    missed = report.finish()
    return 0 if arguments.quick else min(missed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
