"""``python -m tests.mutants``: one-line changes of the code that nothing must survive.

At least 95 % of the mutants must be killed by the tests near them, and each that survives must be
listed in `tests.mutants.survivors` with the reason why it changes nothing.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.running import Mutations, Outcome
from tests.mutants.selection import AREAS, chosen
from tests.mutants.survivors import EQUIVALENT

LEAST_KILLED = 0.95
MOST_SECONDS = 45.0
"""Of processor time of the tests that try one mutant, as long as they take without one."""


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--area", choices=sorted(AREAS), help="by default all, one after the other")
    parser.add_argument("--number", type=int, help="of mutants of the area")
    parser.add_argument("--seed", default="", help="chooses other ones")
    parser.add_argument("--only", default="", help="a pattern in the keys of those tried")
    parser.add_argument("--slice", default="0/1", help="I/N: every Nth mutant from the Ith on")
    parser.add_argument(
        "--baseline", type=Path, help="where what tests call is kept for other runs"
    )
    parser.add_argument("--list", action="store_true", help="only say which mutants there are")
    parser.add_argument("--tests", nargs="*", help="files and folders")
    given = parser.parse_args(arguments)
    if given.area is None:
        return max(_run_area(name, arguments or sys.argv[1:]) for name in AREAS)
    area = AREAS[given.area]
    start, step = map(int, given.slice.split("/"))
    mutants = chosen(area, given.number, given.seed)
    mutants = [mutant for mutant in mutants if re.search(given.only, mutant.key)]
    mutants = mutants[start::step]
    if given.list:
        print(*(f"{one.path}:{one.line}: {one.key}" for one in mutants), sep="\n")
        return 0
    outcomes: list[Outcome] = []

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        one = outcome.mutant
        text = f"{outcome.verdict} in {outcome.seconds:.1f} s by {outcome.tests} tests"
        print(f"{len(outcomes)}/{len(mutants)} {text}: {one.path}:{one.line} {one.key}", flush=True)

    plugin = Mutations(mutants, given.baseline, MOST_SECONDS, report)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    pytest.main([*options, *(given.tests or area.tests)], plugins=[plugin])
    return judged(outcomes)


def _run_area(name: str, arguments: list[str]) -> int:
    """The exit status of a process for one area: each collects and imports only its own tests."""
    print(f"--- {name}", flush=True)
    return subprocess.call(
        [sys.executable, "-W", "ignore", "-m", "tests.mutants", "--area", name, *arguments]
    )


def judged(outcomes: list[Outcome]) -> int:
    """Print what survived; 0 if enough was killed, and the rest is known to change nothing."""
    survivors = [one for one in outcomes if not one.is_killed]
    unknown = [one for one in survivors if one.mutant.key not in EQUIVALENT]
    for one in survivors:
        reason = EQUIVALENT.get(one.mutant.key, "NO REASON IS KNOWN")
        print(f"{one.verdict}: {one.mutant.path}:{one.mutant.line} {one.mutant.key}: {reason}")
    killed = len(outcomes) - len(survivors)
    print(f"{killed} of {len(outcomes)} mutants killed, {len(unknown)} survivors without a reason")
    return 0 if outcomes and not unknown and killed >= LEAST_KILLED * len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
