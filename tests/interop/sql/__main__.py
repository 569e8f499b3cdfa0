"""Compare SQL expressions with pylance: ``python -m tests.interop.sql --only lpad``.

Prints the rows that differ without a reason in `differences.DIFFERENCES`, and ends with status 1 if
there are any.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path

from tests.interop.sql.explanations import explanation
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
    rows: collections.Counter[str] = collections.Counter()
    unexplained: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for finding in compared(chosen, Path(folder)):
            row = explanation(finding)
            if row is not None:
                rows[row] += 1
                continue
            unexplained[finding.case.text] += 1
            if unexplained[finding.case.text] <= options.show:
                sys.stdout.write(f"{finding}\n")
                sys.stdout.flush()
    for row, count in rows.most_common():
        sys.stdout.write(f"{count:7} rows: {row}\n")
    sys.stdout.write(f"{len(chosen)} expressions, {len(unexplained)} unexplained differences\n")
    return bool(unexplained)


if __name__ == "__main__":
    sys.exit(main())
