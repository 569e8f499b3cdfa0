"""A process that changes a table as fast as it can, and prints what was acknowledged.

Arguments: library, path, branch (or "main"), number of the writer, seconds.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
from typing import Any

import pyarrow as pa

ROWS = 4
FEWEST = 3
"""Changes, whatever the time: whoever never got to it may go on alone."""
PAUSE = 0.02
"""Seconds between changes, so that whoever waits longest after losing is not shut out."""


def work(dataset: Any, writer: int, seconds: float) -> dict[str, Any]:
    """Append, delete some of what was appended, and count in the config, in turn."""
    rows: set[int] = set()
    counted = 0
    end = time.monotonic() + seconds
    for number in itertools.count():
        if time.monotonic() > end and number >= FEWEST:
            return {"rows": sorted(rows), "changes": number, "counted": counted}
        first = writer * 1_000_000 + number * ROWS
        new = range(first, first + ROWS)
        if number % 3 == 2:
            dataset.update_config({f"writer {writer}": f"{number}"})
            counted = number
        elif number % 3 == 1 and rows:
            gone = set(sorted(rows)[::5])
            names = ", ".join(map(str, gone))
            found = dataset.delete(f"x IN ({names})", conflict_retries=100)
            assert found == {"num_deleted_rows": len(gone)}, found
            rows -= gone
        else:
            dataset.insert(pa.table({"x": pa.array(new, pa.int64())}))
            rows.update(new)
        time.sleep(PAUSE)
    raise AssertionError


def main(library: str, path: str, branch: str, writer: str, seconds: str) -> None:
    """Open the table once everybody is ready, and work on it."""
    opened: Any = importlib.import_module(library).dataset(path)
    if branch != "main":
        opened = opened.checkout_version((branch, None))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    json.dump(work(opened, int(writer), float(seconds)), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
