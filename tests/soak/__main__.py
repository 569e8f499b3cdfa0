"""The full kill soak: ``python -m tests.soak``. Prints its figures; 1 if anything is wrong."""

from __future__ import annotations

import sys

from tests.soak.run import Outcome, Plan, soak

PLANS = {
    "local": Plan(seconds=60, least_kills=120, least_commits=6000),
    # The reference implementation knows nothing of these two, so it does not take part.
    "external manifest store": Plan("file+sql", seconds=30, peers=0),
    "lease": Plan(
        "file+lease",
        {"lease_duration": "2", "lease_request_lifetime": "0.5", "lease_patience": "60"},
        seconds=30,
        peers=0,
    ),
}


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
    wrong = 0
    for name, plan in PLANS.items():
        outcome = soak(plan)
        wrong += len(outcome.findings.wrong)
        sys.stdout.write(report(name, outcome) + "\n")
        sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
