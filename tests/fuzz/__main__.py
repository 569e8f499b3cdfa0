"""Damage files in many ways and read them: `python -m tests.fuzz --count 100000`.

Most are golden files of 2.1 and 2.2; a tenth are a file of version 0.1. Beside them are files of
version 2.0, and what a table consists of: manifests, data files, deletion files, indices for
filters, and indices of vectors and texts of every kind.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

from tests.fuzz import indices, legacy_tables, tables, texts, v2_0, vectors
from tests.fuzz.files import damage, damage_legacy, golden
from tests.fuzz.judge import Verdict


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
    others = _others(options.count, options.seed, options.only)
    for name, verdict in itertools.chain(verdicts, others):
        print(f"{name}: {dict(verdict.outcomes)}", *verdict.failures, sep="\n  ")  # noqa: T201
        total += verdict.outcomes
        failures += len(verdict.failures)
    spent = time.monotonic() - start
    read = ", ".join(f"{count} {kind}" for kind, count in total.items())
    print(f"{total.total()} mutants in {spent:.0f} s: {read}, {failures} failures")  # noqa: T201
    return 1 if failures else 0


def _others(count: int, seed: int, only: str) -> Iterator[tuple[str, Verdict]]:
    """What is not a golden file; fewer of what takes longer to read."""
    if only in "0.1":
        yield "0.1", damage_legacy(count // 10, seed)
    for name, (run, kind, number) in _kinds(count).items():
        if only in name:
            yield name, run(kind, number, seed)


def _kinds(count: int) -> dict[str, tuple[Callable[[str, int, int], Verdict], str, int]]:
    """By the name of what is damaged: the function that does it, its kind, and how many times."""
    found = {f"{name}, 2.0": (v2_0.damage, name, count // 80) for name in v2_0.FILES}
    for kind, share in tables.SHARES.items():
        found[f"table, {kind}"] = tables.damage, kind, share * count // 250
    for kind, (_, share) in indices.SHARES.items():
        found[f"indices, {kind}"] = indices.damage, kind, share * count // 1000
    for kind, (_, share) in vectors.SHARES.items():
        found[f"vectors, {kind}"] = vectors.damage, kind, share * count // 500
    for kind, (_, share) in texts.SHARES.items():
        found[f"texts, {kind}"] = texts.damage, kind, share * count // 500
    for folder in legacy_tables.AWARE:
        found[f"table of 0.1, {folder}"] = legacy_tables.damage, folder, count // 200
    return found


if __name__ == "__main__":
    sys.exit(main())
