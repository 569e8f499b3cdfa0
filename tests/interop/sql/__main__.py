"""Compare SQL expressions with pylance: ``python -m tests.interop.sql --only lpad``.

Prints the rows that differ, and ends with status 1 if there are any.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path

from tests.interop.sql.running import SUBJECTS, all_cases, compared


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.sql", description=__doc__)
    parser.add_argument("--only", nargs="*", help="functions, operators, types")
    parser.add_argument("--show", type=int, default=3, help="rows shown of each expression")
    options = parser.parse_args()
    subjects = [
        subject
        for subject in SUBJECTS
        if not options.only or subject.removesuffix("()") in options.only or subject in options.only
    ]
    chosen = all_cases(subjects)
    shown: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for finding in compared(chosen, Path(folder)):
            shown[finding.case.text] += 1
            if shown[finding.case.text] <= options.show:
                sys.stdout.write(f"{finding}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{len(shown)} of {len(chosen)} expressions differ\n")
    return bool(shown)


if __name__ == "__main__":
    sys.exit(main())
