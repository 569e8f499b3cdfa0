"""A process that changes tables as fast as it can, and prints what was acknowledged.

Arguments: library, number of the writer, changes. Each line of the input has the path of a table
and a branch (or "main"), as JSON; the next one says that everybody is ready.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

import pyarrow as pa

ROWS = 4
PAUSE = 0.02
"""Seconds between changes, so that whoever waits longest after losing is not shut out."""


def work(dataset: Any, writer: int, changes: int) -> dict[str, Any]:
    """Append, delete some of what was appended, and count in the config, in turn."""
    rows: set[int] = set()
    counted = 0
    for number in range(changes):
        first = writer * 1_000_000 + number * ROWS
        new = range(first, first + ROWS)
        if number % 3 == 2:
            dataset.update_config({f"writer {writer}": f"{number}"})
            counted = number
        elif number % 3 == 1:
            gone = set(sorted(rows)[::5])
            names = ", ".join(map(str, gone))
            found = dataset.delete(f"x IN ({names})", conflict_retries=100)
            assert found == {"num_deleted_rows": len(gone)}, found
            rows -= gone
        else:
            dataset.insert(pa.table({"x": pa.array(new, pa.int64())}))
            rows.update(new)
        time.sleep(PAUSE)
    return {"rows": sorted(rows), "counted": counted}


def say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(library: str, writer: str, changes: str) -> None:
    """Open a table, work on it once everybody is ready, and go on to the next."""
    module: Any = importlib.import_module(library)
    for line in iter(sys.stdin.readline, ""):
        path, branch = json.loads(line)
        opened = module.dataset(path)
        if branch != "main":
            opened = opened.checkout_version((branch, None))
        say("ready")
        sys.stdin.readline()
        say(work(opened, int(writer), int(changes)))


if __name__ == "__main__":
    main(*sys.argv[1:])
