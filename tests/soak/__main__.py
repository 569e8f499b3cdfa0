"""The full soak: ``python -m tests.soak``. Prints its figures; 1 if anything is wrong.

First processes are killed while they commit, on local tables and on servers of each kind; then
writers work through networks that fail. Names of kinds (``local``, ``s3``, …) choose among them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from tests.soak.expiry import end_again_and_again, end_at_each_request, source_of
from tests.soak.mixes import MIXES
from tests.soak.network import LONGEST_CALL, Figures, run
from tests.soak.places import NAMES, Place, running
from tests.soak.run import Outcome, Plan, soak

LOCAL = {
    "local": Plan(seconds=60, min_kills=120, min_commits=6000),
    # The reference implementation knows nothing of these two, so it does not take part.
    "external manifest store": Plan("file+sql", seconds=30, peers=0),
    "lease": Plan(
        "file+lease",
        {"lease_duration": "2", "lease_request_lifetime": "0.5", "lease_patience": "60"},
        seconds=30,
        peers=0,
    ),
}

REMOTE = Plan(
    seconds=20,
    seconds_between_kills=1.0,
    lets_begin=True,
    min_kills=15,
    min_commits=50,
)

MOST_REQUESTS = 3.0
"""Of a failing network, in multiples of those of one that does not fail."""


def report(name: str, outcome: Outcome) -> str:
    found = outcome.findings
    rate = found.acknowledged / outcome.seconds
    done = f"{found.acknowledged} acknowledged ({rate:.1f}/s), {outcome.kills} kills"
    bad = f"{found.lost} lost, {found.duplicated} duplicated"
    other = f"{found.conflicts} refused, {found.unknown} unknown, {found.interrupted} interrupted"
    seen = f"{found.reads} reads; {found.rows} rows, {found.versions} versions checked"
    lines = [f"{name}: {done} in {outcome.seconds:.0f} s; {bad}", f"  {other}, {seen}"]
    lines += [f"  WRONG: {text}" for text in found.wrong[:20]]
    return "\n".join(lines)


def network_report(name: str, mix: str, found: Figures, ratio: float | None) -> str:
    done = f"{found.acknowledged} acknowledged, {found.refused} refused, {found.unknown} unknown"
    bad = f"{found.lost} lost, {found.duplicated} duplicated"
    sent = f"{found.struck} of {found.requests} requests struck"
    times = f" ({ratio:.2f} times as many)" if ratio else ""
    lines = [f"{name}, {mix}: {done}; {bad}; {sent}{times}; longest call {found.longest:.2f} s"]
    lines += [f"  WRONG: {text}" for text in found.wrong[:20]]
    return "\n".join(lines)


def networks(name: str, new: Callable[[], Place]) -> Iterator[tuple[str, Figures, float | None]]:
    """Each mix at one kind of place, its figures, and its requests in multiples of the usual."""
    usual = run(new(), "no faults")
    yield "no faults", usual, None
    for mix in MIXES:
        found = run(new(), mix)
        ratio = found.requests / usual.requests
        if ratio > MOST_REQUESTS:
            found.wrong.append(f"more than {MOST_REQUESTS} times as many requests")
        if found.longest > 1.1 * LONGEST_CALL:
            found.wrong.append("a call took longer than it may")
        yield mix, found, ratio
    if name == "webdav":  # a password does not end
        return
    with source_of(new()) as source:
        yield "credentials end at each request", end_at_each_request(source), None
    with source_of(new()) as source:
        yield "credentials end again and again", end_again_and_again(source, commits=10), None


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(chosen: list[str]) -> int:
    wrong = 0
    for name, plan in LOCAL.items():
        if not chosen or "local" in chosen:
            outcome = soak(plan)
            wrong += len(outcome.findings.wrong)
            say(report(name, outcome))
    for name in NAMES:
        if chosen and name not in chosen:
            continue
        with running(name) as new:
            if name != "webdav":  # killed processes leave nothing special there
                outcome = soak(REMOTE, new())
                wrong += len(outcome.findings.wrong)
                say(report(name, outcome))
            for mix, found, ratio in networks(name, new):
                wrong += len(found.wrong)
                say(network_report(name, mix, found, ratio))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
