"""Damage files of a table with checksums: `python -m tests.fuzz.checksums --count 3000`.

A bit is flipped, or a block of bytes gets other values. The questions that follow have the answers
that they had before, or a `LanceError`: no other answer. ``--pylance`` asks pylance the same.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import lance_core
from lance_core.checksums import environment
from lance_core.errors import LanceError

ROWS = 12_000
FILE_ROWS = 7000
MAX_BLOCK = 512
VERSIONS = ("2.0", "2.1", "2.2")

KINDS = {
    "data": ("data/*.lance", 5),
    "manifest": ("_versions/*.manifest", 3),
    "deletion": ("_deletions/*", 2),
    "index": ("_indices/*/*", 2),
}
"""The files of each kind, and how many of twelve mutants are of it."""

SAME, ERROR, WRONG = "same answers", "errors", "other answers"


def make_table(root: Path, version: str) -> None:
    """Two files, an index, few deleted rows in one fragment and many in the other."""
    numbers = range(ROWS)
    rows = pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "text": [None if n % 7 == 0 else f"text {n % 500}" for n in numbers],
            "list": [[n] * (n % 3) for n in numbers],
            "f": [n / 7 for n in numbers],
        }
    )
    with patch.object(environment, "WRITTEN", "pages"):
        table = lance_core.write_dataset(
            rows, str(root), max_rows_per_file=FILE_ROWS, data_storage_version=version
        )
        table.create_scalar_index("id", "BTREE")
        table.delete("id % 11 = 3 AND id < 7000 AND id < 1000 OR id >= 7000 AND id < 12000 - 7")


def answers(library: ModuleType, root: Path, **options: Any) -> tuple[Any, ...]:
    """What a reader of the table gets."""
    table = library.dataset(str(root), **options)
    return (
        table.to_table(),
        table.to_table(filter="id IN (17, 4000, 6999, 11999)"),
        table.count_rows("f > 500"),
        table.take([0, 5, 3000]),
    )


def outcome(ask: Callable[[], tuple[Any, ...]], expected: tuple[Any, ...]) -> str:
    """One of three; raises whatever is no `LanceError`."""
    try:
        return SAME if ask() == expected else WRONG
    except LanceError:
        return ERROR


def damaged(raw: bytes, choice: random.Random) -> bytes:
    """The bytes with one flipped bit, or with a block of other bytes."""
    changed = bytearray(raw)
    at = choice.randrange(len(raw))
    if choice.random() < 0.5:
        changed[at] ^= 1 << choice.randrange(8)
        return bytes(changed)
    size = min(choice.randint(1, MAX_BLOCK), len(raw) - at)
    start = choice.randrange(len(raw))  # a block from elsewhere, zeros, or any bytes
    blocks = [raw[start : start + size].ljust(size, b"\0"), bytes(size), choice.randbytes(size)]
    changed[at : at + size] = choice.choice(blocks)
    return bytes(changed)


def mutants(root: Path, count: int, seed: int) -> Iterator[tuple[str, Path]]:
    """Damage files of the table one after the other, each until the next is asked for."""
    choice = random.Random(seed)
    files = {kind: sorted(root.glob(pattern)) for kind, (pattern, _) in KINDS.items()}
    weights = [share for _, share in KINDS.values()]
    for _ in range(count):
        (kind,) = choice.choices(list(KINDS), weights)
        # Of manifests the newest, which is read: its name is the lowest.
        path = files[kind][0] if kind == "manifest" else choice.choice(files[kind])
        raw = path.read_bytes()
        changed = damaged(raw, choice)
        if changed == raw:
            continue
        path.write_bytes(changed)
        yield kind, path
        path.write_bytes(raw)


def run(root: Path, version: str, count: int, seed: int) -> Iterator[tuple[str, str, Path]]:
    """Kind, outcome and file of each mutant of a new table in ``root``."""
    make_table(root, version)
    expected = answers(lance_core, root, verify="pages")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a damaged index is not used, with a warning
        for kind, path in mutants(root, count, seed):
            yield kind, outcome(lambda: answers(lance_core, root, verify="pages"), expected), path


class OfPylance:
    """What pylance makes of the same files, in a process of its own: some mutants end it."""

    def __init__(self) -> None:
        self._process = ProcessPoolExecutor(1, get_context("spawn"))

    def outcome(self, root: Path, expected: Path) -> str:
        try:
            return self._process.submit(answers_of_pylance, root, expected).result(60)
        except Exception:
            self._process.shutdown(wait=False, cancel_futures=True)
            self._process = ProcessPoolExecutor(1, get_context("spawn"))
            return "crashes"


def answers_of_pylance(root: Path, expected: Path) -> str:
    """Compare the answers of a damaged table with those of the table ``expected``."""
    import lance  # it need not be installed

    try:
        return SAME if answers(lance, root) == answers(lance, expected) else WRONG
    except BaseException:  # it panics, too
        return ERROR


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.checksums", description=__doc__)
    parser.add_argument("--count", type=int, default=3000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="other mutants for another number")
    parser.add_argument("--pylance", action="store_true", help="ask pylance the same")
    options = parser.parse_args()
    totals: Counter[tuple[str, str, str]] = Counter()
    count = options.count // len(VERSIONS)
    pylance = OfPylance() if options.pylance else None
    for number, version in enumerate(VERSIONS):
        with tempfile.TemporaryDirectory() as folder:
            root, sound = Path(folder, "table"), Path(folder, "sound")
            for kind, result, path in run(root, version, count, options.seed + number):
                totals["lance-core", kind, result] += 1
                if result == WRONG:
                    Path(f"wrong-{path.name}").write_bytes(path.read_bytes())
                if pylance is not None:
                    if not sound.exists():
                        make_table(sound, version)
                    totals["pylance", kind, pylance.outcome(root, sound)] += 1
    for (reader, kind, result), count in sorted(totals.items()):
        print(f"{reader:10} {kind:8} {result:13} {count}")  # noqa: T201
    return 1 if any(key[::2] == ("lance-core", WRONG) for key in totals) else 0


if __name__ == "__main__":
    sys.exit(main())
