"""All seeded defects; run as a program, it tells which of them are caught.

::

    python -m tests.explore.seeds
"""

from __future__ import annotations

import sys
import time

from lance_core_explorer import Configuration, explore
from tests.explore import seeds_of_cleanup, seeds_of_commits, seeds_of_handlers, seeds_of_rows
from tests.explore.seed import Seed, caught_by, fails

SEEDS = (
    *seeds_of_commits.SEEDS,
    *seeds_of_handlers.SEEDS,
    *seeds_of_rows.SEEDS,
    *seeds_of_cleanup.SEEDS,
)

PLACES = {seed.where.name: seed.where for seed in SEEDS if isinstance(seed.where, Configuration)}
"""The configurations in which they are looked for, by name."""

CHECKS = {seed.where.__name__: seed.where for seed in SEEDS if callable(seed.where)}
"""The checks by which others are found, by name."""


def main() -> int:
    """The exit code is 1 if a defect is not caught, or something is found where there is none."""
    started = time.perf_counter()
    false = [name for name in (*PLACES, *CHECKS) if complains(name)]
    found = [seed for seed in SEEDS if _told(seed)]
    for name in false:
        _write(f"finds what is not there: {name}")
    seconds = time.perf_counter() - started
    _write(f"seeded bugs: {len(found)} of {len(SEEDS)} caught ({seconds:.1f} s)")
    return 0 if len(found) == len(SEEDS) and not false else 1


def complains(name: str) -> bool:
    """Whether the code as it is shipped fails the configuration or check of this name."""
    if name in CHECKS:
        return bool(fails(CHECKS[name]))
    report = explore(PLACES[name])
    return bool(report.violations) or not report.exhausted


def _told(seed: Seed) -> bool:
    by = caught_by(seed)
    _write(f"{seed.name:32}{seed.failure.value:52}{by or 'NOT CAUGHT'}")
    return bool(by)


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
