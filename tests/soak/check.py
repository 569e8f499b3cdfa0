"""What must be true of a table after all that was done to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import lance_core as lance
from lance_core import LanceDataset
from tests.soak.journal import ACKED, BROKEN, FAILED, UNKNOWN, Entry, read

T = TypeVar("T")


@dataclass
class Findings:
    """Figures of a run, and everything that is wrong, as text."""

    acknowledged: int = 0
    conflicts: int = 0
    unknown: int = 0
    interrupted: int = 0
    reads: int = 0
    versions: int = 0
    rows: int = 0
    lost: int = 0
    duplicated: int = 0
    wrong: list[str] = field(default_factory=list)

    def fail(self, what: str) -> None:
        self.wrong.append(what)


def check(uri: str, options: dict[str, str], folder: Path) -> Findings:
    """Compare the table with the journals in ``folder``."""
    newest = lance.dataset(uri, storage_options=options)
    entries = [entry for process in read(folder) for entry in process]
    found = Findings(
        acknowledged=sum(e.outcome == ACKED and e.kind != "read" for e in entries),
        conflicts=sum(e.outcome == FAILED for e in entries),
        unknown=sum(e.outcome == UNKNOWN for e in entries),
        interrupted=sum(e.outcome is None for e in entries),
        reads=sum(e.outcome == ACKED and e.kind == "read" for e in entries),
    )
    for entry in entries:
        if entry.outcome == BROKEN:
            found.fail(f"{entry.kind} ended in {entry.detail}")
    _check_rows(newest, entries, found)
    _check_values(newest, entries, found)
    _check_columns(newest, entries, found)
    _check_config(newest, entries, found)
    _check_versions(newest, found)
    return found


def _check_rows(newest: LanceDataset, entries: Iterable[Entry], found: Findings) -> None:
    count = Counter(newest.to_table(columns=["id"])["id"].to_pylist())
    found.rows = count.total()
    for row, times in count.items():
        if times > 1:
            found.duplicated += 1
            found.fail(f"row {row} is there {times} times")
    entries = list(entries)
    touched = {row for e in entries if e.outcome != FAILED for row in e.removes}
    for entry in entries:
        present = [row for row in entry.adds if count[row]]
        kept = [row for row in entry.adds if row not in touched]
        if entry.outcome == ACKED and len(set(kept).intersection(present)) < len(kept):
            found.lost += 1
            found.fail(f"an acknowledged {entry.kind} is lost: {entry.adds}")
        if entry.outcome == FAILED and present:
            found.fail(f"a refused {entry.kind} is there: {present}")
        if 0 < len(set(kept).intersection(present)) < len(kept):
            found.fail(f"half of {entry.kind} is there: {present} of {entry.adds}")
        if entry.outcome == ACKED and any(count[row] for row in entry.removes):
            found.lost += 1
            found.fail(f"an acknowledged {entry.kind} is lost: {entry.removes}")
    for entry in entries:
        if entry.outcome == ACKED and not all(count[row] for row in entry.shares):
            found.lost += 1
            found.fail(f"an acknowledged {entry.kind} is lost: {entry.shares}")
    known = {row for entry in entries for row in (*entry.adds, *entry.shares)}
    strangers = count.keys() - known
    if strangers:
        found.fail(f"rows that nobody wrote: {sorted(strangers)[:10]}")


def _allowed(
    changes: Iterable[tuple[str | None, Mapping[str, T]]], first: Sequence[T] = ()
) -> dict[str, list[T]]:
    """For each key the last acknowledged value, or ``first``, and later ones that may be set."""
    allowed: dict[str, list[T]] = {}
    for outcome, values in changes:
        for key, value in values.items():
            if outcome == ACKED:
                allowed[key] = [value]
            elif outcome != FAILED:
                allowed.setdefault(key, [*first]).append(value)
    return allowed


def _check_values(newest: LanceDataset, entries: list[Entry], found: Findings) -> None:
    """The process that added a row is the one that sets its value."""
    zeros = (dict.fromkeys(map(str, entry.adds), 0) for entry in entries)
    changes = ((e.outcome, {**zero, **e.values}) for e, zero in zip(entries, zeros, strict=True))
    allowed = _allowed(changes)
    changed = {row for entry in entries for row in entry.values}
    table = newest.to_table(columns=["id", "value"])
    for row, value in zip(
        map(str, table["id"].to_pylist()), table["value"].to_pylist(), strict=True
    ):
        if row in changed and value not in allowed[row]:
            found.lost += 1
            found.fail(f"the value of row {row} is {value}, not {allowed[row]}")


def _check_columns(newest: LanceDataset, entries: list[Entry], found: Findings) -> None:
    """One process adds and drops a column."""
    for name, allowed in _allowed([(e.outcome, e.columns) for e in entries], [False]).items():
        if (name in newest.schema.names) not in allowed:
            found.lost += 1
            found.fail(f"column {name} is there or not, against what was acknowledged")


def _check_config(newest: LanceDataset, entries: Iterable[Entry], found: Findings) -> None:
    """Each process has its own key: the last acknowledged value, or a later one, is there."""
    allowed = _allowed((e.outcome, e.sets) for e in entries)
    config = newest.config()
    for key, values in allowed.items():
        if key in config and config[key] not in values:
            found.lost += 1
            found.fail(f"{key} is {config[key]}, not {values}")


def _check_versions(newest: LanceDataset, found: Findings) -> None:
    """Everything that is still there can be read, and no transaction is there twice."""
    uuids: Counter[str] = Counter()
    for described in newest.versions():
        version = described["version"]
        found.versions += 1
        try:
            newest.checkout_version(version).validate()
            transaction = newest.read_transaction(version)
        except Exception as error:
            found.fail(f"version {version} cannot be read: {type(error).__name__}: {error}")
            continue
        if transaction is not None:
            uuids[transaction.uuid] += 1
    for uuid, times in uuids.items():
        if times > 1:
            found.duplicated += 1
            found.fail(f"transaction {uuid} is there {times} times")
