"""What workers say of themselves: one line when an operation begins, one when it has ended.

Lines are written by one system call each, so what a killed process has said stays said.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ACKED, FAILED, UNKNOWN, BROKEN = "acked", "failed", "unknown", "broken"
"""How an operation ended; BROKEN is an error that no user should ever see. None: it never did."""


@dataclass
class Entry:
    """An operation. ``adds`` and ``removes`` are ids of rows.

    ``shares`` are ids that other processes may add at the same time, each for the first time.
    ``values`` are new values of rows by their ids, ``columns`` says which are there afterwards.
    """

    kind: str
    adds: list[int] = field(default_factory=list)
    removes: list[int] = field(default_factory=list)
    shares: list[int] = field(default_factory=list)
    values: dict[str, int] = field(default_factory=dict)
    columns: dict[str, bool] = field(default_factory=dict)
    sets: dict[str, str] = field(default_factory=dict)
    outcome: str | None = None
    detail: str = ""


def journal_path(folder: Path, number: int) -> Path:
    """Where the process of this number writes its journal."""
    return folder / f"{number:04}.journal"


class Journal:
    """The journal that one process writes."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._count = 0

    def begin(self, kind: str, **what: Any) -> int:
        """An operation begins; the number that its end is to be given with."""
        self._count += 1
        self._say({"begin": self._count, "kind": kind, **what})
        return self._count

    def end(self, number: int, outcome: str, detail: str = "") -> None:
        """An operation has ended."""
        self._say({"end": number, "outcome": outcome, "detail": detail})

    def _say(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read(folder: Path) -> Iterator[list[Entry]]:
    """The operations of each process, in its order."""
    for path in sorted(folder.glob("*.journal")):
        entries: dict[int, Entry] = {}
        for line in path.read_text().splitlines():
            said = json.loads(line)
            if "begin" in said:
                number = said.pop("begin")
                entries[number] = Entry(**said)
            else:
                entry = entries[said["end"]]
                entry.outcome, entry.detail = said["outcome"], said["detail"]
        yield list(entries.values())
