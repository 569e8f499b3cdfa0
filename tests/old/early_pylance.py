"""Run by the earliest releases of pylance: ``strings``, ``delete`` or ``append``, and a folder.

``strings`` writes `strings` as 2.0 files to ``strings.lance``. ``delete`` makes ``counts.lance`` of
100 rows and deletes 10; ``append`` adds two rows. Needs nothing of this project.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lance
import pyarrow as pa

ROWS = 60_000


def strings() -> pa.Table:
    """Strings and binary values of every size, next to and inside of other columns."""
    words = [None if row % 7 == 3 else f"wörd {row} " * (row % 40) for row in range(ROWS)]
    return pa.table(
        {
            "string": words,
            "number": range(ROWS),
            "binary": pa.array(words).cast(pa.binary()),
            "large_string": pa.array(words, pa.large_string()),
            "lists": [None if row % 5 == 1 else words[row : row + row % 3] for row in range(ROWS)],
            "struct": [{"s": word, "n": 1} for word in words],
            "last": range(ROWS),
        }
    )


def main(what: str, folder: Path) -> None:
    uri = str(folder / "counts.lance")
    if what == "strings":
        uri = str(folder / "strings.lance")
        lance.write_dataset(strings(), uri, use_legacy_format=False)
    elif what == "delete":
        lance.write_dataset(pa.table({"x": range(100)}), uri)
        lance.dataset(uri).delete("x < 10")
    else:
        lance.write_dataset(pa.table({"x": range(2)}), uri, mode="append")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
