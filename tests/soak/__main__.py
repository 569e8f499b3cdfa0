"""The full kill soak: ``python -m tests.soak``. Prints its figures; 1 if anything is wrong."""

from __future__ import annotations

import sys

from tests.soak.run import Outcome, Plan, soak

FULL = Plan(seconds=60, least_kills=120, least_commits=6000)


def report(name: str, outcome: Outcome) -> str:
    found = outcome.findings
    rate = found.acknowledged / outcome.seconds
    done = f"{found.acknowledged} acknowledged ({rate:.0f}/s), {outcome.kills} kills"
    bad = f"{found.lost} lost, {found.duplicated} duplicated"
    other = f"{found.conflicts} refused, {found.unknown} unknown, {found.interrupted} interrupted"
    seen = f"{found.reads} reads; {found.rows} rows, {found.versions} versions checked"
    lines = [f"{name}: {done} in {outcome.seconds:.0f} s; {bad}", f"  {other}, {seen}"]
    lines += [f"  WRONG: {text}" for text in found.wrong[:20]]
    return "\n".join(lines)


def main() -> int:
    outcome = soak(FULL)
    sys.stdout.write(report("local", outcome) + "\n")
    return 1 if outcome.findings.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
